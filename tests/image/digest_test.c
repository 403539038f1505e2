/* SPDX-License-Identifier: BSD-3-Clause */
/* image_digest() of disks that are made up. */
#include <stdatomic.h>
#include "blocks/blocks.h"
#include "fakes.h"
#include "hash/hash.h"
#include "support.h"

#define CHUNK ((uint64_t)1 << 20)

static unsigned threads_made;
static unsigned threads_allowed = UINT32_MAX;

STANDS_FOR(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr,
	void *(*start)(void *), void *arg)
{
	if (threads_made == threads_allowed)
		return EAGAIN;
	threads_made++;
	return __real_pthread_create(thread, attr, start, arg);
}

/* The disk, and what hashing it returned. */
static struct fake fake;
static struct {
	struct image_digests digests;
	uint64_t progress;
	unsigned calls;
	struct image_error err;
} made;

static void
note(void *opaque, uint64_t done)
{
	(void)opaque;
	assert_true(done >= made.progress);
	made.progress = done;
	made.calls++;
}

static int
digest_with(const struct image_run *how, size_t algorithms)
{
	made.digests = (struct image_digests){.count = algorithms};
	made.progress = made.calls = 0;
	made.err = (struct image_error){.again = false};
	for (size_t i = 0; i < algorithms; i++)
		made.digests.list[i].algorithm = image_algorithm(i);
	threads_made = 0;
	return image_digest(
		&fake.source, UINT64_MAX, how, &made.digests, &made.err);
}

static int
digest(unsigned threads, size_t algorithms)
{
	const struct image_run run = {
		.block = 4096, .threads = threads, .progress = note};

	return digest_with(&run, algorithms);
}

static void
hash_bytes(const struct image_algorithm *algorithm, const void *bytes,
	size_t length, unsigned char *digest)
{
	struct image_hash *hash;
	struct image_error err;

	assert_ok(image_hash_create(&hash, algorithm, &err));
	assert_ok(image_hash_add(hash, bytes, length, &err));
	assert_ok(image_hash_end(hash, digest, &err));
	image_hash_destroy(hash);
}

/* Hash the bytes of a part of the disk in one call. */
static void
check_part(
	uint64_t offset, uint64_t length, const struct image_digests *digests)
{
	unsigned char *bytes = malloc((size_t)length + 1);
	unsigned char expected[IMAGE_DIGEST_MAX];

	assert_non_null(bytes);
	fake_bytes(&fake, offset, bytes, (size_t)length);
	for (size_t i = 0; i < digests->count; i++) {
		const struct image_algorithm *algorithm =
			digests->list[i].algorithm;
		hash_bytes(algorithm, bytes, (size_t)length, expected);
		assert_memory_equal(
			digests->list[i].bytes, expected, algorithm->length);
	}
	free(bytes);
}

static void
check_against_bytes(void)
{
	check_part(0, fake.source.size, &made.digests);
}

TEST(random_disks_are_hashed_as_their_bytes)
{
	static const uint64_t looks[] = {0, 512, 70000, 1 << 20};
	uint64_t random = support_seed();
	char map[41];

	for (unsigned i = 0; i < 12; i++) {
		fake_random_map(map, 40, "x-y0z-", 1, &random);
		fake_init(&fake, map, 65536, 40 * 65536);
		fake.look = looks[support_below(&random, 4)];
		fake.source.size -= support_below(&random, 5) * 32767;
		assert_ok(digest(1 + i % 4, 1 + (size_t)i % 3));
		check_against_bytes();
	}
}

static void
sparse_digest(const char *map, uint64_t grain, uint64_t look, uint64_t size,
	unsigned threads, unsigned char digest[32])
{
	struct image_run run = {.block = 4096, .threads = threads};
	struct image_digests digests = {.count = 1,
		.list = {{.algorithm = image_algorithm_by_name("sha256", 6),
			.sparse = true}}};

	fake_init(&fake, map, grain, size);
	fake.look = look;
	assert_ok(image_digest(
		&fake.source, UINT64_MAX, &run, &digests, &made.err));
	memcpy(digest, digests.list[0].bytes, 32);
}

