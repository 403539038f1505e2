/* SPDX-License-Identifier: BSD-3-Clause */
/* Holes of a file are not read, and each is searched for once. */
#include "store/file.h"
#include "fake_store.h"
#include "support.h"

#define PAGE 4096
#define KI ((uint64_t)1 << 10)
#define MI ((uint64_t)1 << 20)

static struct {
	unsigned reads;
	unsigned seeks;
	/* the bytes of the last read */
	size_t length;
	/* each search fails with this */
	int code;
} now;

STANDS_FOR(ssize_t, pread64, int fd, void *buf, size_t length, off_t offset)
{
	now.reads++;
	now.length = length;
	return __real_pread64(fd, buf, length, offset);
}

STANDS_FOR(off_t, lseek64, int fd, off_t offset, int whence)
{
	now.seeks++;
	errno = now.code;
	return now.code ? -1 : __real_lseek64(fd, offset, whence);
}

static unsigned char bytes[2 << 20];

/* A file of 64 MiB; the first 64 KiB of each 16 MiB are data. */
static int
make_file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 64 * (off_t)MI), 0);
	memset(bytes, 'x', 64 * KI);
	for (off_t i = 0; i < 4; i++)
		assert_int_equal(pwrite(fd, bytes, 64 * KI, i * 16 * (off_t)MI),
			64 * KI);
	return fd;
}

static struct image_store *
open_file(int fd)
{
	struct image_store *store = open_again(fd);

	/* the first reads are made */
	image_file(store)->unasked = 512 * KI;
	memset(&now, 0, sizeof(now));
	return store;
}

/* Read, and compare with what make_file() has written. */
static void
read_at(struct image_store *store, uint64_t offset, size_t length)
{
	struct image_error err;

	memset(bytes, '?', length);
	assert_int_equal(
		image_store_read(store, offset, bytes, length, &err), 0);
	for (size_t i = 0; i < length; i++) {
		bool data = (offset + i) % (16 * MI) < 64 * KI;
		if (bytes[i] != (data ? 'x' : 0))
			fail_msg("%d: %d", (int)(offset + i), bytes[i]);
	}
}

static void
expect_calls(unsigned reads, unsigned seeks)
{
	if (now.reads != reads || now.seeks != seeks)
		fail_msg("%u reads, %u seeks", now.reads, now.seeks);
	now.reads = now.seeks = 0;
}

TEST(a_hole_is_searched_for_once_and_never_read)
{
	int fd = make_file();
	struct image_store *store = open_file(fd);

	read_at(store, MI, 512);
	expect_calls(0, 1);
	for (unsigned i = 0; i < 100; i++)
		read_at(store, 2 * MI + i * 100 * KI, 10 * KI);
	expect_calls(0, 0);
	/* to the last byte */
	read_at(store, 16 * MI - 512, 512);
	expect_calls(0, 0);
	read_at(store, 64 * MI - 512, 512);
	read_at(store, 64 * MI - 1, 1);
	expect_calls(0, 1);
	image_store_close(store);
	close(fd);
}

TEST(data_is_searched_for_once)
{
	int fd = make_file();
	struct image_store *store = open_file(fd);

	for (unsigned i = 0; i < 16; i++)
		read_at(store, i * 4 * KI, 4 * KI);
	expect_calls(16, 2);
	/* by turns at several places, as threads do */
	for (unsigned i = 0; i < 64; i++)
		read_at(store, i % 4 * 16 * MI + i / 4 * KI, KI);
	expect_calls(64, 6);
	image_store_close(store);
	close(fd);
}

TEST(a_read_is_divided_where_a_long_hole_begins)
{
	int fd = make_file();
	struct image_store *store = open_file(fd);

	read_at(store, 32 * KI, 2 * MI - 1);
	assert_int_equal(now.length, 32 * KI);
	expect_calls(1, 3);
	/* of a short one the zeros are read */
	read_at(store, 32 * KI, 64 * KI);
	assert_int_equal(now.length, 64 * KI);
	expect_calls(1, 0);
	/* zeros, then data */
	read_at(store, 15 * MI, MI + 512);
	assert_int_equal(now.length, 512);
	expect_calls(1, 2);
	image_store_close(store);
	close(fd);
}

TEST(reads_from_the_last_to_the_first_are_bounded)
{
	int fd = make_file();
	struct image_store *store = open_file(fd);

	for (uint64_t at = 64 * MI; at > 48 * MI + 64 * KI; at -= 4 * KI)
		read_at(store, at - 4 * KI, 4 * KI);
	assert_int_equal(now.reads, 0);
	/* halves of 64 MiB, down to a page */
	assert_in_range(now.seeks, 2, 30);
	image_store_close(store);
	close(fd);
}

