/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which file a store is, whether it has changed, which of its descriptors is
 * used, and what its end is.
 */
#include <sys/sysmacros.h>
#include "fake_store.h"
#include "fake_memory.h"
#include "store/file.h"
#include "support.h"

#define PAGE 4096

static struct {
	/* fstat() shows a block device of that number, if it is not 0 */
	dev_t device;
	/* the descriptor with O_DIRECT, and the errno of reads and writes of
	 * it; 0: they succeed */
	int direct_fd;
	int direct_fails;
	/* of the last read or write of each descriptor */
	size_t direct;
	size_t buffered;
	/* what was last sent to the disk */
	off_t sent_from;
	off_t sent;
} now;

/* Returns whether the call fails. */
static bool
count(int fd, size_t length)
{
	errno = now.direct_fails;
	if (fd != now.direct_fd) {
		now.buffered = length;
		return false;
	}
	now.direct = length;
	return now.direct_fails;
}

STANDS_FOR(ssize_t, pread64, int fd, void *buf, size_t length, off_t offset)
{
	return count(fd, length) ? -1 : __real_pread64(fd, buf, length, offset);
}

STANDS_FOR(
	ssize_t, pwrite64, int fd, const void *buf, size_t length, off_t offset)
{
	return count(fd, length) ? -1
				 : __real_pwrite64(fd, buf, length, offset);
}

STANDS_FOR(int, sync_file_range, int fd, off_t offset, off_t length,
	unsigned flags)
{
	(void)fd;
	assert_int_equal(flags, SYNC_FILE_RANGE_WRITE);
	now.sent_from = offset;
	now.sent = length;
	return 0;
}

STANDS_FOR(int, fstat64, int fd, struct stat *st)
{
	int rc = __real_fstat64(fd, st);
	if (now.device) {
		st->st_mode = S_IFBLK | 0600;
		st->st_rdev = now.device;
		st->st_size = 0;
	}
	return rc;
}

static unsigned char bytes[4 * PAGE] __attribute__((aligned(IMAGE_ALIGN)));

/* A file of 4 pages of data. */
static int
make_file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	memset(&now, 0, sizeof(now));
	now.direct_fd = -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i / 16);
	assert_int_equal(__real_pwrite64(fd, bytes, sizeof(bytes), 0),
		(ssize_t)sizeof(bytes));
	return fd;
}

/* Read and write, and expect that many bytes of each descriptor. */
static void
expect_bytes(struct image_store *store, uint64_t offset, size_t shift,
	size_t length, size_t direct, size_t buffered)
{
	static unsigned char buf[sizeof(bytes) + 8]
		__attribute__((aligned(IMAGE_ALIGN)));
	struct image_error err;

	for (int turn = 0; turn < 2; turn++) {
		now.direct = now.buffered = 0;
		assert_int_equal(turn == 0 ? image_store_read(store, offset,
						     buf + shift, length, &err)
					   : image_store_write(store, offset,
						     buf + shift, length, &err),
			0);
		assert_memory_equal(buf + shift, bytes + offset, length);
		assert_int_equal(now.direct, direct);
		assert_int_equal(now.buffered, buffered);
	}
}

TEST(what_is_aligned_is_direct)
{
	int fd = make_file();
	struct image_store *store = use(fd);
	struct image_error err;

	now.direct_fd = image_file(store)->direct_fd = dup(fd);
	expect_bytes(store, PAGE, 0, 2 * PAGE, 2 * PAGE, 0);
	expect_bytes(store, PAGE, 0, 2 * PAGE + 5, 2 * PAGE, 5);
	expect_bytes(store, PAGE, 0, 5, 0, 5);
	expect_bytes(store, PAGE + 512, 0, PAGE, 0, PAGE);
	expect_bytes(store, PAGE, 8, PAGE, 0, PAGE);
	/* a file system that refuses after all */
	now.direct_fails = EINVAL;
	expect_bytes(store, PAGE, 0, 2 * PAGE, 2 * PAGE, 2 * PAGE);
	now.direct_fails = EIO;
	now.buffered = 0;
	assert_int_equal(image_store_read(store, 0, bytes, PAGE, &err), -EIO);
	assert_int_equal(image_store_write(store, 0, bytes, PAGE, &err), -EIO);
	assert_int_equal(now.buffered, 0);
	image_store_close(store);
	assert_int_equal(fcntl(now.direct_fd, F_GETFD), -1);
	close(fd);
}

/* Counted from the bytes of each call: store_test.c has the rest. */
TEST(writes_are_sent_to_the_disk)
{
	int fd = make_file();
	struct image_store *store = use(fd);
	struct image_file *file = image_file(store);
	struct image_error err;

	file->unsent = ((uint64_t)16 << 20) - 2 * PAGE;
	file->unsent_from = 2 * PAGE;
	file->unsent_to = 3 * PAGE;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(now.sent, 0);
		assert_int_equal(image_store_write(store, (i + 4) * PAGE, bytes,
					 PAGE, &err),
			0);
	}
	assert_int_equal(now.sent_from, 2 * PAGE);
	assert_int_equal(now.sent, 4 * PAGE);
	image_store_close(store);
	close(fd);
}

