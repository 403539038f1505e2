/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores over streams, and streams over stores. */
#include "blocks/blocks.h"
#include "support.h"

#define SIZE ((size_t)5 * 1024 * 1024 + 777)
#define MEMORY ((uint64_t)600 * 1024)

/* A stream of known bytes, in parts of changing lengths. */
struct fake {
	struct image_stream stream;
	const unsigned char *bytes;
	size_t size;
	size_t at;
	/* where zeros begin and end that may be skipped */
	size_t zeros[2];
	/* -errno after the last byte, or 0 */
	int fails;
	unsigned n_reads;
};

static unsigned char bytes[SIZE];
static bool bytes_are_made;
static unsigned n_closed;

static int
fake_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct fake *fake = (struct fake *)stream;
	size_t left = fake->size - fake->at;
	size_t n = 1 + fake->n_reads++ * 7919 % 50000;

	if (n > length)
		n = length;
	if (n > left)
		n = left;
	if (n == 0 && fake->fails)
		return image_fail(err, stream->name, fake->fails, "is damaged");
	memcpy(buf, fake->bytes + fake->at, n);
	fake->at += n;
	*got = n;
	return 0;
}

static void
fake_close(struct image_stream *stream)
{
	n_closed++;
	free(stream->name);
	free(stream);
}

/* Zeros are skipped where fake->zeros says so. */
static int
fake_skip(struct image_stream *stream, uint64_t unit, uint64_t *length,
	struct image_error *err)
{
	struct fake *fake = (struct fake *)stream;

	(void)err;
	if (fake->at < fake->zeros[0] || fake->at >= fake->zeros[1])
		return 0;
	*length = (fake->zeros[1] - fake->at) / unit * unit;
	fake->at += (size_t)*length;
	return 0;
}

static const struct image_stream_ops fake_ops = {
	.read = fake_read, .skip = fake_skip, .close = fake_close};

static struct fake *
fake_stream(size_t size)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	for (size_t i = 0; !bytes_are_made && i < SIZE; i++)
		bytes[i] = (unsigned char)((i * 2654435761u) >> 13);
	bytes_are_made = true;
	fake->stream.ops = &fake_ops;
	fake->stream.name = strdup("fake");
	fake->stream.size = IMAGE_SIZE_UNKNOWN;
	fake->bytes = bytes;
	fake->size = size;
	return fake;
}

static unsigned n_spills;

static void
count_spills(void *opaque, const char *name, const char *folder)
{
	(void)opaque;
	assert_string_equal(name, "fake");
	assert_string_equal(folder, "/tmp");
	n_spills++;
}

static const struct image_spill spill = {"/tmp", count_spills, NULL};

static struct image_store *
open_store(struct fake *fake, bool spills)
{
	struct image_store *store;
	struct image_error err;

	n_spills = 0;
	assert_ok(image_blocks_open(&fake->stream, MEMORY, &store, &err));
	assert_true(store->forward);
	assert_true(store->size == fake->stream.size);
	if (spills)
		image_blocks_spill(store, &spill);
	return store;
}

static void
expect_bytes(struct image_store *store, size_t offset, size_t length)
{
	unsigned char *buf = malloc(length);
	struct image_error err;

	assert_ok(image_store_read(store, offset, buf, length, &err));
	assert_memory_equal(buf, bytes + offset, length);
	free(buf);
}

TEST(bytes_that_are_released_need_no_space)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);
	size_t step = 64000;

	for (size_t at = 0; at < SIZE; at += step) {
		size_t n = SIZE - at < step ? SIZE - at : step;
		expect_bytes(store, at, n);
		image_store_release(store, at & ~511u, n + (at & 511));
	}
	assert_int_equal(n_spills, 0);
	image_store_close(store);
}

TEST(bytes_that_are_needed_later_move_to_a_file_that_is_named_once)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);

	expect_bytes(store, SIZE - 100, 100);
	assert_int_equal(n_spills, 1);
	for (int round = 0; round < 2; round++)
		for (size_t at = 0; at < SIZE; at += 65000)
			expect_bytes(store, at,
				SIZE - at < 65000 ? SIZE - at : 65000);
	assert_int_equal(n_spills, 1);
	image_store_close(store);
}

/* Nobody has the lock while a block is on its way to the file. */
static void
read_meanwhile(void *opaque, const char *name, const char *folder)
{
	struct image_store **store = opaque;

	count_spills(NULL, name, folder);
	expect_bytes(*store, 0, 1000);
	image_store_release(*store, 0, 512);
}

