/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores over streams, and streams over stores. */
#include "blocks/blocks.h"
#include "fakes.h"
#include "support.h"

#define SIZE ((size_t)5 * 1024 * 1024 + 777)
#define MEMORY ((uint64_t)600 * 1024)

static unsigned char bytes[SIZE];
static bool bytes_are_made;
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

/* The store of a test, and the last error. */
static struct image_store *store;
static struct image_error failure;

static struct fake_stream fake;

FIXTURE(end)
{
	if (store) {
		image_store_close(store);
		assert_true(fake.closed);
	}
	store = NULL;
	return 0;
}

#define BLOCKS_TEST(name) TEST_WITH(name, NULL, end)

/* So many of the bytes, in parts of changing lengths. */
static void
stream_bytes(size_t size)
{
	end(NULL);
	for (size_t i = 0; !bytes_are_made && i < SIZE; i++)
		bytes[i] = (unsigned char)((i * 2654435761u) >> 13);
	bytes_are_made = true;
	fake_stream_init(&fake, bytes, size);
}

/* Open the stream. */
static void
begin_stream(bool spills)
{
	n_spills = 0;
	assert_ok(image_blocks_open(&fake.stream, MEMORY, &store, &failure));
	assert_true(store->forward);
	assert_true(store->size == fake.stream.size);
	if (spills)
		image_blocks_spill(store, &spill);
}

static void
begin(size_t size, bool spills)
{
	stream_bytes(size);
	begin_stream(spills);
}

static void
expect_bytes(size_t offset, size_t length)
{
	unsigned char *buf = malloc(length);

	assert_ok(image_store_read(store, offset, buf, length, &failure));
	assert_memory_equal(buf, bytes + offset, length);
	free(buf);
}

static int
read_byte(uint64_t offset)
{
	unsigned char byte;

	return image_store_read(store, offset, &byte, 1, &failure);
}

BLOCKS_TEST(bytes_that_are_released_need_no_space)
{
	size_t step = 64000;

	begin(SIZE, true);
	for (size_t at = 0; at < SIZE; at += step) {
		size_t n = SIZE - at < step ? SIZE - at : step;
		expect_bytes(at, n);
		image_store_release(store, at & ~511u, n + (at & 511));
	}
	assert_int_equal(n_spills, 0);
}

BLOCKS_TEST(bytes_that_are_needed_later_move_to_a_file_that_is_named_once)
{
	begin(SIZE, true);
	expect_bytes(SIZE - 100, 100);
	assert_int_equal(n_spills, 1);
	for (int round = 0; round < 2; round++)
		for (size_t at = 0; at < SIZE; at += 65000)
			expect_bytes(at, SIZE - at < 65000 ? SIZE - at : 65000);
	assert_int_equal(n_spills, 1);
}

/* Nobody has the lock while a block is on its way to the file. */
static void
read_meanwhile(void *opaque, const char *name, const char *folder)
{
	count_spills(opaque, name, folder);
	expect_bytes(0, 1000);
	image_store_release(store, 0, 512);
}

BLOCKS_TEST(bytes_are_read_while_they_move_to_a_file)
{
	const struct image_spill meanwhile = {"/tmp", read_meanwhile, NULL};

	begin(SIZE, false);
	image_blocks_spill(store, &meanwhile);
	expect_bytes(SIZE - 100, 100);
	assert_int_equal(n_spills, 1);
	expect_bytes(0, 1000);
}

#define BLOCK (128 * 1024)

/* A stream with zeros from 200000 to 3000000. */
static void
begin_with_zeros(void)
{
	stream_bytes(SIZE);
	fake.zeros[0] = 200000;
	fake.zeros[1] = 3000000;
	memset(bytes + 200000, 0, 3000000 - 200000);
	begin_stream(false);
}

static void
expect_extent(uint64_t offset, uint64_t limit, uint64_t length, bool hole)
{
	uint64_t found;
	bool is_hole;

	assert_ok(image_store_extent(
		store, offset, limit, &found, &is_hole, &failure));
	assert_int_equal(found, length);
	assert_int_equal(is_hole, hole);
}

