/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file returns when its system calls fail, are interrupted or do less
 * than they were asked to. tests/image/store_test.c is about the page cache.
 */
#include <linux/fs.h>
#include <sys/sysmacros.h>
#include "fake_store.h"
#include "fake_memory.h"
#include "store/file.h"
#include "support.h"

#define PAGE 4096

enum call { READ, WRITE, SEEK, PUNCH, CUT, CLONE, SYNC };

static struct {
	/* calls of this kind fail with code: `times` of them, after `good` */
	enum call call;
	int code;
	unsigned times;
	unsigned good;
	/* write() returns 0 */
	bool writes_nothing;
	/* lseek() returns this, if it is not 0 */
	off_t found;
	/* fstat() shows a block device of that number, if it is not 0 */
	dev_t device;
	/* of the last call */
	int fd;
	size_t length;
	struct file_clone_range range;
} now;

static void
fail_next(enum call call, int code, unsigned good)
{
	now.call = call;
	now.code = code;
	now.times = code == EINTR ? 2 : 1;
	now.good = good;
}

static bool
fails(enum call call)
{
	if (call != now.call || now.times == 0 || (now.good && now.good--))
		return false;
	now.times--;
	errno = now.code;
	return true;
}

STANDS_FOR(ssize_t, pread64, int fd, void *buf, size_t length, off_t offset)
{
	now.fd = fd;
	now.length = length;
	return fails(READ) ? -1 : __real_pread64(fd, buf, length, offset);
}

STANDS_FOR(
	ssize_t, pwrite64, int fd, const void *buf, size_t length, off_t offset)
{
	now.fd = fd;
	now.length = length;
	if (now.writes_nothing)
		return 0;
	return fails(WRITE) ? -1 : __real_pwrite64(fd, buf, length, offset);
}

STANDS_FOR(off_t, lseek64, int fd, off_t offset, int whence)
{
	if (fails(SEEK))
		return -1;
	if (now.found && whence == SEEK_HOLE)
		return now.found;
	return __real_lseek64(fd, offset, whence);
}

STANDS_FOR(int, fallocate64, int fd, int mode, off_t offset, off_t length)
{
	return fails(PUNCH) ? -1 : __real_fallocate64(fd, mode, offset, length);
}

STANDS_FOR(int, ftruncate64, int fd, off_t size)
{
	return fails(CUT) ? -1 : __real_ftruncate64(fd, size);
}

STANDS_FOR(int, ioctl, int fd, unsigned long request, void *argument)
{
	assert_true(request == FICLONERANGE);
	now.fd = fd;
	memcpy(&now.range, argument, sizeof(now.range));
	return fails(CLONE) ? -1 : 0;
}

STANDS_FOR(int, fsync, int fd)
{
	now.fd = fd;
	return fails(SYNC) ? -1 : 0;
}

STANDS_FOR(int, fstat64, int fd, struct stat *st)
{
	int rc = __real_fstat64(fd, st);
	if (now.device) {
		st->st_mode = S_IFBLK | 0600;
		st->st_rdev = now.device;
	}
	return rc;
}

static unsigned char bytes[4 * PAGE] __attribute__((aligned(IMAGE_ALIGN)));

/* A file of 9 pages, with data in pages 2, 3 and 6. */
static int
make_file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	memset(&now, 0, sizeof(now));
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(__real_ftruncate64(fd, 9 * PAGE), 0);
	assert_int_equal(
		__real_pwrite64(fd, bytes, 2 * PAGE, 2 * PAGE), 2 * PAGE);
	assert_int_equal(__real_pwrite64(fd, bytes, PAGE, 6 * PAGE), PAGE);
	return fd;
}

/* Do what each kind of call is for. */
static int
act(struct image_store *store, enum call call, struct image_error *err)
{
	uint64_t length;
	bool hole;

	switch (call) {
	case READ:
		return image_store_read(store, 3 * PAGE, bytes, PAGE, err);
	case WRITE:
		return image_store_write(store, 3 * PAGE, bytes, PAGE, err);
	case SEEK:
		return store->ops->extent(
			store, 3 * PAGE, PAGE, &length, &hole, err);
	case PUNCH:
		return store->ops->zero(store, 3 * PAGE, PAGE, err);
	case CUT:
		return store->ops->resize(store, 3 * PAGE, err);
	case CLONE:
		return store->ops->share(
			store, 3 * PAGE, store, 2 * PAGE, PAGE, err);
	default:
		return store->ops->flush(store, err);
	}
}

TEST(interrupted_calls_are_repeated)
{
	for (enum call call = READ; call <= SYNC; call++) {
		int fd = make_file();
		struct image_store *store = use(fd);
		struct image_error err;
		fail_next(call, EINTR, 0);
		if (act(store, call, &err) != 0 || now.times != 0)
			fail_msg("call %d: %s", (int)call, err.text);
		image_store_close(store);
		close(fd);
	}
}

TEST(failures_are_returned_with_their_place)
{
	static const char *const texts[] = {
		"read at offset 12288: ", "written at offset 12288: ",
		"searched for data from offset 12288: ",
		"zeroed at offset 12288: ", "resized to 12288 bytes: ",
		"share blocks at offset 12288: ", "synced to disk: "};

	for (enum call call = READ; call <= SYNC; call++) {
		int fd = make_file();
		struct image_store *store = use(fd);
		struct image_error err;
		fail_next(call, EIO, 0);
		assert_int_equal(act(store, call, &err), -EIO);
		char *text = strstr(err.text, texts[call]);
		if (!text || !strstr(text, strerror(EIO)))
			fail_msg("call %d: %s", (int)call, err.text);
		image_store_close(store);
		close(fd);
	}
}