TEST(bytes_are_read_while_they_move_to_a_file)
{
	struct image_store *store = open_store(fake_stream(SIZE), false);
	const struct image_spill meanwhile = {"/tmp", read_meanwhile, &store};

	image_blocks_spill(store, &meanwhile);
	expect_bytes(store, SIZE - 100, 100);
	assert_int_equal(n_spills, 1);
	expect_bytes(store, 0, 1000);
	image_store_close(store);
}

#define BLOCK (128 * 1024)

/* A stream with zeros from 200000 to 3000000. */
static struct fake *
stream_with_zeros(void)
{
	struct fake *fake = fake_stream(SIZE);

	fake->zeros[0] = 200000;
	fake->zeros[1] = 3000000;
	memset(bytes + 200000, 0, 3000000 - 200000);
	return fake;
}

static void
expect_extent(struct image_store *store, uint64_t offset, uint64_t limit,
	uint64_t length, bool hole)
{
	struct image_error err;
	uint64_t found;
	bool is_hole;

	assert_ok(image_store_extent(
		store, offset, limit, &found, &is_hole, &err));
	assert_int_equal(found, length);
	assert_int_equal(is_hole, hole);
}

TEST(zeros_that_a_stream_skips_are_holes_of_what_has_passed)
{
	struct image_store *store = open_store(stream_with_zeros(), false);
	/* the whole blocks of the zeros */
	const uint64_t begin = 2 * BLOCK, end = 22 * BLOCK;

	expect_extent(store, 0, SIZE, SIZE, false);
	for (size_t at = 0, n; at < SIZE; at += n) {
		n = SIZE - at < 98304 ? SIZE - at : 98304;
		expect_bytes(store, at, n);
		image_store_release(store, at, n);
	}
	expect_extent(store, 0, SIZE, begin, false);
	expect_extent(store, 0, 5, 5, false);
	expect_extent(store, begin, SIZE, end - begin, true);
	expect_extent(store, begin + 1, 7, 7, true);
	expect_extent(store, end - 1, SIZE, 1, true);
	expect_extent(store, end, SIZE - end, SIZE - end, false);
	/* Holes take no memory, and are read again. */
	expect_bytes(store, begin + 1000, (size_t)(end - begin) - 1000);
	image_store_close(store);
}

/* A tap that compares what it sees. */
static size_t n_seen;

static int
tap_see(struct image_tap *tap, const void *seen, size_t length,
	struct image_error *err)
{
	(void)tap;
	(void)err;
	if (length)
		assert_memory_equal(seen, bytes + n_seen, length);
	n_seen += length;
	return 0;
}

static void
tap_close(struct image_tap *tap)
{
	(void)tap;
}

TEST(a_tap_sees_zeros_that_could_be_skipped)
{
	struct image_tap tap = {tap_see, tap_close};
	struct image_store *store = open_store(stream_with_zeros(), false);
	struct image_error err;

	n_seen = 0;
	assert_ok(image_blocks_once(&store, 0, &tap, &err));
	assert_ok(image_blocks_drain(store, &err));
	assert_int_equal(n_seen, SIZE);
	image_store_close(store);
}

TEST(drain_skips_zeros)
{
	struct fake *fake = stream_with_zeros();
	struct image_store *store = open_store(fake, false);
	struct image_error err;

	expect_bytes(store, 0, 1000);
	assert_ok(image_blocks_drain(store, &err));
	assert_int_equal(fake->at, SIZE);
	expect_extent(store, 3 * BLOCK, BLOCK, BLOCK, true);
	image_store_close(store);
}

TEST(a_jump_within_the_memory_needs_no_space)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);

	expect_bytes(store, (size_t)MEMORY / 2, 100);
	expect_bytes(store, 0, 1000);
	assert_int_equal(n_spills, 0);
	image_store_close(store);
}

TEST(zeros_that_are_needed_later_read_as_zeros)
{
	struct fake *fake = fake_stream(SIZE);
	struct image_store *store = open_store(fake, true);

	memset(bytes + 65536 * 2, 0, 65536 * 3);
	memset(bytes + 65536 * 20, 0, 65536 * 60);
	expect_bytes(store, SIZE - 1, 1);
	expect_bytes(store, 0, SIZE - 1);
	image_store_close(store);
	bytes_are_made = false;
}