TEST(sparse_digests_are_equal_if_disks_are)
{
	uint64_t random = support_seed();
	unsigned char first[32], second[32];
	char map[401];

	for (unsigned i = 0; i < 12; i++) {
		uint64_t size = 400 * 5120 - support_below(&random, 5119);
		for (int k = 0; k < 400; k++)
			map[k] =
				"x-0----0"[k % 50 > 9
						   ? 1u + (unsigned)k / 50 % 2
						   : support_below(&random, 8)];
		map[400] = '\0';
		unsigned at = support_below(&random, 399);
		map[at] = 'x';
		map[at + 1] = '-';
		sparse_digest(map, 5120, 0, size, 1, first);
		/* Zeros are data in the other disk. */
		for (int k = 0; k < 400; k++)
			map[k] = map[k] == '-'   ? 'z'
				 : map[k] == '0' ? '-'
						 : 'x';
		sparse_digest(map, 5120, 65536, size, 3, second);
		assert_memory_equal(first, second, 32);

		map[at] = 'y';
		sparse_digest(map, 5120, 0, size, 1, second);
		assert_memory_not_equal(first, second, 32);
		map[at] = '0';
		sparse_digest(map, 5120, 0, size, 1, second);
		assert_memory_not_equal(first, second, 32);
		map[at + 1] = 'x';
		sparse_digest(map, 5120, 0, size, 1, second);
		assert_memory_not_equal(first, second, 32);
	}
}

TEST(zeros_at_the_end_do_not_matter_to_a_sparse_digest)
{
	unsigned char first[32], second[32];

	/* in the block of the last data, and in later ones */
	for (uint64_t more = 0; more < 3; more++) {
		sparse_digest("xx", 5120, 0, 10240, 1, first);
		sparse_digest(
			"xx-z---", 5120, 0, 10241 + more * 9999, 2, second);
		assert_memory_equal(first, second, 32);
		sparse_digest("xx-z---", 5120, 0, 10239, 1, second);
		assert_memory_not_equal(first, second, 32);
	}
}

TEST(a_digest_that_is_sparse_behind_the_disk_is_that_of_the_disk)
{
	/* in a block, and at its end; z is zeros that are data */
	static const char *const behind[] = {"", "--", "zz-", "-zx", "x"};
	struct image_run run = {.block = 4096, .threads = 2};
	struct image_digests disk = {.count = 1,
		.list = {{.algorithm = image_algorithm_by_name("sha256", 6)}}};
	char map[9];

	for (uint64_t grain = 16250; grain < 16385; grain += 134) {
		for (size_t i = 0; i < 5; i++) {
			(void)snprintf(map, sizeof(map), "-xz0%s", behind[i]);
			fake_init(&fake, map, grain, grain * strlen(map));
			struct image_digests more = disk;
			more.list[0].sparse = true;
			more.list[0].from = 4 * grain;
			assert_ok(image_digest(&fake.source, 4 * grain, &run,
				&disk, &made.err));
			assert_ok(image_digest(&fake.source, UINT64_MAX, &run,
				&more, &made.err));
			assert_int_equal(strchr(behind[i], 'x') != NULL,
				memcmp(disk.list[0].bytes, more.list[0].bytes,
					32) != 0);
		}
	}
}

/* The bytes of 'x' repeat after 128 KiB. */
TEST(sparse_digests_differ_if_a_block_moves)
{
	unsigned char first[32], second[32];

	sparse_digest("-x--------------", 16384, 0, 262144, 1, first);
	sparse_digest("---------x------", 16384, 0, 262144, 1, second);
	assert_memory_not_equal(first, second, 32);
}

TEST(holes_are_hashed_and_not_read)
{
	fake_init(&fake, "-0--", 3 * CHUNK + 5, 12 * CHUNK + 20);
	assert_ok(digest(2, 1));
	check_against_bytes();
	assert_int_equal(fake.n_reads, 0);
	/* the progress of a long hole is reported on the way */
	assert_int_equal(made.progress >> 20, 12);
	assert_true(made.calls >= 12);

	fake_init(&fake, "-x-x", CHUNK / 4, CHUNK);
	assert_ok(digest(1, 2));
	check_against_bytes();
	assert_int_equal(fake.n_reads, 2);
	assert_int_equal(fake.reads[0].length, CHUNK / 4);
}

