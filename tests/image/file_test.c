/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file as a store: what it returns when its system calls fail, are
 * interrupted or do less than they were asked to; which file it is, whether it
 * has changed, and which of its descriptors is used; that a hole is searched
 * for once and never read; and what it does to the page cache, whose content is
 * made up.
 */
#include <limits.h>
#include <linux/fs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include "fakes.h"
#include "fake_memory.h"
#include "store/file.h"
#include "support.h"

#define PAGE 4096
#define KI ((uint64_t)1 << 10)
#define MI ((uint64_t)1 << 20)
#define WINDOW (64 * MI)

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
	unsigned reads;
	unsigned seeks;
	/* the calls in order, such as "drop 0 4096;" */
	char calls[1024];
	/* pages from the beginning of the data on that are present, for each
	 * window */
	unsigned present[4];
	/* the beginning of what is mapped */
	uint64_t mapped;
	unsigned looks;
	/* errno of calls with RWF_DONTCACHE; 0: they succeed */
	int dontcache;
	/* most bytes of one call; 0: any number */
	size_t most;
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

/* Returns whether a read or a write fails. */
static bool
transfer_fails(enum call call, int fd, size_t length)
{
	now.fd = fd;
	now.length = length;
	if (fails(call))
		return true;
	errno = now.direct_fails;
	*(fd == now.direct_fd ? &now.direct : &now.buffered) = length;
	return fd == now.direct_fd && now.direct_fails;
}

STANDS_FOR(ssize_t, pread64, int fd, void *buf, size_t length, off_t offset)
{
	now.reads++;
	length = now.most && length > now.most ? now.most : length;
	if (transfer_fails(READ, fd, length))
		return -1;
	record("read;");
	return __real_pread64(fd, buf, length, offset);
}

STANDS_FOR(
	ssize_t, pwrite64, int fd, const void *buf, size_t length, off_t offset)
{
	if (now.writes_nothing)
		return 0;
	length = now.most && length > now.most ? now.most : length;
	if (transfer_fails(WRITE, fd, length))
		return -1;
	record("write;");
	return __real_pwrite64(fd, buf, length, offset);
}

STANDS_FOR(off_t, lseek64, int fd, off_t offset, int whence)
{
	now.seeks++;
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
	record("sync;");
	return fails(SYNC) ? -1 : 0;
}