TEST(a_store_without_space_fails_with_one_sentence)
{
	struct image_store *store = open_store(fake_stream(SIZE), false);
	struct image_error err;
	unsigned char byte;

	assert_int_equal(
		image_store_read(store, SIZE - 1, &byte, 1, &err), -ENOSPC);
	assert_string_equal(err.file, "fake");
	assert_string_equal(err.text,
		"has tables behind its data, and there is no space to keep the "
		"data; write it to a file first");
	image_store_close(store);
}

TEST(a_folder_that_takes_no_file_is_named)
{
	const struct image_spill nowhere = {"/nowhere", NULL, NULL};
	struct image_store *store = open_store(fake_stream(SIZE), false);
	struct image_error err;
	unsigned char byte;

	image_blocks_spill(store, &nowhere);
	assert_true(image_store_read(store, SIZE - 1, &byte, 1, &err) < 0);
	assert_string_equal(err.file, "/nowhere");
	image_store_close(store);
}

TEST(bytes_that_were_released_are_not_read_again)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);
	struct image_error err;
	unsigned char byte;

	for (size_t at = 0; at + 65536 < SIZE; at += 65536) {
		expect_bytes(store, at, 65536);
		image_store_release(store, at, 65536);
	}
	assert_int_equal(image_store_read(store, 5, &byte, 1, &err), -ESPIPE);
	assert_string_equal(err.text,
		"comes as a stream, and its bytes at offset 5 are needed a "
		"second time; write it to a file first");
	image_store_close(store);
}

TEST(a_block_is_released_by_all_its_sectors)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);

	for (size_t at = 0; at + 65536 < SIZE; at += 65536) {
		expect_bytes(store, at, 65536);
		image_store_release(store, at, 32768);
		image_store_release(store, at, 32768 + 511);
	}
	for (size_t at = 0; at + 65536 < SIZE; at += 65536)
		expect_bytes(store, at + 32768, 32768);
	image_store_close(store);
}

/* Every second block is released late, and the block before it stays until
 * then. */
TEST(a_block_stays_for_the_next_one_and_no_longer)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);
	size_t block = (size_t)128 << 10;

	for (size_t i = 0; i < SIZE / block; i++) {
		expect_bytes(store, i * block, block);
		if (i % 2 && i > 6)
			image_store_release(store, (i - 6) * block, block);
		if (i % 2 && i > 2)
			image_store_release(store, (i - 3) * block, block);
	}
	assert_int_equal(n_spills, 0);
	image_store_close(store);
}

/* As the sector that two compressed clusters share. */
TEST(a_sector_before_bytes_that_are_needed_stays)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);

	for (size_t at = 0; at + 65536 < SIZE; at += 65536) {
		expect_bytes(store, at, 65536);
		if (at != 65536 * 4)
			image_store_release(store, at, 65536);
	}
	expect_bytes(store, 65536 * 4 - 512, 65536 + 512);
	image_store_close(store);
}

TEST(the_end_is_found_by_reach)
{
	struct image_store *store = open_store(fake_stream(100000), true);
	struct image_error err;
	uint64_t reached;
	unsigned char byte;

	assert_int_equal(
		image_store_reach(store, 99000, 1000, &reached, &err), 0);
	assert_int_equal(reached, 1000);
	assert_int_equal(
		image_store_reach(store, 99000, 1001, &reached, &err), 0);
	assert_int_equal(reached, 1000);
	assert_int_equal(
		image_store_reach(store, 100001, 1, &reached, &err), 0);
	assert_int_equal(reached, 0);
	assert_int_equal(image_store_read(store, 100000, &byte, 1, &err), -EIO);
	assert_string_equal(err.text,
		"has no data at offset 100000: it ends at offset 100000");
	expect_bytes(store, 0, 100000);
	image_store_close(store);
}

TEST(bytes_before_a_failure_are_read_and_later_ones_fail)
{
	struct fake *fake = fake_stream(100000);
	struct image_error err;
	unsigned char byte;

	fake->fails = -EBADMSG;
	struct image_store *store = open_store(fake, true);
	expect_bytes(store, 0, 100000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			image_store_read(store, 100000, &byte, 1, &err),
			-EBADMSG);
		assert_string_equal(err.text, "is damaged");
	}
	expect_bytes(store, 1, 99999);
	assert_int_equal(image_blocks_drain(store, &err), -EBADMSG);
	image_store_close(store);
}