/* 0 to 3: what is done to the file after it was opened. */
static void
change(int fd, int how)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;

	assert_int_equal(__real_fstat64(fd, &st), 0);
	times[1] = st.st_mtim;
	times[1].tv_sec += how == 2;
	times[1].tv_nsec += how == 3 ? (st.st_mtim.tv_nsec ? -1 : 1) : 0;
	assert_int_equal(ftruncate(fd, 4 * PAGE + (how == 1) - 2 * !how), 0);
	assert_int_equal(futimens(fd, times), 0);
}

TEST(a_change_is_found_by_size_and_by_time)
{
	struct image_error err;

	for (int how = 0; how < 4; how++) {
		int fd = make_file();
		struct image_store *store = open_again(fd);
		assert_int_equal(store->ops->unchanged(store, &err), 0);
		change(fd, how);
		assert_int_equal(store->ops->unchanged(store, &err), -EIO);
		assert_non_null(strstr(err.text, "changed while it was read"));
		assert_int_equal(!strstr(err.text, "16384 to"), how >= 2);
		image_store_close(store);
		close(fd);
	}
}

TEST(the_time_of_a_device_tells_nothing)
{
	int fd = make_file();
	struct image_store *store;
	struct image_usage usage;
	struct image_error err;

	now.device = makedev(7, 1);
	store = open_again(fd);
	assert_int_equal(store->size, 4 * PAGE);
	change(fd, 2);
	assert_int_equal(store->ops->unchanged(store, &err), 0);
	assert_int_equal(store->ops->usage(store, &usage, &err), 0);
	assert_int_equal(usage.file_size, 4 * PAGE);
	assert_int_equal(usage.disk_usage, 4 * PAGE);
	change(fd, 1);
	assert_int_equal(store->ops->unchanged(store, &err), -EIO);
	image_store_close(store);
	close(fd);
}

TEST(one_file_is_known_by_any_descriptor)
{
	int fd = make_file(), other = make_file();
	struct image_store *a = open_again(fd), *b = open_again(fd);
	struct image_store *c = open_again(other), *memory;
	struct image_error err;

	assert_int_equal(
		memory_store_open(bytes, PAGE, "memory", &memory, &err), 0);
	assert_true(image_store_is(a, fd));
	assert_false(image_store_is(a, other));
	assert_false(image_store_is(a, -1));
	assert_false(image_store_is(memory, fd));
	assert_true(image_store_same(a, b));
	assert_false(image_store_same(a, c));
	assert_false(image_store_same(a, memory));
	assert_true(image_store_same(memory, memory));
	image_store_close(memory);
	image_store_close(a);
	image_store_close(b);
	image_store_close(c);
	/* A device is known by its number: it may have several names. */
	now.device = makedev(7, 1);
	a = open_again(fd);
	b = open_again(other);
	now.device = makedev(7, 2);
	c = open_again(fd);
	assert_true(image_store_same(a, b));
	assert_false(image_store_same(a, c));
	assert_true(image_store_is(c, other));
	assert_false(image_store_is(a, fd));
	image_store_close(a);
	image_store_close(b);
	image_store_close(c);
	close(other);
	close(fd);
}

TEST(descriptors_are_closed_by_who_opened_them)
{
	int fd = make_file();
	struct image_store *store = use(fd);

	image_store_close(store);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	store = open_again(fd);
	int opened = image_file(store)->fd;
	assert_int_equal(fcntl(opened, F_GETFD), FD_CLOEXEC);
	image_store_close(store);
	assert_int_equal(fcntl(opened, F_GETFD), -1);
	image_store_close(NULL);
	close(fd);
}

TEST(disk_usage_leaves_holes_out)
{
	int fd = make_file();
	struct image_store *store = use(fd);
	struct image_usage usage;
	struct image_error err;

	assert_int_equal(ftruncate(fd, 100 * PAGE + 1), 0);
	assert_int_equal(store->ops->usage(store, &usage, &err), 0);
	assert_int_equal(usage.file_size, 100 * PAGE + 1);
	assert_int_equal(usage.disk_usage, 4 * PAGE);
	image_store_close(store);
	close(fd);
}

TEST(no_store_is_used_past_its_end)
{
	int fd = make_file();
	struct image_store *store = use(fd), *memory;
	unsigned char found[16] = {0};
	struct image_error err;

	assert_int_equal(
		image_store_write(store, INT64_MAX - 15, bytes, 16, &err),
		-EFBIG);
	assert_non_null(strstr(err.text, "past the largest file size"));
	image_store_close(store);
	close(fd);
	assert_int_equal(
		memory_store_open(bytes, PAGE, "memory", &memory, &err), 0);
	assert_int_equal(
		image_store_read(memory, PAGE - 16, found, 16, &err), 0);
	assert_memory_equal(found, bytes + PAGE - 16, 16);
	assert_int_equal(
		image_store_read(memory, PAGE - 15, found, 16, &err), -EIO);
	assert_int_equal(
		image_store_read(memory, PAGE + 1, found, 1, &err), -EIO);
	/* nothing can be read anywhere */
	assert_int_equal(image_store_read(memory, PAGE + 1, found, 0, &err), 0);
	image_store_close(memory);
}

int
main(void)
{
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return support_skip_all("pages", "pages are not of 4 KiB");
	return run_all_tests(NULL, NULL);
}
