/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file does to the page cache: the system calls are recorded, and what
 * is in the page cache is made up.
 */
#include <sys/uio.h>
#include "store/file.h"
#include "support.h"

#define MI ((uint64_t)1 << 20)
#define WINDOW (64 * MI)
#define PAGE 4096

static struct {
	/* the calls in order, such as "drop 0 4096;" */
	char calls[1024];
	/* pages from the beginning of the data on that are present, for each
	 * window */
	unsigned present[4];
	/* what it begins with, for each window */
	uint64_t mapped;
	unsigned looks;
	/* errno of calls with RWF_DONTCACHE; 0: they succeed */
	int dontcache;
	int fsync_fails;
	/* most bytes of one call; 0: any number */
	size_t most;
	/* the next calls are interrupted */
	unsigned interrupts;
	bool other_user;
} now;

__attribute__((format(printf, 1, 2))) static void
record(const char *format, ...)
{
	size_t used = strlen(now.calls);
	va_list args;

	va_start(args, format);
	vsnprintf(now.calls + used, sizeof(now.calls) - used, format, args);
	va_end(args);
}

STANDS_FOR(void *, mmap64, void *to, size_t length, int protection, int flags,
	int fd, off_t offset)
{
	now.mapped = (uint64_t)offset;
	return __real_mmap64(to, length, protection, flags, fd, offset);
}

STANDS_FOR(int, mincore, void *map, size_t length, unsigned char *list)
{
	(void)map;
	now.looks++;
	for (size_t i = 0; i < length / PAGE; i++)
		list[i] = i < now.present[now.mapped / WINDOW];
	record("look %u;", (unsigned)(now.mapped / WINDOW));
	return 0;
}

STANDS_FOR(int, posix_fadvise64, int fd, off_t offset, off_t length, int advice)
{
	(void)fd;
	assert_int_equal(advice, POSIX_FADV_DONTNEED);
	record("drop %ld %ld;", (long)offset, (long)length);
	return 0;
}

STANDS_FOR(int, sync_file_range, int fd, off_t offset, off_t length,
	unsigned flags)
{
	(void)fd;
	record("%s %ld %ld;", flags == SYNC_FILE_RANGE_WRITE ? "send" : "await",
		(long)(offset / (off_t)MI), (long)(length / (off_t)MI));
	return 0;
}

STANDS_FOR(int, fsync, int fd)
{
	(void)fd;
	record("sync;");
	errno = now.fsync_fails;
	return now.fsync_fails ? -1 : 0;
}

STANDS_FOR(uid_t, geteuid, void)
{
	return now.other_user ? 12345 : __real_geteuid();
}

/* Returns whether a call fails with EINTR; shortens it otherwise. */
static bool
interrupted(size_t *length)
{
	if (now.most && *length > now.most)
		*length = now.most;
	errno = EINTR;
	return now.interrupts && now.interrupts--;
}

STANDS_FOR(ssize_t, pread64, int fd, void *buf, size_t length, off_t offset)
{
	if (interrupted(&length))
		return -1;
	record("read;");
	return __real_pread64(fd, buf, length, offset);
}

STANDS_FOR(
	ssize_t, pwrite64, int fd, const void *buf, size_t length, off_t offset)
{
	if (interrupted(&length))
		return -1;
	record("write;");
	return __real_pwrite64(fd, buf, length, offset);
}

STANDS_FOR(ssize_t, preadv64v2, int fd, const struct iovec *iov, int n,
	off_t offset, int flags)
{
	(void)n;
	(void)flags;
	record("once;");
	errno = now.dontcache;
	return now.dontcache ? -1
			     : __real_pread64(
				       fd, iov->iov_base, iov->iov_len, offset);
}

STANDS_FOR(ssize_t, pwritev64v2, int fd, const struct iovec *iov, int n,
	off_t offset, int flags)
{
	(void)n;
	(void)flags;
	record("once;");
	errno = now.dontcache;
	return now.dontcache ? -1
			     : __real_pwrite64(
				       fd, iov->iov_base, iov->iov_len, offset);
}

static unsigned char bytes[4 * PAGE];

/* Three windows: 16 pages of data in each of the first two, and a hole. */
static struct image_store *
open_store(bool drop)
{
	struct image_store_how how = {.drop_cache = drop};
	struct image_store *store;
	struct image_error err;
	char path[40];

	int fd = memfd_create("store", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(ftruncate(fd, 3 * (off_t)WINDOW));
	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < 8; i++)
		assert_int_equal(
			__real_pwrite64(fd, bytes, sizeof(bytes),
				i / 4 * (off_t)WINDOW + i % 4 * 4 * PAGE),
			4 * PAGE);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_ok(image_store_open(path, NULL, &how, &store, &err));
	close(fd);
	/* file_test.c has the reads that are not made */
	image_file(store)->sparse = false;
	memset(&now, 0, sizeof(now));
	now.dontcache = EOPNOTSUPP;
	return store;
}

static void
read_at(struct image_store *store, uint64_t offset, size_t length)
{
	struct image_error err;

	now.calls[0] = '\0';
	assert_ok(image_store_read(store, offset, bytes, length, &err));
}