TEST(drain_finds_a_failure_behind_the_image)
{
	struct fake *fake = fake_stream(SIZE);
	struct image_error err;

	fake->fails = -EBADMSG;
	struct image_store *store = open_store(fake, false);
	expect_bytes(store, 0, 1000);
	assert_int_equal(store->ops->unchanged(store, &err), -EBADMSG);
	assert_string_equal(err.text, "is damaged");
	image_store_close(store);
}

/* What a server or an index states is no proof. */
TEST(a_stream_ends_where_its_size_says)
{
	static const size_t sizes[] = {0, 1, 512, 99999, 100001, 2 * SIZE};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct fake *fake = fake_stream(100000);
		fake->stream.size = sizes[i];
		struct image_store *store = open_store(fake, false);
		struct image_error err;
		size_t both = sizes[i] < 100000 ? sizes[i] : 100000;
		if (both)
			expect_bytes(store, 0, both);
		assert_int_equal(image_store_unchanged(store, &err), -EIO);
		assert_true(err.damaged);
		assert_non_null(strstr(err.text, "its stated size is"));
		image_store_close(store);
	}
}

TEST(drain_reads_to_the_end_and_releases_it)
{
	struct fake *fake = fake_stream(SIZE);
	struct image_store *store = open_store(fake, false);
	struct image_error err;
	unsigned char byte;

	/* The memory, eight blocks at least, is full of bytes that are needed.
	 */
	expect_bytes(store, 0, (size_t)8 * BLOCK);
	assert_ok(image_blocks_drain(store, &err));
	assert_int_equal(fake->at, SIZE);
	expect_bytes(store, 0, (size_t)8 * BLOCK);
	assert_int_equal(
		image_store_read(store, SIZE - 3 * BLOCK, &byte, 1, &err),
		-ESPIPE);
	image_store_close(store);
}

/* What several threads read from one store. */
struct reader {
	struct image_store *store;
	unsigned seed;
	int rc;
};

static int
read_randomly(struct reader *r)
{
	static _Thread_local unsigned char buf[200000];
	struct image_error err;

	for (int i = 0; i < 300; i++) {
		size_t offset = (size_t)rand_r(&r->seed) % SIZE;
		size_t length = (size_t)rand_r(&r->seed) % sizeof(buf);
		/* Mostly ascending, as an image is read. */
		if (i % 8)
			offset = offset / 40 + (size_t)i * (SIZE / 300);
		if (offset >= SIZE)
			offset = SIZE - 1;
		if (length > SIZE - offset)
			length = SIZE - offset;
		if (image_store_read(r->store, offset, buf, length, &err) < 0 ||
			memcmp(buf, bytes + offset, length) != 0)
			return -1;
	}
	return 0;
}

static void *
reader(void *opaque)
{
	struct reader *r = opaque;

	r->rc = read_randomly(r);
	return NULL;
}

TEST(threads_read_at_random_offsets)
{
	const char *seed = getenv("HONE_SEED");
	unsigned first = seed ? (unsigned)atoi(seed) : (unsigned)getpid();
	struct image_store *store = open_store(fake_stream(SIZE), true);
	struct reader readers[4];

	printf("# HONE_SEED=%u\n", first);
	for (unsigned i = 0; i < 4; i++)
		readers[i] = (struct reader){
			.store = store, .seed = first + i, .rc = -2};
	support_threads(reader, readers, 4, sizeof(*readers));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(readers[i].rc, 0);
	image_store_close(store);
}

struct sweeper {
	struct image_store *store;
	size_t *next;
	int rc;
};

/* Take the next chunk, read and release it. */
static void *
sweep(void *opaque)
{
	struct sweeper *s = opaque;
	static _Thread_local unsigned char buf[32768];
	struct image_error err;

	for (;;) {
		size_t at = __atomic_fetch_add(
			s->next, sizeof(buf), __ATOMIC_RELAXED);
		if (at >= SIZE)
			break;
		size_t n = SIZE - at < sizeof(buf) ? SIZE - at : sizeof(buf);
		if (image_store_read(s->store, at, buf, n, &err) < 0 ||
			memcmp(buf, bytes + at, n) != 0)
			return NULL;
		image_store_release(s->store, at, n);
	}
	s->rc = 0;
	return NULL;
}

TEST(threads_that_read_and_release_in_order_need_no_space)
{
	struct image_store *store = open_store(fake_stream(SIZE), true);
	struct sweeper sweepers[3];
	size_t next = 0;

	for (int i = 0; i < 3; i++)
		sweepers[i] = (struct sweeper){
			.store = store, .next = &next, .rc = -1};
	support_threads(sweep, sweepers, 3, sizeof(*sweepers));
	for (int i = 0; i < 3; i++)
		assert_int_equal(sweepers[i].rc, 0);
	image_store_close(store);
}