BLOCKS_TEST(zeros_that_a_stream_skips_are_holes_of_what_has_passed)
{
	/* the whole blocks of the zeros */
	const uint64_t from = 2 * BLOCK, to = 22 * BLOCK;

	begin_with_zeros();
	expect_extent(0, SIZE, SIZE, false);
	for (size_t at = 0, n; at < SIZE; at += n) {
		n = SIZE - at < 98304 ? SIZE - at : 98304;
		expect_bytes(at, n);
		image_store_release(store, at, n);
	}
	expect_extent(0, SIZE, from, false);
	expect_extent(0, 5, 5, false);
	expect_extent(from, SIZE, to - from, true);
	expect_extent(from + 1, 7, 7, true);
	expect_extent(to - 1, SIZE, 1, true);
	expect_extent(to, SIZE - to, SIZE - to, false);
	/* Holes take no memory, and are read again. */
	expect_bytes(from + 1000, (size_t)(to - from) - 1000);
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

BLOCKS_TEST(a_tap_sees_zeros_that_could_be_skipped)
{
	static struct image_tap tap = {tap_see, tap_close};

	begin_with_zeros();

	n_seen = 0;
	assert_ok(image_blocks_once(&store, 0, &tap, &failure));
	assert_ok(image_blocks_drain(store, &failure));
	assert_int_equal(n_seen, SIZE);
}

BLOCKS_TEST(drain_skips_zeros)
{
	begin_with_zeros();

	expect_bytes(0, 1000);
	assert_ok(image_blocks_drain(store, &failure));
	assert_int_equal(fake.at, SIZE);
	expect_extent(3 * BLOCK, BLOCK, BLOCK, true);
}

BLOCKS_TEST(a_jump_within_the_memory_needs_no_space)
{
	begin(SIZE, true);
	expect_bytes((size_t)MEMORY / 2, 100);
	expect_bytes(0, 1000);
	assert_int_equal(n_spills, 0);
}

BLOCKS_TEST(zeros_that_are_needed_later_read_as_zeros)
{
	stream_bytes(SIZE);

	begin_stream(true);

	memset(bytes + 65536 * 2, 0, 65536 * 3);
	memset(bytes + 65536 * 20, 0, 65536 * 60);
	expect_bytes(SIZE - 1, 1);
	expect_bytes(0, SIZE - 1);
	bytes_are_made = false;
}

BLOCKS_TEST(a_store_without_space_fails_with_one_sentence)
{
	begin(SIZE, false);
	assert_int_equal(read_byte(SIZE - 1), -ENOSPC);
	assert_string_equal(failure.file, "fake");
	assert_string_equal(failure.text,
		"has tables behind its data, and there is no space to keep the "
		"data; write it to a file first");
}

BLOCKS_TEST(a_folder_that_takes_no_file_is_named)
{
	const struct image_spill nowhere = {"/nowhere", NULL, NULL};

	begin(SIZE, false);

	image_blocks_spill(store, &nowhere);
	assert_true(read_byte(SIZE - 1) < 0);
	assert_string_equal(failure.file, "/nowhere");
}

BLOCKS_TEST(bytes_that_were_released_are_not_read_again)
{
	begin(SIZE, true);
	for (size_t at = 0; at + 65536 < SIZE; at += 65536) {
		expect_bytes(at, 65536);
		image_store_release(store, at, 65536);
	}
	assert_int_equal(read_byte(5), -ESPIPE);
	assert_string_equal(failure.text,
		"comes as a stream, and its bytes at offset 5 are needed a "
		"second time; write it to a file first");
}

BLOCKS_TEST(a_block_is_released_by_all_its_sectors)
{
	begin(SIZE, true);
	for (size_t at = 0; at + 65536 < SIZE; at += 65536) {
		expect_bytes(at, 65536);
		image_store_release(store, at, 32768);
		image_store_release(store, at, 32768 + 511);
	}
	for (size_t at = 0; at + 65536 < SIZE; at += 65536)
		expect_bytes(at + 32768, 32768);
}

/* Every second block is released late, and the block before it stays until
 * then. */
BLOCKS_TEST(a_block_stays_for_the_next_one_and_no_longer)
{
	size_t block = (size_t)128 << 10;

	begin(SIZE, true);
	for (size_t i = 0; i < SIZE / block; i++) {
		expect_bytes(i * block, block);
		if (i % 2 && i > 6)
			image_store_release(store, (i - 6) * block, block);
		if (i % 2 && i > 2)
			image_store_release(store, (i - 3) * block, block);
	}
	assert_int_equal(n_spills, 0);
}

/* As the sector that two compressed clusters share. */
BLOCKS_TEST(a_sector_before_bytes_that_are_needed_stays)
{
	begin(SIZE, true);
	for (size_t at = 0; at + 65536 < SIZE; at += 65536) {
		expect_bytes(at, 65536);
		if (at != 65536 * 4)
			image_store_release(store, at, 65536);
	}
	expect_bytes(65536 * 4 - 512, 65536 + 512);
}

BLOCKS_TEST(the_end_is_found_by_reach)
{
	uint64_t reached;

	begin(100000, true);
	assert_ok(image_store_reach(store, 99000, 1000, &reached, &failure));
	assert_int_equal(reached, 1000);
	assert_ok(image_store_reach(store, 99000, 1001, &reached, &failure));
	assert_int_equal(reached, 1000);
	assert_ok(image_store_reach(store, 100001, 1, &reached, &failure));
	assert_int_equal(reached, 0);
	assert_int_equal(read_byte(100000), -EIO);
	assert_string_equal(failure.text,
		"has no data at offset 100000: it ends at offset 100000");
	expect_bytes(0, 100000);
}

BLOCKS_TEST(bytes_before_a_failure_are_read_and_later_ones_fail)
{
	stream_bytes(100000);

	fake.fails = -EBADMSG;
	begin_stream(true);
	expect_bytes(0, 100000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(read_byte(100000), -EBADMSG);
		assert_string_equal(failure.text, "is broken");
	}
	expect_bytes(1, 99999);
	assert_int_equal(image_blocks_drain(store, &failure), -EBADMSG);
}

BLOCKS_TEST(drain_finds_a_failure_behind_the_image)
{
	stream_bytes(SIZE);

	fake.fails = -EBADMSG;
	begin_stream(false);
	expect_bytes(0, 1000);
	assert_int_equal(store->ops->unchanged(store, &failure), -EBADMSG);
	assert_string_equal(failure.text, "is broken");
}

/* What a server or an index states is no proof. */
BLOCKS_TEST(a_stream_ends_where_its_size_says)
{
	static const size_t sizes[] = {0, 1, 512, 99999, 100001, 2 * SIZE};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		stream_bytes(100000);
		fake.stream.size = sizes[i];
		begin_stream(false);
		size_t both = sizes[i] < 100000 ? sizes[i] : 100000;
		if (both)
			expect_bytes(0, both);
		assert_int_equal(image_store_unchanged(store, &failure), -EIO);
		assert_true(failure.damaged);
		assert_non_null(strstr(failure.text, "its stated size is"));
	}
}