TEST(a_file_without_holes_is_not_searched)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	memset(bytes, 'x', 64 * KI);
	assert_int_equal(pwrite(fd, bytes, 64 * KI, 0), 64 * KI);
	struct image_store *store = open_file(fd);
	for (unsigned i = 0; i < 16; i++)
		read_at(store, i * 4 * KI, 4 * KI);
	expect_calls(16, 0);
	image_store_close(store);
	close(fd);
}

/* Short holes between the tables of an image are not worth a call. */
TEST(the_first_reads_search_for_nothing)
{
	int fd = make_file();
	struct image_store *store = open_file(fd);
	struct image_error err;
	uint64_t length;
	bool hole;

	image_file(store)->unasked = 0;
	read_at(store, MI, 256 * KI);
	for (unsigned i = 0; i < 16; i++)
		read_at(store, 2 * MI, 512);
	expect_calls(17, 0);
	read_at(store, 3 * MI, 512);
	expect_calls(0, 1);
	/* a hole that is known is not read at all */
	image_file(store)->unasked = 0;
	read_at(store, 4 * MI, 512);
	assert_int_equal(
		image_store_extent(store, 20 * MI, MI, &length, &hole, &err),
		0);
	read_at(store, 20 * MI, MI);
	expect_calls(0, 1);
	image_store_close(store);
	close(fd);
}

TEST(where_no_search_works_all_is_read)
{
	static const int codes[] = {EINVAL, EOPNOTSUPP, ENOSYS};

	for (size_t i = 0; i < 3; i++) {
		int fd = make_file();
		struct image_store *store = open_file(fd);
		now.code = codes[i];
		read_at(store, 0, 64 * KI);
		read_at(store, 2 * MI, 4 * KI);
		read_at(store, 40 * MI, 4 * KI);
		/* asked once */
		expect_calls(3, 1);
		/* a read reports its own failures alone */
		image_store_close(store);
		store = open_file(fd);
		now.code = EIO;
		read_at(store, 2 * MI, 4 * KI);
		expect_calls(1, 1);
		image_store_close(store);
		close(fd);
	}
}

TEST(what_was_cut_is_no_hole)
{
	int fd = make_file();
	struct image_store *store = open_file(fd);
	struct image_error err;

	assert_int_equal(ftruncate(fd, 40 * (off_t)MI), 0);
	assert_int_equal(
		image_store_read(store, 50 * MI, bytes, 512, &err), -EIO);
	assert_non_null(strstr(err.text, "truncated while it was read"));
	image_store_close(store);
	close(fd);
}

TEST(a_change_of_a_hole_is_reported)
{
	static const struct timespec other[2] = {{.tv_sec = 7}, {.tv_sec = 9}};
	int fd = make_file();
	struct image_store *store = open_file(fd);
	struct image_error err;

	read_at(store, 2 * MI, 512);
	assert_int_equal(image_store_unchanged(store, &err), 0);
	assert_int_equal(pwrite(fd, "new", 3, 2 * (off_t)MI), 3);
	assert_int_equal(futimens(fd, other), 0);
	/* the hole that was found stays one */
	read_at(store, 2 * MI, 512);
	assert_int_equal(image_store_unchanged(store, &err), -EIO);
	image_store_close(store);
	close(fd);
}

TEST(a_file_that_is_written_is_read_anew)
{
	struct image_store_how how = {0};
	struct image_store *store;
	struct image_error err;
	uint64_t length;
	bool hole;
	int fd = make_file();

	assert_int_equal(image_store_use(fd, "file", &how, &store, &err), 0);
	memset(&now, 0, sizeof(now));
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(image_store_extent(store, 2 * MI, KI, &length,
					 &hole, &err),
			0);
	assert_true(hole && length == KI);
	expect_calls(0, 2);
	assert_int_equal(image_store_write(store, 2 * MI, "new", 3, &err), 0);
	assert_int_equal(image_store_read(store, 2 * MI, bytes, 3, &err), 0);
	assert_memory_equal(bytes, "new", 3);
	assert_int_equal(
		image_store_extent(store, 2 * MI, KI, &length, &hole, &err), 0);
	assert_false(hole);
	/* behind the size at open */
	assert_int_equal(image_store_write(store, 70 * MI, "new", 3, &err), 0);
	assert_int_equal(image_store_extent(
				 store, 69 * MI, 2 * MI, &length, &hole, &err),
		0);
	assert_true(hole && length == MI);
	image_store_close(store);
	close(fd);
}

int
main(void)
{
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return support_skip_all("pages", "pages are not of 4 KiB");
	return run_all_tests(NULL, NULL);
}