TEST(an_empty_disk_has_the_digest_of_no_bytes)
{
	fake_init(&fake, "x", 512, 0);
	assert_ok(digest(1, 3));
	check_against_bytes();
}

static struct fake_gate later_was_read = FAKE_GATE;

static void
note_a_later_read(void *opaque, uint64_t offset, size_t length)
{
	(void)opaque;
	(void)length;
	if (offset >= 2 * CHUNK)
		fake_open(&later_was_read);
}

static void
hold_the_first_hash(void *opaque, uint64_t done)
{
	(void)opaque;
	if (done == CHUNK)
		fake_wait(&later_was_read);
}

/* Hangs if a chunk that is hashed stops the others. */
TEST(chunks_are_read_while_another_one_is_hashed)
{
	const struct image_run run = {
		.block = 4096, .threads = 2, .progress = hold_the_first_hash};

	fake_init(&fake, "xxxx", CHUNK, 4 * CHUNK);
	fake.on_read = note_a_later_read;
	assert_ok(digest_with(&run, 1));
	check_against_bytes();
}

/* The caller's thread hashes by one of them, or by all. */
TEST(each_algorithm_but_one_has_a_thread_if_there_are_threads)
{
	fake_init(&fake, "x-yy", CHUNK, 4 * CHUNK);
	assert_ok(digest(1, IMAGE_ALGORITHMS));
	assert_int_equal(threads_made, IMAGE_ALGORITHMS - 1);
	check_against_bytes();
	for (threads_allowed = 0; threads_allowed < 3; threads_allowed++) {
		assert_ok(digest(2, 3));
		assert_int_equal(threads_made, threads_allowed);
		check_against_bytes();
	}
	threads_allowed = UINT32_MAX;
}

TEST(failures_of_a_digest_are_reported)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		fake_init(&fake, "x-xx", CHUNK, 4 * CHUNK);
		fake.look = 4096;
		fake.fail_extent = 3 * CHUNK + 4096;
		assert_int_equal(digest(threads, 2), -EINVAL);
		fake.fail_extent = 0;
		fake.fail_read = 2 * CHUNK + 4096;
		assert_int_equal(digest(threads, 2), -EIO);
		assert_string_equal(made.err.text, "read failed");
		fake.fail_read = 0;
		fake.changed = true;
		assert_int_equal(digest(threads, 2), -EIO);
		assert_string_equal(made.err.text, "changed");
	}
}

static atomic_uint hashes_allowed = UINT32_MAX;
static atomic_ullong bytes_hashed;
/* the hash of zeros waits for this gate; NULL: none */
static struct fake_gate *zeros_wait;

STANDS_FOR(int, image_hash_add, struct image_hash *hash, const void *bytes,
	size_t length, struct image_error *err)
{
	unsigned left = atomic_load(&hashes_allowed);
	if (left == 0) {
		/* Later calls succeed. */
		atomic_store(&hashes_allowed, UINT32_MAX);
		return image_no_memory(err);
	}
	if (left != UINT32_MAX)
		atomic_store(&hashes_allowed, left - 1);
	if (zeros_wait && *(const unsigned char *)bytes == 0)
		fake_wait(zeros_wait);
	atomic_fetch_add(&bytes_hashed, length);
	return __real_image_hash_add(hash, bytes, length, err);
}

TEST(a_hash_that_fails_is_reported)
{
	/* several pieces in a chunk, and zeros at the end */
	fake_init(&fake, "x-y-x---", CHUNK / 4, 2 * CHUNK);
	for (unsigned failing = 0; failing < 20; failing++) {
		hashes_allowed = failing;
		assert_int_equal(digest(1, 1), -ENOMEM);
		assert_string_equal(made.err.text, "out of memory");
	}
	hashes_allowed = UINT32_MAX;
}