STANDS_FOR(int, sync_file_range, int fd, off_t offset, off_t length,
	unsigned flags)
{
	(void)fd;
	now.sent_from = offset;
	now.sent = length;
	record("%s %ld %ld;", flags == SYNC_FILE_RANGE_WRITE ? "send" : "await",
		(long)(offset / (off_t)MI), (long)(length / (off_t)MI));
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

STANDS_FOR(uid_t, geteuid, void)
{
	return now.other_user ? 12345 : __real_geteuid();
}

/* A call with RWF_DONTCACHE is recorded, and fails if the kernel has none. */
static bool
refuses_once(void)
{
	record("once;");
	errno = now.dontcache;
	return now.dontcache;
}

STANDS_FOR(ssize_t, preadv64v2, int fd, const struct iovec *iov, int n,
	off_t offset, int flags)
{
	(void)n;
	(void)flags;
	return refuses_once() ? -1
			      : __real_pread64(fd, iov->iov_base, iov->iov_len,
					offset);
}

STANDS_FOR(ssize_t, pwritev64v2, int fd, const struct iovec *iov, int n,
	off_t offset, int flags)
{
	(void)n;
	(void)flags;
	return refuses_once() ? -1
			      : __real_pwrite64(fd, iov->iov_base, iov->iov_len,
					offset);
}

static unsigned char bytes[2 << 20] __attribute__((aligned(IMAGE_ALIGN)));
static int fd = -1;
static struct image_store *store;
static struct image_error err;

static int
new_file(void)
{
	int made = memfd_create("file", MFD_CLOEXEC);

	assert_true(made >= 0);
	memset(&now, 0, sizeof(now));
	now.direct_fd = -1;
	return made;
}

FIXTURE(end)
{
	image_store_close(store);
	store = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
	return 0;
}

/* Open the file that was made, in place of the last one. */
static void
begin(int made, struct image_store *(*open)(int fd))
{
	end(NULL);
	fd = made;
	store = open(fd);
}

#define FILE_TEST(name) TEST_WITH(name, NULL, end)

/* Write bytes of 'x' to a file. */
static void
put(int made, size_t length, uint64_t offset)
{
	memset(bytes, 'x', length);
	assert_int_equal(
		__real_pwrite64(made, bytes, length, (off_t)offset), length);
}

/* A file of 9 pages, with data in pages 2, 3 and 6. */
static int
make_extents(void)
{
	int made = new_file();

	assert_ok(__real_ftruncate64(made, 9 * PAGE));
	put(made, PAGE, 6 * PAGE);
	put(made, 2 * PAGE, 2 * PAGE);
	return made;
}

/* A file of 4 pages of data. */
static int
make_data(void)
{
	int made = new_file();

	for (size_t i = 0; i < 4 * PAGE; i++)
		bytes[i] = (unsigned char)(i / 16);
	assert_int_equal(__real_pwrite64(made, bytes, 4 * PAGE, 0), 4 * PAGE);
	return made;
}

/* A file of 64 MiB; the first 64 KiB of each 16 MiB are data. */
static int
make_holes(void)
{
	int made = new_file();

	assert_ok(ftruncate(made, 64 * (off_t)MI));
	for (uint64_t i = 0; i < 4; i++)
		put(made, 64 * KI, i * 16 * MI);
	return made;
}

/* Do what each kind of call is for. */
static int
act(enum call call)
{
	uint64_t length;
	bool hole;

	switch (call) {
	case READ:
		return image_store_read(store, 3 * PAGE, bytes, PAGE, &err);
	case WRITE:
		return image_store_write(store, 3 * PAGE, bytes, PAGE, &err);
	case SEEK:
		return store->ops->extent(
			store, 3 * PAGE, PAGE, &length, &hole, &err);
	case PUNCH:
		return store->ops->zero(store, 3 * PAGE, PAGE, &err);
	case CUT:
		return store->ops->resize(store, 3 * PAGE, &err);
	case CLONE:
		return store->ops->share(
			store, 3 * PAGE, store, 2 * PAGE, PAGE, &err);
	default:
		return store->ops->flush(store, &err);
	}
}

FILE_TEST(interrupted_calls_are_repeated)
{
	for (enum call call = READ; call <= SYNC; call++) {
		begin(make_extents(), use);
		fail_next(call, EINTR, 0);
		if (act(call) != 0 || now.times != 0)
			fail_msg("call %d: %s", (int)call, err.text);
	}
}

FILE_TEST(failures_are_returned_with_their_place)
{
	static const char *const texts[] = {
		"read at offset 12288: ", "written at offset 12288: ",
		"searched for data from offset 12288: ",
		"zeroed at offset 12288: ", "resized to 12288 bytes: ",
		"share blocks at offset 12288: ", "synced to disk: "};

	for (enum call call = READ; call <= SYNC; call++) {
		begin(make_extents(), use);
		fail_next(call, EIO, 0);
		assert_int_equal(act(call), -EIO);
		char *text = strstr(err.text, texts[call]);
		if (!text || !strstr(text, strerror(EIO)))
			fail_msg("call %d: %s", (int)call, err.text);
	}
}

FILE_TEST(a_write_of_nothing_is_a_full_disk)
{
	begin(make_extents(), use);
	now.writes_nothing = true;
	assert_int_equal(act(WRITE), -ENOSPC);
}

static void
expect_extent(
	uint64_t offset, uint64_t limit, uint64_t expected, bool expect_hole)
{
	uint64_t length = 0;
	bool hole = !expect_hole;

	assert_ok(
		image_store_extent(store, offset, limit, &length, &hole, &err));
	if (length != expected || hole != expect_hole)
		fail_msg("%d: %d, %d", (int)offset, (int)length, hole);
}

FILE_TEST(extents_end_where_holes_begin_and_at_the_limit)
{
	begin(make_extents(), open_again);
	expect_extent(0, 9 * PAGE, 2 * PAGE, true);
	expect_extent(100, 9 * PAGE - 100, 2 * PAGE - 100, true);
	expect_extent(0, 2 * PAGE, 2 * PAGE, true);
	expect_extent(0, PAGE, PAGE, true);
	expect_extent(2 * PAGE, 7 * PAGE, 2 * PAGE, false);
	expect_extent(2 * PAGE + 1, 7 * PAGE - 1, 2 * PAGE - 1, false);
	expect_extent(2 * PAGE, PAGE, PAGE, false);
	expect_extent(4 * PAGE, 5 * PAGE, 2 * PAGE, true);
	expect_extent(7 * PAGE, 2 * PAGE, 2 * PAGE, true);
	image_store_close(store);
	/* where no holes are known; of a file that is written nothing is
	 * remembered */
	store = use(fd);
	for (unsigned good = 0; good < 2; good++) {
		static const int codes[] = {EINVAL, EOPNOTSUPP, ENOSYS};
		for (size_t i = 0; i < 3; i++) {
			fail_next(SEEK, codes[i], good);
			expect_extent(2 * PAGE, 7 * PAGE, 7 * PAGE, false);
		}
	}
	/* cut between the two calls */
	fail_next(SEEK, ENXIO, 1);
	expect_extent(2 * PAGE, 7 * PAGE, 7 * PAGE, false);
	fail_next(SEEK, EIO, 1);
	assert_int_equal(act(SEEK), -EIO);
	assert_non_null(
		strstr(err.text, "searched for a hole from offset 12288: "));
	/* punched between the two calls; past the end of any file */
	now.found = 2 * PAGE;
	expect_extent(2 * PAGE, 7 * PAGE, 7 * PAGE, false);
	now.found = INT64_MIN;
	expect_extent(2 * PAGE, 7 * PAGE, 7 * PAGE, false);
}

FILE_TEST(zeros_take_the_place_of_their_range_alone)
{
	unsigned char found[4 * PAGE];
	struct stat st;

	begin(make_extents(), use);
	assert_ok(store->ops->zero(store, 2 * PAGE + 5, 100, &err));
	memset(bytes + 5, 0, 100);
	assert_ok(image_store_read(store, 2 * PAGE, found, 2 * PAGE, &err));
	assert_memory_equal(found, bytes, 2 * PAGE);
	/* the size is that of resize() */
	assert_ok(store->ops->zero(store, 8 * PAGE, 9 * PAGE, &err));
	assert_ok(fstat(fd, &st));
	assert_int_equal(st.st_size, 9 * PAGE);
	assert_ok(store->ops->resize(store, PAGE + 1, &err));
	assert_ok(fstat(fd, &st));
	assert_int_equal(st.st_size, PAGE + 1);
}

FILE_TEST(what_cannot_be_shared_is_no_failure)
{
	/* four that say that nothing is shared, and failures */
	static const int codes[] = {
		EXDEV, EINVAL, EOPNOTSUPP, ETXTBSY, EDQUOT, ENOSPC, EIO};
	int other = make_extents();
	struct image_store *from = open_again(other), *memory;

	begin(make_extents(), use);
	assert_ok(
		store->ops->share(store, PAGE, from, 2 * PAGE, 3 * PAGE, &err));
	assert_int_equal(now.fd, fd);
	assert_int_equal(now.range.src_fd, image_file(from)->fd);
	assert_int_equal(now.range.src_offset, 2 * PAGE);
	assert_int_equal(now.range.src_length, 3 * PAGE);
	assert_int_equal(now.range.dest_offset, PAGE);
	for (size_t i = 0; i < 7; i++) {
		fail_next(CLONE, codes[i], 0);
		assert_int_equal(act(CLONE), i < 4 ? -EOPNOTSUPP : -codes[i]);
	}
	/* neither memory nor a device has blocks to share */
	now.fd = -1;
	assert_ok(memory_store_open(bytes, PAGE, "memory", &memory, &err));
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
	close(other);
}

/* Read and write, and expect that many bytes of each descriptor. */
static void
expect_bytes(uint64_t offset, size_t shift, size_t length, size_t direct,
	size_t buffered)
{
	static unsigned char buf[4 * PAGE + 8]
		__attribute__((aligned(IMAGE_ALIGN)));

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

FILE_TEST(what_is_aligned_is_direct)
{
	begin(make_data(), use);
	now.direct_fd = image_file(store)->direct_fd = dup(fd);
	expect_bytes(PAGE, 0, 2 * PAGE, 2 * PAGE, 0);
	expect_bytes(PAGE, 0, 2 * PAGE + 5, 2 * PAGE, 5);
	expect_bytes(PAGE, 0, 5, 0, 5);
	expect_bytes(PAGE + 512, 0, PAGE, 0, PAGE);
	expect_bytes(PAGE, 8, PAGE, 0, PAGE);
	/* a file system that refuses after all */
	now.direct_fails = EINVAL;
	expect_bytes(PAGE, 0, 2 * PAGE, 2 * PAGE, 2 * PAGE);
	now.direct_fails = EIO;
	now.buffered = 0;
	assert_int_equal(image_store_read(store, 0, bytes, PAGE, &err), -EIO);
	assert_int_equal(image_store_write(store, 0, bytes, PAGE, &err), -EIO);
	assert_int_equal(now.buffered, 0);
	end(NULL);
	assert_int_equal(fcntl(now.direct_fd, F_GETFD), -1);
}

/* Counted from the bytes of each call. */
FILE_TEST(writes_are_sent_to_the_disk)
{
	begin(make_data(), use);
	struct image_file *file = image_file(store);
	file->unsent = ((uint64_t)16 << 20) - 2 * PAGE;
	file->written.begin = 2 * PAGE;
	file->written.end = 3 * PAGE;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(now.sent, 0);
		assert_ok(image_store_write(
			store, (i + 4) * PAGE, bytes, PAGE, &err));
	}
	assert_int_equal(now.sent_from, 2 * PAGE);
	assert_int_equal(now.sent, 4 * PAGE);
}

/* 0 to 3: what is done to the file after it was opened. */
static void
change(int how)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;

	assert_ok(__real_fstat64(fd, &st));
	times[1] = st.st_mtim;
	times[1].tv_sec += how == 2;
	times[1].tv_nsec += how == 3 ? (st.st_mtim.tv_nsec ? -1 : 1) : 0;
	assert_ok(ftruncate(fd, 4 * PAGE + (how == 1) - 2 * !how));
	assert_ok(futimens(fd, times));
}