BLOCKS_TEST(drain_reads_to_the_end_and_releases_it)
{
	stream_bytes(SIZE);

	begin_stream(false);

	/* The memory, eight blocks at least, is full of bytes that are needed.
	 */
	expect_bytes(0, (size_t)8 * BLOCK);
	assert_ok(image_blocks_drain(store, &failure));
	assert_int_equal(fake.at, SIZE);
	expect_bytes(0, (size_t)8 * BLOCK);
	assert_int_equal(read_byte(SIZE - 3 * BLOCK), -ESPIPE);
}

BLOCKS_TEST(threads_read_at_random_offsets)
{
	begin(SIZE, true);
	fake_read_by_threads(store, bytes, SIZE, 0);
}

BLOCKS_TEST(threads_read_and_release_in_order)
{
	begin(SIZE, true);
	fake_read_by_threads(store, bytes, SIZE, 32768);
}

BLOCKS_TEST(a_stream_of_a_store_has_its_bytes_and_its_end)
{
	static const int ends[] = {0, -EBADMSG};
	static unsigned char buf[50001];
	struct image_stream *stream;

	for (int i = 0; i < 2; i++) {
		stream_bytes(SIZE);
		size_t got = 1, at = 0;
		int rc = 0;

		fake.fails = ends[i];
		begin_stream(false);
		assert_ok(image_stream_of_store(store, &stream, &failure));
		store = NULL;
		assert_true(stream->size == IMAGE_SIZE_UNKNOWN);
		while (rc == 0 && got) {
			rc = image_stream_read(
				stream, buf, sizeof(buf), &got, &failure);
			if (rc == 0)
				assert_memory_equal(buf, bytes + at, got);
			at += rc == 0 ? got : 0;
		}
		assert_int_equal(rc, ends[i]);
		assert_in_range(at, rc ? SIZE - sizeof(buf) : SIZE, SIZE);
		image_stream_close(stream);
		assert_true(fake.closed);
	}
}