/* A compressed cluster of 2 MiB would else be decompressed for each half. */
TEST(a_unit_is_hashed_from_one_read)
{
	fake_init(&fake, "xx", 2 * CHUNK, 4 * CHUNK);
	fake.source.unit = 2 * CHUNK;
	assert_ok(digest(1, 1));
	assert_int_equal(fake.n_reads, 2);
	assert_int_equal(fake.reads[1].length, 2 * CHUNK);
	check_against_bytes();
}

/* The offsets and the lengths of blocks as text, and a check of their bytes. */
struct listed {
	char text[2048];
	size_t used;
	unsigned calls;
	unsigned stop_at;
};

static int
list_block(void *opaque, const struct image_block *block)
{
	struct listed *to = opaque;

	check_part(block->offset, block->length, block->digests);
	to->used += (size_t)snprintf(to->text + to->used,
		sizeof(to->text) - to->used, "%s%u+%u", to->used ? " " : "",
		(unsigned)(block->offset / 512),
		(unsigned)(block->length / 512));
	return ++to->calls == to->stop_at;
}

static int
list_blocks(unsigned threads, size_t size, struct listed *to)
{
	struct image_run run = {.block = 4096, .threads = threads};
	struct image_digests digests = {.count = 2};

	digests.list[0].algorithm = image_algorithm(0);
	digests.list[1].algorithm = image_algorithm(5);
	*to = (struct listed){.stop_at = to->stop_at};
	return image_digest_blocks(
		&fake.source, &run, size, &digests, list_block, to, &made.err);
}

static void
check_blocks(const char *map, uint64_t grain, uint64_t less, size_t size,
	const char *expected)
{
	static const uint64_t looks[] = {0, 512, 3 * 4096};

	for (unsigned i = 0; i < 9; i++) {
		struct listed listed = {.used = 0};
		fake_init(&fake, map, grain, strlen(map) * grain - less);
		fake.look = looks[i / 3];
		assert_ok(list_blocks(1 + i % 3, size, &listed));
		assert_string_equal(listed.text, expected);
	}
}

TEST(blocks_with_data_alone_are_listed)
{
	check_blocks("x-z0y", 512, 0, 512, "0+1 4+1");
	check_blocks("x-z0y", 512, 0, 1024, "0+2 4+1");
	check_blocks("x-z0--y", 512, 0, 2048, "0+4 4+3");
	check_blocks("zz--x", 512, 100, 2048, "4+0");
	check_blocks("z0--", 65536, 0, 4096, "");
	/* blocks larger and smaller than chunks, and holes of whole chunks */
	check_blocks("x---zy-----x", CHUNK, 512, 2 * CHUNK,
		"0+4096 8192+4096 20480+4095");
	check_blocks("--x-", CHUNK, 0, CHUNK / 2, "4096+1024 5120+1024");
	check_blocks("----z-z-", CHUNK, 0, 4 * CHUNK, "");
}

TEST(a_list_of_blocks_ends_early)
{
	struct listed listed = {.stop_at = 2};

	fake_init(&fake, "xxxx", CHUNK, 4 * CHUNK);
	assert_int_equal(list_blocks(2, CHUNK, &listed), 1);
	assert_string_equal(listed.text, "0+2048 2048+2048");
	listed.stop_at = 0;
	fake.fail_read = 3 * CHUNK;
	assert_int_equal(list_blocks(2, CHUNK, &listed), -EIO);
	assert_string_equal(listed.text, "0+2048 2048+2048 4096+2048");
	fake.fail_read = 0;
	fake.fail_extent = CHUNK;
	fake.look = CHUNK;
	assert_int_equal(list_blocks(2, CHUNK, &listed), -EINVAL);
	fake.fail_extent = 0;
	fake.changed = true;
	assert_int_equal(list_blocks(2, CHUNK, &listed), -EIO);
}

static unsigned char file[FAKE_FILE_BYTES];
static struct fake_sink sink = {.file = file};
/* of the next copies; 0: none */
static unsigned failing_write;