TEST(a_stream_of_a_store_has_its_bytes_and_its_checks)
{
	struct fake *fake = fake_stream(SIZE);
	struct image_store *store = open_store(fake, false);
	struct image_stream *stream;
	struct image_error err;
	unsigned char buf[50001];
	size_t got, at = 0;

	n_closed = 0;
	fake->fails = -EBADMSG;
	assert_ok(image_stream_of_store(store, &stream, &err));
	assert_true(stream->size == IMAGE_SIZE_UNKNOWN);
	int rc;
	while ((rc = image_stream_read(stream, buf, sizeof(buf), &got, &err)) ==
		0) {
		assert_true(got > 0);
		assert_memory_equal(buf, bytes + at, got);
		at += got;
	}
	assert_int_equal(rc, -EBADMSG);
	assert_true(at > SIZE - sizeof(buf));
	image_stream_close(stream);
	assert_int_equal(n_closed, 1);
}

TEST(a_stream_of_a_store_ends_with_the_store)
{
	struct image_store *store = open_store(fake_stream(SIZE), false);
	struct image_stream *stream;
	struct image_error err;
	unsigned char buf[50001];
	size_t got = 1, at = 0;

	assert_ok(image_stream_of_store(store, &stream, &err));
	while (got) {
		assert_ok(image_stream_read(
			stream, buf, sizeof(buf), &got, &err));
		assert_memory_equal(buf, bytes + at, got);
		at += got;
	}
	assert_int_equal(at, SIZE);
	image_stream_close(stream);
}

static int
copy_bytes(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	(void)store;
	(void)err;
	memcpy(buf, bytes + offset, length);
	return 0;
}

static int
has_changed(struct image_store *store, struct image_error *err)
{
	return image_fail(err, store->name, -EIO, "changed");
}

static void
close_nothing(struct image_store *store)
{
	(void)store;
}

TEST(a_stream_of_a_store_that_changed_fails_at_its_end)
{
	static const struct image_store_ops ops = {.read = copy_bytes,
		.unchanged = has_changed,
		.close = close_nothing};
	static char name[] = "changing";
	struct image_store store = {.ops = &ops, .name = name, .size = 10};
	struct image_stream *stream;
	struct image_error err;
	char buf[20];
	size_t got;

	assert_ok(image_stream_of_store(&store, &stream, &err));
	assert_int_equal(stream->size, 10);
	assert_ok(image_stream_read(stream, buf, 20, &got, &err));
	assert_int_equal(got, 10);
	assert_int_equal(image_stream_read(stream, buf, 20, &got, &err), -EIO);
	assert_string_equal(err.text, "changed");
	image_stream_close(stream);
}

TEST(a_stream_of_a_pipe_ends_where_the_pipe_ends)
{
	struct image_stream *stream;
	struct image_error err;
	char buf[10];
	size_t got;
	int fds[2];

	assert_ok(pipe(fds));
	assert_int_equal(write(fds[1], "abcde", 5), 5);
	close(fds[1]);
	assert_ok(image_stream_of_fd(fds[0], true, "pipe", &stream, &err));
	assert_ok(image_stream_read(stream, buf, 3, &got, &err));
	assert_int_equal(got, 3);
	assert_ok(image_stream_read(stream, buf, 10, &got, &err));
	assert_int_equal(got, 2);
	assert_ok(image_stream_read(stream, buf, 10, &got, &err));
	assert_int_equal(got, 0);
	image_stream_close(stream);
	assert_int_equal(close(fds[0]), -1);
}

TEST(a_stream_that_cannot_be_read_names_its_offset)
{
	struct image_stream *stream;
	struct image_error err;
	char buf[10];
	size_t got;
	int fds[2];

	assert_ok(pipe(fds));
	assert_ok(image_stream_of_fd(fds[1], false, "pipe", &stream, &err));
	assert_int_equal(
		image_stream_read(stream, buf, 10, &got, &err), -EBADF);
	assert_string_equal(err.file, "pipe");
	assert_string_equal(
		err.text, "cannot be read at offset 0: Bad file descriptor");
	image_stream_close(stream);
	assert_ok(close(fds[0]));
	assert_ok(close(fds[1]));
}