FILE_TEST(a_change_is_found_by_size_and_by_time)
{
	for (int how = 0; how < 4; how++) {
		begin(make_data(), open_again);
		assert_ok(store->ops->unchanged(store, &err));
		change(how);
		assert_int_equal(store->ops->unchanged(store, &err), -EIO);
		assert_non_null(strstr(err.text, "changed while it was read"));
		assert_int_equal(!strstr(err.text, "16384 to"), how >= 2);
	}
}

FILE_TEST(the_time_of_a_device_tells_nothing)
{
	struct image_usage usage;
	int made = make_data();

	now.device = makedev(7, 1);
	begin(made, open_again);
	assert_int_equal(store->size, 4 * PAGE);
	change(2);
	assert_ok(store->ops->unchanged(store, &err));
	assert_ok(store->ops->usage(store, &usage, &err));
	assert_int_equal(usage.file_size, 4 * PAGE);
	assert_int_equal(usage.disk_usage, 4 * PAGE);
	change(1);
	assert_int_equal(store->ops->unchanged(store, &err), -EIO);
}

FILE_TEST(one_file_is_known_by_any_descriptor)
{
	struct image_store *memory;
	int other = make_data();

	begin(make_data(), open_again);
	struct image_store *a = open_again(fd), *b = open_again(fd);
	struct image_store *c = open_again(other);
	assert_ok(memory_store_open(bytes, PAGE, "memory", &memory, &err));
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
}