/* Copy the disk and compute two digests. */
static int
copy(unsigned threads, bool compress, bool fill)
{
	struct image_run run = {
		.block = 4096, .threads = threads, .digests = &made.digests};

	made.digests = (struct image_digests){.count = 2};
	made.err = (struct image_error){.again = false};
	made.digests.list[0].algorithm = image_algorithm(0);
	made.digests.list[1].algorithm = image_algorithm(5);
	fake_sink_init(&sink, &fake);
	sink.may_share = true;
	sink.fail_write = failing_write;
	/* several writers, if there are no digests */
	sink.store.parallel_writes = true;
	sink.sink.fill = fill;
	if (compress) {
		sink.sink.compress = true;
		sink.sink.unit = 65536;
		assert_ok(image_codec_init(&sink.sink.codec, &made.err));
	}
	return image_copy(
		&fake.source, &sink.sink, &run, &sink.copied, &made.err);
}

TEST(a_copy_has_the_digest_of_its_source)
{
	static const char *const maps[] = {
		"x-y0z---x--rcx", "----", "zzzz", "-x", "xyxyxyxyx-"};

	for (unsigned i = 0; i < 20; i++) {
		const char *map = maps[i % 5];
		fake_init(&fake, map, CHUNK / 2,
			strlen(map) * CHUNK / 2 - (i % 4) * 512);
		assert_ok(copy(1 + i % 4, i % 2, !(i & 1) && i % 8 < 4));
		check_against_bytes();
		assert_int_equal(sink.n_shares, 0);
	}
}

TEST(a_copy_with_digests_reports_its_failures)
{
	fake_init(&fake, "xx-x", CHUNK, 4 * CHUNK);
	hashes_allowed = 3;
	assert_int_equal(copy(2, false, false), -ENOMEM);
	assert_string_equal(made.err.text, "out of memory");
	hashes_allowed = UINT32_MAX;
	fake.fail_read = 2 * CHUNK;
	assert_int_equal(copy(2, false, false), -EIO);
	fake.fail_read = 0;
	fake.changed = true;
	assert_int_equal(copy(2, false, false), -EIO);
	assert_string_equal(made.err.text, "changed");
}

#define LONG_HOLE (4096 * CHUNK)

static void
open_at_the_last_read(void *opaque, uint64_t offset, size_t length)
{
	(void)length;
	if (offset > LONG_HOLE)
		fake_open(opaque);
}

/* A hole of several TiB is hashed for hours. */
TEST(an_error_ends_the_hash_of_a_long_hole)
{
	for (int copies = 0; copies < 2; copies++) {
		struct fake_gate gate = FAKE_GATE;
		fake_init(&fake, "-x", LONG_HOLE, LONG_HOLE + 2 * CHUNK);
		fake.fail_read = LONG_HOLE + CHUNK;
		fake.on_read = open_at_the_last_read;
		fake.opaque = &gate;
		zeros_wait = &gate;
		bytes_hashed = 0;
		assert_int_equal(
			copies ? copy(2, false, false) : digest(2, 2), -EIO);
		assert_string_equal(made.err.text, "read failed");
		assert_true(bytes_hashed < LONG_HOLE);
	}
	zeros_wait = NULL;
}

/* The first algorithm fails, or a write, while the others hash. */
TEST(a_failed_hash_or_write_ends_the_hash_of_a_long_hole)
{
	fake_init(&fake, "-x", LONG_HOLE, LONG_HOLE + CHUNK);
	hashes_allowed = 3;
	bytes_hashed = 0;
	assert_int_equal(digest(2, 2), -ENOMEM);
	assert_true(bytes_hashed < LONG_HOLE);
	hashes_allowed = UINT32_MAX;
	bytes_hashed = 0;
	failing_write = 1;
	assert_int_equal(copy(2, false, false), -ENOSPC);
	assert_true(bytes_hashed < LONG_HOLE);
	failing_write = 0;
}

/* Sequences whose bytes have to have a digest. */

static struct fake_stream given;
static unsigned char xs[5000];

/* So many of them, in pieces. */
static void
give(size_t length, size_t piece)
{
	memset(xs, 'x', sizeof(xs));
	fake_stream_init(&given, xs, length);
	given.stream.size = length;
	given.piece = piece;
}