static int
copy_bytes(struct image_store *from, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	(void)from;
	(void)err;
	memcpy(buf, bytes + offset, length);
	return 0;
}

static int
has_changed(struct image_store *from, struct image_error *err)
{
	return image_fail(err, from->name, -EIO, "changed");
}

static void
close_nothing(struct image_store *from)
{
	(void)from;
}

BLOCKS_TEST(a_stream_of_a_store_that_changed_fails_at_its_end)
{
	static const struct image_store_ops ops = {.read = copy_bytes,
		.unchanged = has_changed,
		.close = close_nothing};
	static char name[] = "changing";
	struct image_store changing = {.ops = &ops, .name = name, .size = 10};
	struct image_stream *stream;
	char buf[20];
	size_t got;

	assert_ok(image_stream_of_store(&changing, &stream, &failure));
	assert_int_equal(stream->size, 10);
	assert_ok(image_stream_read(stream, buf, 20, &got, &failure));
	assert_int_equal(got, 10);
	assert_int_equal(
		image_stream_read(stream, buf, 20, &got, &failure), -EIO);
	assert_string_equal(failure.text, "changed");
	image_stream_close(stream);
}

BLOCKS_TEST(a_stream_of_a_pipe_ends_where_the_pipe_ends)
{
	struct image_stream *stream;
	char buf[10];
	size_t got;
	int fds[2];

	assert_ok(pipe(fds));
	assert_int_equal(write(fds[1], "abcde", 5), 5);
	close(fds[1]);
	assert_ok(image_stream_of_fd(fds[0], true, "pipe", &stream, &failure));
	assert_ok(image_stream_read(stream, buf, 3, &got, &failure));
	assert_int_equal(got, 3);
	assert_ok(image_stream_read(stream, buf, 10, &got, &failure));
	assert_int_equal(got, 2);
	assert_ok(image_stream_read(stream, buf, 10, &got, &failure));
	assert_int_equal(got, 0);
	image_stream_close(stream);
	assert_int_equal(close(fds[0]), -1);
}

BLOCKS_TEST(a_stream_that_cannot_be_read_names_its_offset)
{
	struct image_stream *stream;
	char buf[10];
	size_t got;
	int fds[2];

	assert_ok(pipe(fds));
	assert_ok(image_stream_of_fd(fds[1], false, "pipe", &stream, &failure));
	assert_int_equal(
		image_stream_read(stream, buf, 10, &got, &failure), -EBADF);
	assert_string_equal(failure.file, "pipe");
	assert_string_equal(failure.text,
		"cannot be read at offset 0: Bad file descriptor");
	image_stream_close(stream);
	assert_ok(close(fds[0]));
	assert_ok(close(fds[1]));
}