FILE_TEST(descriptors_are_closed_by_who_opened_them)
{
	begin(make_data(), use);
	image_store_close(store);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	store = open_again(fd);
	int opened = image_file(store)->fd;
	assert_int_equal(fcntl(opened, F_GETFD), FD_CLOEXEC);
	image_store_close(store);
	store = NULL;
	assert_int_equal(fcntl(opened, F_GETFD), -1);
	image_store_close(NULL);
}

FILE_TEST(disk_usage_leaves_holes_out)
{
	struct image_usage usage;

	begin(make_data(), use);
	assert_ok(ftruncate(fd, 100 * PAGE + 1));
	assert_ok(store->ops->usage(store, &usage, &err));
	assert_int_equal(usage.file_size, 100 * PAGE + 1);
	assert_int_equal(usage.disk_usage, 4 * PAGE);
}

FILE_TEST(no_store_is_used_past_its_end)
{
	struct image_store *memory;
	unsigned char found[16] = {0};

	begin(make_data(), use);
	assert_int_equal(
		image_store_write(store, INT64_MAX - 15, bytes, 16, &err),
		-EFBIG);
	assert_non_null(strstr(err.text, "past the largest file size"));
	assert_ok(memory_store_open(bytes, PAGE, "memory", &memory, &err));
	assert_ok(image_store_read(memory, PAGE - 16, found, 16, &err));
	assert_memory_equal(found, bytes + PAGE - 16, 16);
	assert_int_equal(
		image_store_read(memory, PAGE - 15, found, 16, &err), -EIO);
	assert_int_equal(
		image_store_read(memory, PAGE + 1, found, 1, &err), -EIO);
	/* nothing can be read anywhere */
	assert_ok(image_store_read(memory, PAGE + 1, found, 0, &err));
	image_store_close(memory);
}