/* Other programs use them. */
TEST(pages_that_were_there_stay)
{
	struct image_store *store = open_store(true);
	struct image_error err;

	/* all data of the first window, which is most of it a hole */
	now.present[0] = 16;
	now.present[1] = 8;
	read_at(store, 0, PAGE);
	assert_string_equal(now.calls, "once;look 0;read;");
	read_at(store, 8 * PAGE, PAGE);
	assert_string_equal(now.calls, "read;");
	read_at(store, WINDOW + PAGE, PAGE);
	assert_string_equal(now.calls, "look 1;read;drop 67108864 8192;");
	/* what was read counts for nothing */
	now.present[1] = 16;
	read_at(store, WINDOW + 5 * MI, 10);
	assert_string_equal(now.calls, "read;drop 71303168 1048586;");
	assert_int_equal(now.looks, 2);
	/* at the end, what readahead brought where it was known to be absent */
	now.calls[0] = '\0';
	assert_ok(store->ops->unchanged(store, &err));
	assert_string_equal(now.calls, "drop 67108864 67108864;");
	image_store_close(store);
}

TEST(more_than_half_of_the_data_has_to_be_there)
{
	for (unsigned present = 7; present <= 9; present++) {
		struct image_store *store = open_store(true);
		now.present[0] = present;
		read_at(store, 0, PAGE);
		assert_int_equal(!strstr(now.calls, "drop"), present == 9);
		image_store_close(store);
	}
}

/* A read that passes the end of a window judges both. */
TEST(each_window_is_judged_on_its_own)
{
	struct image_store *store = open_store(true);

	now.present[0] = 16;
	read_at(store, WINDOW - PAGE, 2 * PAGE);
	assert_string_equal(
		now.calls, "once;look 0;read;look 1;read;drop 67108864 4096;");
	image_store_close(store);
	store = open_store(true);
	now.present[1] = 16;
	read_at(store, WINDOW - PAGE, 2 * PAGE);
	assert_string_equal(now.calls,
		"once;look 0;read;drop 62914560 4194304;look 1;read;");
	image_store_close(store);
}

/* Linux says of every page that it is present. */
TEST(who_may_not_ask_drops_what_it_read)
{
	struct image_store *store = open_store(true);

	now.present[0] = 16;
	now.other_user = true;
	read_at(store, 0, PAGE);
	assert_string_equal(now.calls, "once;read;drop 0 4096;");
	image_store_close(store);
}

TEST(without_the_option_nothing_is_dropped)
{
	struct image_store *store = open_store(false);
	struct image_error err;

	read_at(store, 0, PAGE);
	assert_ok(store->ops->unchanged(store, &err));
	assert_string_equal(now.calls, "read;");
	image_store_close(store);
}

TEST(a_kernel_that_drops_needs_no_help)
{
	struct image_store *store = open_store(true);
	struct image_error err;

	now.dontcache = 0;
	read_at(store, 0, PAGE);
	assert_ok(store->ops->unchanged(store, &err));
	assert_string_equal(now.calls, "once;");
	/* an error of another kind is one */
	now.dontcache = EIO;
	assert_int_equal(image_store_read(store, 0, bytes, 1, &err), -EIO);
	now.dontcache = EINVAL;
	read_at(store, 0, PAGE);
	read_at(store, 0, PAGE);
	assert_string_equal(now.calls, "read;drop 0 4096;");
	image_store_close(store);
}

/* An empty file to be written. */
static struct image_store *
new_store(bool drop)
{
	struct image_store_how how = {.drop_cache = drop};
	struct image_store *store;
	struct image_error err;

	memset(&now, 0, sizeof(now));
	now.dontcache = EOPNOTSUPP;
	int fd = memfd_create("store", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(image_store_use(fd, "new", &how, &store, &err));
	image_file(store)->owns_fd = true;
	return store;
}

TEST(writeback_begins_every_16_mib)
{
	for (int drop = 0; drop < 2; drop++) {
		struct image_store *store = new_store(drop);
		struct image_file *file = image_file(store);
		image_file_wrote(file, 30 * MI, MI);
		for (uint64_t i = 0; i < 14; i++)
			image_file_wrote(file, (20 - i) * MI, MI);
		assert_string_equal(now.calls, "");
		image_file_wrote(file, 6 * MI, MI);
		assert_string_equal(now.calls, "send 6 25;");
		now.calls[0] = '\0';
		image_file_wrote(file, 40 * MI, 15 * MI);
		image_file_wrote(file, 55 * MI, MI);
		assert_string_equal(now.calls,
			drop ? "send 40 16;await 6 25;drop 6291456 26214400;"
			     : "send 40 16;");
		image_store_close(store);
	}
}

TEST(a_flush_drops_what_is_on_disk)
{
	struct image_store *store = new_store(true);
	struct image_error err;

	assert_ok(store->ops->flush(store, &err));
	assert_string_equal(now.calls, "sync;drop 0 0;");
	now.calls[0] = '\0';
	now.fsync_fails = EIO;
	assert_int_equal(store->ops->flush(store, &err), -EIO);
	assert_string_equal(now.calls, "sync;");
	image_store_close(store);
}

TEST(short_calls_and_interrupts_are_no_failures)
{
	unsigned char back[3 * 1000 + 7];
	struct image_store *store = new_store(false);
	struct image_error err;

	for (size_t i = 0; i < sizeof(back); i++)
		bytes[i] = (unsigned char)(i * 7);
	now.most = 1000;
	now.interrupts = 2;
	assert_ok(image_store_write(store, 5, bytes, sizeof(back), &err));
	now.interrupts = 2;
	assert_ok(image_store_read(store, 5, back, sizeof(back), &err));
	assert_memory_equal(bytes, back, sizeof(back));
	/* past the end */
	assert_int_equal(
		image_store_read(store, 6, back, sizeof(back), &err), -EIO);
	assert_non_null(
		strstr(err.text, "at offset 3012: the file was truncated"));
	image_store_close(store);
}

int
main(void)
{
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return support_skip_all("pages", "pages are not of 4 KiB");
	return run_all_tests(NULL, NULL);
}