TEST(a_write_of_nothing_is_a_full_disk)
{
	int fd = make_file();
	struct image_store *store = use(fd);
	struct image_error err;

	now.writes_nothing = true;
	assert_int_equal(act(store, WRITE, &err), -ENOSPC);
	image_store_close(store);
	close(fd);
}

static void
expect_extent(struct image_store *store, uint64_t offset, uint64_t limit,
	uint64_t expected, bool expect_hole)
{
	struct image_error err;
	uint64_t length = 0;
	bool hole = !expect_hole;

	assert_int_equal(
		store->ops->extent(store, offset, limit, &length, &hole, &err),
		0);
	if (length != expected || hole != expect_hole)
		fail_msg("%d: %d, %d", (int)offset, (int)length, hole);
}

TEST(extents_end_where_holes_begin_and_at_the_limit)
{
	int fd = make_file();
	struct image_store *store = open_again(fd);
	struct image_error err;

	expect_extent(store, 0, 9 * PAGE, 2 * PAGE, true);
	expect_extent(store, 100, 9 * PAGE - 100, 2 * PAGE - 100, true);
	expect_extent(store, 0, 2 * PAGE, 2 * PAGE, true);
	expect_extent(store, 0, PAGE, PAGE, true);
	expect_extent(store, 2 * PAGE, 7 * PAGE, 2 * PAGE, false);
	expect_extent(store, 2 * PAGE + 1, 7 * PAGE - 1, 2 * PAGE - 1, false);
	expect_extent(store, 2 * PAGE, PAGE, PAGE, false);
	expect_extent(store, 4 * PAGE, 5 * PAGE, 2 * PAGE, true);
	expect_extent(store, 7 * PAGE, 2 * PAGE, 2 * PAGE, true);
	image_store_close(store);
	/* where no holes are known; of a file that is written nothing is
	 * remembered */
	store = use(fd);
	for (unsigned good = 0; good < 2; good++) {
		static const int codes[] = {EINVAL, EOPNOTSUPP, ENOSYS};
		for (size_t i = 0; i < 3; i++) {
			fail_next(SEEK, codes[i], good);
			expect_extent(
				store, 2 * PAGE, 7 * PAGE, 7 * PAGE, false);
		}
	}
	/* cut between the two calls */
	fail_next(SEEK, ENXIO, 1);
	expect_extent(store, 2 * PAGE, 7 * PAGE, 7 * PAGE, false);
	fail_next(SEEK, EIO, 1);
	assert_int_equal(act(store, SEEK, &err), -EIO);
	assert_non_null(
		strstr(err.text, "searched for a hole from offset 12288: "));
	/* punched between the two calls; past the end of any file */
	now.found = 2 * PAGE;
	expect_extent(store, 2 * PAGE, 7 * PAGE, 7 * PAGE, false);
	now.found = INT64_MIN;
	expect_extent(store, 2 * PAGE, 7 * PAGE, 7 * PAGE, false);
	image_store_close(store);
	close(fd);
}

TEST(zeros_take_the_place_of_their_range_alone)
{
	unsigned char found[4 * PAGE];
	int fd = make_file();
	struct image_store *store = use(fd);
	struct image_error err;
	struct stat st;

	assert_int_equal(store->ops->zero(store, 2 * PAGE + 5, 100, &err), 0);
	memset(bytes + 5, 0, 100);
	assert_int_equal(
		image_store_read(store, 2 * PAGE, found, 2 * PAGE, &err), 0);
	assert_memory_equal(found, bytes, 2 * PAGE);
	/* the size is that of resize() */
	assert_int_equal(store->ops->zero(store, 8 * PAGE, 9 * PAGE, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 9 * PAGE);
	assert_int_equal(store->ops->resize(store, PAGE + 1, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, PAGE + 1);
	image_store_close(store);
	close(fd);
}

TEST(what_cannot_be_shared_is_no_failure)
{
	static const int refused[] = {EXDEV, EINVAL, EOPNOTSUPP, ETXTBSY};
	static const int failed[] = {EDQUOT, ENOSPC, EIO};
	int fd = make_file(), other = make_file();
	struct image_store *store = use(fd), *from = open_again(other), *memory;
	struct image_error err;

	assert_int_equal(
		store->ops->share(store, PAGE, from, 2 * PAGE, 3 * PAGE, &err),
		0);
	assert_int_equal(now.fd, fd);
	assert_int_equal(now.range.src_fd, image_file(from)->fd);
	assert_int_equal(now.range.src_offset, 2 * PAGE);
	assert_int_equal(now.range.src_length, 3 * PAGE);
	assert_int_equal(now.range.dest_offset, PAGE);
	for (size_t i = 0; i < 4; i++) {
		fail_next(CLONE, refused[i], 0);
		assert_int_equal(act(store, CLONE, &err), -EOPNOTSUPP);
	}
	for (size_t i = 0; i < 3; i++) {
		fail_next(CLONE, failed[i], 0);
		assert_int_equal(act(store, CLONE, &err), -failed[i]);
	}
	/* neither memory nor a device has blocks to share */
	now.fd = -1;
	assert_int_equal(
		memory_store_open(bytes, PAGE, "memory", &memory, &err), 0);
	assert_int_equal(store->ops->share(store, 0, memory, 0, PAGE, &err),
		-EOPNOTSUPP);
	image_store_close(memory);
	image_store_close(from);
	now.device = makedev(7, 1);
	from = open_again(other);
	assert_int_equal(
		store->ops->share(store, 0, from, 0, PAGE, &err), -EOPNOTSUPP);
	assert_int_equal(now.fd, -1);
	image_store_close(from);
	image_store_close(store);
	close(other);
	close(fd);
}

int
main(void)
{
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return support_skip_all("pages", "pages are not of 4 KiB");
	return run_all_tests(NULL, NULL);
}