static struct image_expect
digest_of(size_t index, size_t length)
{
	struct image_expect expect = {.algorithm = image_algorithm(index)};

	give(length, 1);
	hash_bytes(expect.algorithm, xs, length, expect.bytes);
	return expect;
}

/* Returns the result of the last read, after `length` bytes. */
static int
read_all(const struct image_expect *expect, size_t length)
{
	struct image_store *store;
	struct image_stream *stream;
	struct image_tap *tap;
	char buf[1];
	size_t got = 1, sum = 0;
	int rc = 0;

	assert_ok(image_tap_expect(expect, "fake", &tap, &made.err));
	assert_ok(image_blocks_open(&given.stream, 0, &store, &made.err));
	assert_ok(image_blocks_once(&store, 0, tap, &made.err));
	assert_ok(image_stream_of_store(store, &stream, &made.err));
	assert_int_equal(stream->size, given.stream.size);
	while (rc == 0 && got) {
		rc = image_stream_read(
			stream, buf, sizeof(buf), &got, &made.err);
		for (size_t i = 0; rc == 0 && i < got; i++)
			assert_int_equal(buf[i], 'x');
		sum += rc == 0 ? got : 0;
	}
	assert_int_equal(sum, length);
	/* the end stays the end */
	if (rc == 0)
		assert_ok(image_stream_read(stream, buf, 1, &got, &made.err));
	image_stream_close(stream);
	assert_true(given.closed);
	return rc;
}

TEST(a_stream_with_its_digest_ends_well)
{
	static const size_t lengths[] = {0, 1, 999, 1000, 4321};

	for (size_t i = 0; i < 5; i++) {
		for (size_t algorithm = 0; algorithm < 2; algorithm++) {
			struct image_expect expect =
				digest_of(algorithm, lengths[i]);
			give(lengths[i], 1 + i * 211);
			assert_ok(read_all(&expect, lengths[i]));
		}
	}
}

TEST(a_stream_with_another_digest_is_refused_at_its_end)
{
	struct image_expect expect = digest_of(0, 500);

	made.err = (struct image_error){.again = true};
	for (size_t length = 499; length <= 501; length += 2) {
		give(length, 100);
		assert_int_equal(read_all(&expect, length), -EINVAL);
		assert_true(made.err.refused && !made.err.again);
		assert_string_equal(made.err.file, "fake");
		assert_int_equal(
			strncmp(made.err.text,
				"the file is refused: its sha256 is ", 35),
			0);
		assert_non_null(strstr(made.err.text, ", not "));
	}
	/* every byte of the digest counts */
	for (size_t i = 0; i < 32; i++) {
		give(500, 500);
		expect.bytes[i] ^= 1;
		assert_int_equal(read_all(&expect, 500), -EINVAL);
		expect.bytes[i] ^= 1;
	}
}

TEST(a_stream_that_fails_has_no_digest)
{
	struct image_expect expect = digest_of(0, 500);
	give(500, 100);

	given.fails = -ECONNRESET;
	assert_int_equal(read_all(&expect, 500), -ECONNRESET);
	assert_string_equal(made.err.text, "is broken");
	assert_true(made.err.again && !made.err.refused);
}

/* An empty file has ended when its first bytes are looked for. */
TEST(a_stream_that_has_ended_before_its_tap_is_refused)
{
	struct image_expect expect = digest_of(0, 1);
	give(0, 1);
	struct image_store *store;
	struct image_tap *tap;
	uint64_t reached;

	assert_ok(image_blocks_open(&given.stream, 0, &store, &made.err));
	assert_ok(image_store_reach(store, 0, 1, &reached, &made.err));
	assert_int_equal(reached, 0);
	assert_ok(image_tap_expect(&expect, "fake", &tap, &made.err));
	assert_ok(image_blocks_once(&store, 0, tap, &made.err));
	assert_int_equal(image_store_unchanged(store, &made.err), -EINVAL);
	assert_true(made.err.refused);
	image_store_close(store);
	assert_true(given.closed);
}