static struct image_store *
opened(int made)
{
	struct image_store *file = open_again(made);

	/* the first reads are made */
	image_file(file)->unasked = 512 * KI;
	now.reads = now.seeks = now.times = 0;
	return file;
}

/* Read, and compare with what make_holes() has written. */
static void
read_at(uint64_t offset, size_t length)
{
	memset(bytes, '?', length);
	assert_ok(image_store_read(store, offset, bytes, length, &err));
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

FILE_TEST(a_hole_is_searched_for_once_and_never_read)
{
	begin(make_holes(), opened);
	read_at(MI, 512);
	expect_calls(0, 1);
	for (unsigned i = 0; i < 100; i++)
		read_at(2 * MI + i * 100 * KI, 10 * KI);
	expect_calls(0, 0);
	/* to the last byte */
	read_at(16 * MI - 512, 512);
	expect_calls(0, 0);
	read_at(64 * MI - 512, 512);
	read_at(64 * MI - 1, 1);
	expect_calls(0, 1);
}

FILE_TEST(data_is_searched_for_once)
{
	begin(make_holes(), opened);
	for (unsigned i = 0; i < 16; i++)
		read_at(i * 4 * KI, 4 * KI);
	expect_calls(16, 2);
	/* by turns at several places, as threads do */
	for (unsigned i = 0; i < 64; i++)
		read_at(i % 4 * 16 * MI + i / 4 * KI, KI);
	expect_calls(64, 6);
}

FILE_TEST(a_read_is_divided_where_a_long_hole_begins)
{
	begin(make_holes(), opened);
	read_at(32 * KI, 2 * MI - 1);
	assert_int_equal(now.length, 32 * KI);
	expect_calls(1, 3);
	/* of a short one the zeros are read */
	read_at(32 * KI, 64 * KI);
	assert_int_equal(now.length, 64 * KI);
	expect_calls(1, 0);
	/* zeros, then data */
	read_at(15 * MI, MI + 512);
	assert_int_equal(now.length, 512);
	expect_calls(1, 2);
}

FILE_TEST(reads_from_the_last_to_the_first_are_bounded)
{
	begin(make_holes(), opened);
	for (uint64_t at = 64 * MI; at > 48 * MI + 64 * KI; at -= 4 * KI)
		read_at(at - 4 * KI, 4 * KI);
	assert_int_equal(now.reads, 0);
	/* halves of 64 MiB, down to a page */
	assert_in_range(now.seeks, 2, 30);
}

FILE_TEST(a_file_without_holes_is_not_searched)
{
	int made = new_file();

	put(made, 64 * KI, 0);
	begin(made, opened);
	for (unsigned i = 0; i < 16; i++)
		read_at(i * 4 * KI, 4 * KI);
	expect_calls(16, 0);
}

/* Short holes between the tables of an image are not worth a call. */
FILE_TEST(the_first_reads_search_for_nothing)
{
	begin(make_holes(), opened);
	image_file(store)->unasked = 0;
	read_at(MI, 256 * KI);
	for (unsigned i = 0; i < 16; i++)
		read_at(2 * MI, 512);
	expect_calls(17, 0);
	read_at(3 * MI, 512);
	expect_calls(0, 1);
	/* a hole that is known is not read at all */
	image_file(store)->unasked = 0;
	read_at(4 * MI, 512);
	expect_extent(20 * MI, MI, MI, true);
	read_at(20 * MI, MI);
	expect_calls(0, 1);
}

FILE_TEST(where_no_search_works_all_is_read)
{
	static const int codes[] = {EINVAL, EOPNOTSUPP, ENOSYS};

	for (size_t i = 0; i < 3; i++) {
		begin(make_holes(), opened);
		fail_next(SEEK, codes[i], 0);
		now.times = UINT_MAX;
		read_at(0, 64 * KI);
		read_at(2 * MI, 4 * KI);
		read_at(40 * MI, 4 * KI);
		/* asked once */
		expect_calls(3, 1);
		/* a read reports its own failures alone */
		image_store_close(store);
		store = opened(fd);
		fail_next(SEEK, EIO, 0);
		now.times = UINT_MAX;
		read_at(2 * MI, 4 * KI);
		expect_calls(1, 1);
	}
}

FILE_TEST(what_was_cut_is_no_hole)
{
	begin(make_holes(), opened);
	assert_ok(ftruncate(fd, 40 * (off_t)MI));
	assert_int_equal(
		image_store_read(store, 50 * MI, bytes, 512, &err), -EIO);
	assert_non_null(strstr(err.text, "truncated while it was read"));
}

FILE_TEST(a_change_of_a_hole_is_reported)
{
	static const struct timespec other[2] = {{.tv_sec = 7}, {.tv_sec = 9}};

	begin(make_holes(), opened);
	read_at(2 * MI, 512);
	assert_ok(image_store_unchanged(store, &err));
	assert_int_equal(pwrite(fd, "new", 3, 2 * (off_t)MI), 3);
	assert_ok(futimens(fd, other));
	/* the hole that was found stays one */
	read_at(2 * MI, 512);
	assert_int_equal(image_store_unchanged(store, &err), -EIO);
}

FILE_TEST(a_file_that_is_written_is_read_anew)
{
	begin(make_holes(), use);
	now.reads = now.seeks = 0;
	for (unsigned i = 0; i < 2; i++)
		expect_extent(2 * MI, KI, KI, true);
	expect_calls(0, 2);
	assert_ok(image_store_write(store, 2 * MI, "new", 3, &err));
	assert_ok(image_store_read(store, 2 * MI, bytes, 3, &err));
	assert_memory_equal(bytes, "new", 3);
	expect_extent(2 * MI, KI, KI, false);
	/* behind the size at open */
	assert_ok(image_store_write(store, 70 * MI, "new", 3, &err));
	expect_extent(69 * MI, 2 * MI, MI, true);
}

/* Three windows: 16 pages of data in each of the first two, and a hole. */
static int
make_windows(void)
{
	int made = new_file();

	assert_ok(ftruncate(made, 3 * (off_t)WINDOW));
	for (uint64_t i = 0; i < 2; i++)
		put(made, 16 * PAGE, i * WINDOW);
	return made;
}

static const struct image_store_how dropping = {.drop_cache = true};

static struct image_store *
open_dropping(int made)
{
	struct image_store *file;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", made);
	assert_ok(image_store_open(path, NULL, &dropping, &file, &err));
	image_file(file)->sparse = false;
	now.calls[0] = '\0';
	now.dontcache = EOPNOTSUPP;
	return file;
}

static struct image_store *
use_dropping(int made)
{
	struct image_store *file;

	assert_ok(image_store_use(made, "new", &dropping, &file, &err));
	now.dontcache = EOPNOTSUPP;
	return file;
}

/* Read, and record the calls. */
static void
record_read(uint64_t offset, size_t length)
{
	now.calls[0] = '\0';
	assert_ok(image_store_read(store, offset, bytes, length, &err));
}

/* Other programs use them. */
FILE_TEST(pages_that_were_there_stay)
{
	begin(make_windows(), open_dropping);

	/* all data of the first window, which is most of it a hole */
	now.present[0] = 16;
	now.present[1] = 8;
	record_read(0, PAGE);
	assert_string_equal(now.calls, "once;look 0;read;");
	record_read(8 * PAGE, PAGE);
	assert_string_equal(now.calls, "read;");
	record_read(WINDOW + PAGE, PAGE);
	assert_string_equal(now.calls, "look 1;read;drop 67108864 8192;");
	/* what was read counts for nothing */
	now.present[1] = 16;
	record_read(WINDOW + 5 * MI, 10);
	assert_string_equal(now.calls, "read;drop 71303168 1048586;");
	assert_int_equal(now.looks, 2);
	/* at the end, what readahead brought where it was known to be absent */
	now.calls[0] = '\0';
	assert_ok(store->ops->unchanged(store, &err));
	assert_string_equal(now.calls, "drop 67108864 67108864;");
}

FILE_TEST(more_than_half_of_the_data_has_to_be_there)
{
	for (unsigned present = 7; present <= 9; present++) {
		begin(make_windows(), open_dropping);
		now.present[0] = present;
		record_read(0, PAGE);
		assert_int_equal(!strstr(now.calls, "drop"), present == 9);
	}
}

/* A read that passes the end of a window judges both. */
FILE_TEST(each_window_is_judged_on_its_own)
{
	begin(make_windows(), open_dropping);

	now.present[0] = 16;
	record_read(WINDOW - PAGE, 2 * PAGE);
	assert_string_equal(
		now.calls, "once;look 0;read;look 1;read;drop 67108864 4096;");
	begin(make_windows(), open_dropping);
	now.present[1] = 16;
	record_read(WINDOW - PAGE, 2 * PAGE);
	assert_string_equal(now.calls,
		"once;look 0;read;drop 62914560 4194304;look 1;read;");
}

/* Linux says of every page that it is present. */
FILE_TEST(who_may_not_ask_drops_what_it_read)
{
	begin(make_windows(), open_dropping);

	now.present[0] = 16;
	now.other_user = true;
	record_read(0, PAGE);
	assert_string_equal(now.calls, "once;read;drop 0 4096;");
	/* what others may use stays */
	now.calls[0] = '\0';
	assert_ok(store->ops->unchanged(store, &err));
	assert_string_equal(now.calls, "");
}

FILE_TEST(without_the_option_nothing_is_dropped)
{
	begin(make_windows(), open_again);

	record_read(0, PAGE);
	assert_ok(store->ops->unchanged(store, &err));
	assert_string_equal(now.calls, "read;");
}

FILE_TEST(a_kernel_that_drops_needs_no_help)
{
	begin(make_windows(), open_dropping);

	now.dontcache = 0;
	record_read(0, PAGE);
	assert_ok(store->ops->unchanged(store, &err));
	assert_string_equal(now.calls, "once;");
	/* an error of another kind is one */
	now.dontcache = EIO;
	assert_int_equal(image_store_read(store, 0, bytes, 1, &err), -EIO);
	now.dontcache = EINVAL;
	record_read(0, PAGE);
	record_read(0, PAGE);
	assert_string_equal(now.calls, "read;drop 0 4096;");
}

FILE_TEST(writeback_begins_every_16_mib)
{
	for (int drop = 0; drop < 2; drop++) {
		begin(new_file(), drop ? use_dropping : use);
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
	}
}

FILE_TEST(a_flush_drops_what_is_on_disk)
{
	begin(new_file(), use_dropping);

	assert_ok(store->ops->flush(store, &err));
	assert_string_equal(now.calls, "sync;drop 0 0;");
	now.calls[0] = '\0';
	fail_next(SYNC, EIO, 0);
	assert_int_equal(store->ops->flush(store, &err), -EIO);
	assert_string_equal(now.calls, "sync;");
}

FILE_TEST(short_calls_and_interrupts_are_no_failures)
{
	unsigned char back[3 * 1000 + 7];
	begin(new_file(), use);

	for (size_t i = 0; i < sizeof(back); i++)
		bytes[i] = (unsigned char)(i * 7);
	now.most = 1000;
	fail_next(WRITE, EINTR, 0);
	assert_ok(image_store_write(store, 5, bytes, sizeof(back), &err));
	fail_next(READ, EINTR, 0);
	assert_ok(image_store_read(store, 5, back, sizeof(back), &err));
	assert_memory_equal(bytes, back, sizeof(back));
	/* past the end */
	assert_int_equal(
		image_store_read(store, 6, back, sizeof(back), &err), -EIO);
	assert_non_null(
		strstr(err.text, "at offset 3012: the file was truncated"));
}

int
main(void)
{
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return support_skip_all("pages", "pages are not of 4 KiB");
	return run_all_tests(NULL, NULL);
}
