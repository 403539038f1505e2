/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hone_read_into() and its siblings: files as they are, what is not a regular
 * file, wrong sizes, short reads, errors, and more than 2 GiB; and how
 * hone_read_file() handles system calls that fail, return little, are
 * interrupted or report a wrong size. The linker puts the functions below in
 * place of the library's calls.
 */
#include <sys/socket.h>
#include "read_file_support.h"

#define UNTOLD ((int64_t)-1)
#define CAPACITY ((size_t)4096)

/* How the next calls behave, and how often each was made. */
static struct {
	int64_t told;     /* by fstat, instead of the size; UNTOLD: the real
			   * size */
	bool claimed;     /* the size: fstat tells of no blocks */
	int fail_at;      /* the call that fails, counted from 1; 0: none */
	int error;        /* how it fails */
	bool interrupted; /* each open and read fails once with EINTR */
	bool again;       /* this one was interrupted already */
	size_t most;      /* bytes that one read returns; 0: as many as it
			   * can */
	uint64_t pretend; /* bytes that reads return without touching memory */
	char *end;        /* of what the last of these reads returned */
	int calls, opens, stats, reads, closes, seeks;
} world;

static bool
fails(bool can_be_interrupted)
{
	if (can_be_interrupted && world.interrupted && !world.again) {
		world.again = true;
		errno = EINTR;
		return true;
	}
	world.again = false;
	if (++world.calls != world.fail_at)
		return false;
	errno = world.error;
	return true;
}

STANDS_FOR(int, openat64, int dirfd, const char *path, int flags, ...)
{
	world.opens++;
	return fails(true) ? -1 : __real_openat64(dirfd, path, flags);
}

STANDS_FOR(int, fstat64, int fd, struct stat *st)
{
	int result;

	world.stats++;
	if (fails(false))
		return -1;
	result = __real_fstat64(fd, st);
	if (world.told != UNTOLD)
		st->st_size = world.told;
	if (world.claimed)
		st->st_blocks = 0;
	return result;
}

STANDS_FOR(ssize_t, read, int fd, void *buf, size_t n)
{
	world.reads++;
	if (fails(true))
		return -1;
	if (world.most > 0 && n > world.most)
		n = world.most;
	if (world.pretend > 0) {
		/* as Linux: no read returns more than this */
		if (n > 0x7ffff000)
			n = 0x7ffff000;
		if (n > world.pretend - 1)
			n = (size_t)(world.pretend - 1);
		assert_true(!world.end || buf == world.end);
		world.end = (char *)buf + n;
		world.pretend -= n;
		return (ssize_t)n;
	}
	return __real_read(fd, buf, n);
}

STANDS_FOR(int, close, int fd)
{
	world.closes++;
	return __real_close(fd);
}

STANDS_FOR(off_t, lseek64, int fd, off_t offset, int whence)
{
	world.seeks++;
	return fails(false) ? -1 : __real_lseek64(fd, offset, whence);
}

static void
fresh_world(void)
{
	memset(&world, 0, sizeof(world));
	world.told = UNTOLD;
}

static int
open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static unsigned char buffer[CAPACITY + 64];

enum way { INTO, SIZED, SMALL };

/* Reads into a fresh buffer; bytes after `capacity` of them stay as they are.
 * With SIZED the capacity is that of a file with one byte less. */
static int
read_by(enum way way, int fd, size_t capacity, size_t *size)
{
	struct hone_read_result result;

	memset(buffer, 0x5a, sizeof(buffer));
	if (way == INTO)
		result = hone_read_into(fd, buffer, capacity);
	else if (way == SIZED)
		result = hone_read_sized(fd, buffer, capacity - 1);
	else
		result = hone_read_small(fd, buffer, capacity);
	for (size_t i = capacity; i < sizeof(buffer); i++)
		assert_int_equal(buffer[i], 0x5a);
	*size = result.size;
	return result.found;
}

static void
assert_bytes(size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (buffer[i] != content(i))
			fail_msg("byte %zu of %zu", i, size);
}

static const size_t sizes[] = {
	0, 1, 12, 4000, CAPACITY - 1, CAPACITY, CAPACITY + 1, 100000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct expected {
	int found;
	size_t size;
	int stats, reads;
};

/* What is in the buffer is as much as was read, and the position is after it.
 */
static void
a_file_of(size_t file_size, enum way way, size_t capacity,
	struct expected expected)
{
	bool read = expected.found != HONE_READ_LARGER;
	size_t size;
	int fd;

	make_file("file", file_size);
	fd = open_file("file");
	fresh_world();
	assert_int_equal(read_by(way, fd, capacity, &size), expected.found);
	assert_int_equal(size, expected.size);
	assert_bytes(read ? size : 0);
	assert_int_equal(world.stats, expected.stats);
	assert_int_equal(world.reads, expected.reads);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), read ? size : 0);
	close(fd);
}

DIRECTORY_TEST(what_fits_is_whole_and_takes_few_calls)
{
	for (size_t i = 0; i < SIZES && sizes[i] < CAPACITY; i++) {
		size_t size = sizes[i];
		int reads = size == 0 ? 1 : 2; /* a second one shows the end */

		a_file_of(size, INTO, CAPACITY,
			(struct expected){HONE_READ_WHOLE, size, 1, 1});
		a_file_of(size, SIZED, size + 1,
			(struct expected){HONE_READ_WHOLE, size, 0, 1});
		a_file_of(size, SMALL, CAPACITY,
			(struct expected){HONE_READ_WHOLE, size, 0, reads});
	}
}

DIRECTORY_TEST(what_is_larger_is_not_read_or_is_a_part)
{
	for (size_t i = 0; i < SIZES; i++) {
		size_t size = sizes[i];

		a_file_of(size, INTO, 0,
			(struct expected){HONE_READ_LARGER, size, 1, 0});
		if (size < CAPACITY)
			continue;
		a_file_of(size, INTO, CAPACITY,
			(struct expected){HONE_READ_LARGER, size, 1, 0});
		a_file_of(size, SMALL, CAPACITY,
			(struct expected){HONE_READ_PART, CAPACITY, 0, 1});
	}
}

DIRECTORY_TEST(a_file_of_proc_is_a_part_that_can_be_continued)
{
	static unsigned char rest[1 << 16], whole[1 << 16];
	/* It never changes. */
	int fd = open_file("/proc/version"), again;
	size_t size;
	ssize_t more, all;

	fresh_world();
	assert_int_equal(read_by(INTO, fd, 20, &size), HONE_READ_PART);
	assert_int_equal(size, 20);
	more = read(fd, rest, sizeof(rest));
	again = open_file("/proc/version");
	all = read(again, whole, sizeof(whole));
	assert_true(more > 0 && all > 0);
	assert_int_equal(20 + more, all);
	assert_memory_equal(buffer, whole, 20);
	assert_memory_equal(rest, whole + 20, (size_t)more);
	close(fd);
	close(again);
}

DIRECTORY_TEST(what_is_not_regular_is_not_read)
{
	int fds[4], pair[2], ends[2];

	assert_ok(pipe(ends));
	assert_int_equal(write(ends[1], "pipe", 4), 4);
	assert_ok(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	assert_int_equal(write(pair[1], "socket", 6), 6);
	fds[0] = ends[0];
	fds[1] = pair[0];
	fds[2] = open_file("/dev/zero");
	fds[3] = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 4; i++) {
		size_t size = 99;

		fresh_world();
		assert_int_equal(read_by(INTO, fds[i], CAPACITY, &size),
			HONE_READ_NOT_REGULAR);
		assert_int_equal(size, 0);
		assert_int_equal(world.reads, 0);
		close(fds[i]);
	}
	close(ends[1]);
	close(pair[1]);
}

/* Something else took the place of the small file. */
DIRECTORY_TEST(a_pipe_is_read_twice_at_most)
{
	size_t size;
	int ends[2];

	assert_ok(pipe(ends));
	assert_int_equal(write(ends[1], "some", 4), 4);
	fresh_world();
	world.most = 1;
	assert_int_equal(
		read_by(SMALL, ends[0], CAPACITY, &size), HONE_READ_PART);
	assert_int_equal(size, 2);
	assert_memory_equal(buffer, "so", 2);
	assert_int_equal(world.reads, 2);
	close(ends[0]);
	close(ends[1]);
}

/* Reads "file" from its start, as the caller has told the world to be. What was
 * read moves the position. */
static void
is_a_part(enum way way, size_t capacity, size_t expected)
{
	int fd = open_file("file");
	size_t size;

	assert_int_equal(read_by(way, fd, capacity, &size), HONE_READ_PART);
	assert_int_equal(size, expected);
	assert_bytes(size);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), size);
	close(fd);
}

/* The file grew or shrank after fstat(), or is one of /proc or /sys. */
DIRECTORY_TEST(a_wrong_size_is_a_part)
{
	static const int64_t wrong[] = {0, 1, 11, 13, 4000, 4094};

	make_file("file", 12);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fresh_world();
		world.told = wrong[i];
		is_a_part(INTO, CAPACITY, 12);
	}
	fresh_world();
	for (size_t told = 1; told < 12; told++)
		is_a_part(SIZED, told + 1, told + 1);
}

DIRECTORY_TEST(a_read_from_the_middle_is_a_part)
{
	size_t size;
	int fd;

	make_file("file", 100);
	fd = open_file("file");
	assert_int_equal(lseek(fd, 10, SEEK_SET), 10);
	fresh_world();
	assert_int_equal(read_by(INTO, fd, CAPACITY, &size), HONE_READ_PART);
	assert_int_equal(size, 90);
	close(fd);
}

/* A read() that returns less than there is, as on some network filesystems, or
 * that fails after the first one. */
DIRECTORY_TEST(a_short_read_is_a_part)
{
	make_file("file", 100);
	fresh_world();
	world.most = 60;
	is_a_part(INTO, CAPACITY, 60);
	world.reads = 0;
	is_a_part(SMALL, CAPACITY, 100);
	assert_int_equal(world.reads, 2);
	fresh_world();
	world.fail_at = 2;
	world.error = EINTR;
	is_a_part(SMALL, CAPACITY, 100);
}

DIRECTORY_TEST(an_error_before_the_first_byte_is_returned)
{
	static const int errors[] = {EIO, EINTR, EAGAIN};
	size_t size = 99;

	fresh_world();
	assert_int_equal(read_by(INTO, -1, CAPACITY, &size), -EBADF);
	assert_int_equal(size, 0);
	make_file("file", 12);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		int fd = open_file("file");

		for (enum way way = INTO; way <= SMALL; way++) {
			size = 99;
			fresh_world();
			world.error = errors[i];
			world.fail_at = way == INTO ? 2 : 1;
			assert_int_equal(
				read_by(way, fd, CAPACITY, &size), -errors[i]);
			assert_int_equal(size, 0);
			/* An interrupted call is not repeated. */
			assert_int_equal(world.reads, 1);
			assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
		}
		close(fd);
	}
}

#if SIZE_MAX > UINT32_MAX
/* Addresses without memory; skips the test if the system refuses them. */
static void *
map_addresses(size_t size, int protection)
{
	void *data = mmap(NULL, size, protection,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (data == MAP_FAILED) {
		fresh_world();
		print_message("# skipped: no %zu bytes of addresses\n", size);
		skip();
	}
	return data;
}

/* Reads a file of `size` bytes that has `more` or fewer. The reads only
 * pretend, so that no memory is needed. */
static struct hone_read_result
read_huge(enum way way, uint64_t size, int more, int fail_at)
{
	void *data = map_addresses(size + 1, PROT_NONE);
	struct hone_read_result result;
	int fd = open_file("file");

	fresh_world();
	world.told = (int64_t)size;
	world.pretend = size + (uint64_t)more + 1;
	world.fail_at = fail_at;
	world.error = EIO;
	result = way == INTO ? hone_read_into(fd, data, size + 1)
			     : hone_read_sized(fd, data, size);
	munmap(data, size + 1);
	close(fd);
	return result;
}

/* What Linux returns from one read() at most does not prove an end. */
DIRECTORY_TEST(two_gib_take_another_read)
{
	static const struct {
		uint64_t size;
		int reads;
	} cases[] = {{0x7ffeffff, 1}, {0x7fff0000, 2}, {0x7ffff000, 2},
		{0x7ffff001, 2}, {UINT64_C(9) << 30, 5}};

	make_file("file", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (enum way way = INTO; way <= SIZED; way++) {
			uint64_t size = cases[i].size;
			struct hone_read_result result;

			result = read_huge(way, size, 0, 0);
			assert_int_equal(result.found, HONE_READ_WHOLE);
			assert_int_equal(result.size, size);
			assert_int_equal(world.reads, cases[i].reads);
			result = read_huge(way, size, 1, 0);
			assert_int_equal(result.found, HONE_READ_PART);
			assert_int_equal(result.size, size + 1);
			result = read_huge(way, size, -1, 0);
			assert_int_equal(result.found, HONE_READ_PART);
			assert_int_equal(result.size, size - 1);
			if (cases[i].reads == 1)
				continue;
			result = read_huge(way, size, 0, way == INTO ? 3 : 2);
			assert_int_equal(result.found, HONE_READ_PART);
			assert_true(result.size >= 0x7fff0000);
		}
	}
	/* musl's system(), which removes the directory, reads, too. */
	fresh_world();
}

/* Nothing of it is read. */
DIRECTORY_TEST(a_huge_file_is_larger_than_the_memory)
{
	size_t size;
	int fd;

	make_file("file", 1);
	fd = open_file("file");
	fresh_world();
	world.told = INT64_C(5) << 30;
	assert_int_equal(read_by(INTO, fd, CAPACITY, &size), HONE_READ_LARGER);
	assert_int_equal(size, UINT64_C(5) << 30);
	world.told = INT64_MAX;
	assert_int_equal(read_by(INTO, fd, CAPACITY, &size), -EFBIG);
	assert_int_equal(world.reads, 0);
	close(fd);
}
#endif

DIRECTORY_TEST(without_the_right_to_o_noatime_it_is_left_out)
{
	struct hone_read_attr attr = with_flags(HONE_READ_NOATIME);

	make_file("file", 12);
	fresh_world();
	world.fail_at = 1;
	world.error = EPERM;
	is_read("file", &attr, 12);
	assert_int_equal(world.opens, 2);
}

static const size_t lengths[] = {0, 1, 12, 4096, 65535, 65536, 200000};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

DIRECTORY_TEST(a_regular_file_takes_four_calls)
{
	for (size_t i = 0; i < LENGTHS; i++) {
		make_file("file", lengths[i]);
		fresh_world();
		is_read("file", NULL, lengths[i]);
		assert_int_equal(world.opens, 1);
		assert_int_equal(world.stats, 1);
		assert_int_equal(world.reads, 1);
		assert_int_equal(world.closes, 1);
		assert_int_equal(world.seeks, 0);
	}
}

/* Read lengths[i] bytes under the conditions that the caller has set. */
static void
read_and_check(size_t size)
{
	struct record record;
	struct hone_read_attr attr = recorded(&record);
	struct hone_file_data file;

	assert_ok(hone_read_file(&file, "file", &attr));
	assert_content(&file, size);
	assert_int_equal(record.asked, size + 1);
	assert_int_equal(record.live, 1);
	free(file.data);
}

DIRECTORY_TEST(interrupted_calls_are_made_again)
{
	for (size_t i = 0; i < LENGTHS; i++) {
		make_file("file", lengths[i]);
		fresh_world();
		world.interrupted = true;
		read_and_check(lengths[i]);
		assert_int_equal(world.opens, 2);
		assert_int_equal(world.reads, 2);
	}
}

DIRECTORY_TEST(short_reads_are_gone_on_with)
{
	for (size_t i = 0; i < LENGTHS; i++) {
		make_file("file", lengths[i]);
		for (size_t most = 1; most < 70000; most = most * 7 + 1) {
			if (lengths[i] / most > 10000)
				continue;
			fresh_world();
			world.most = most;
			world.interrupted = true;
			read_and_check(lengths[i]);
		}
	}
}

/* A file that grew or shrank after fstat, or one of /proc or /sys. */
DIRECTORY_TEST(a_wrong_size_is_found_out)
{
	static const int64_t told[] = {
		0, 1, 11, 13, 4095, 4097, 65535, 199999, 200001, 3000000};

	for (size_t i = 0; i < LENGTHS; i++) {
		make_file("file", lengths[i]);
		for (size_t j = 0; j < sizeof(told) / sizeof(told[0]); j++) {
			for (size_t most = 0; most < 10000; most += 4999) {
				fresh_world();
				world.told = told[j];
				world.most = most;
				read_and_check(lengths[i]);
			}
		}
	}
}

DIRECTORY_TEST(what_grew_above_the_limit_is_refused)
{
	struct record record;
	struct hone_read_attr attr = recorded(&record);
	struct hone_file_data file;

	make_file("file", 200000);
	for (attr.limit = 0; attr.limit < 199999; attr.limit += 19999) {
		for (int64_t told = 0; told <= (int64_t)attr.limit;
			told += 4999) {
			fresh_world();
			world.told = told;
			assert_int_equal(
				hone_read_file(&file, "file", &attr), -EFBIG);
			assert_int_equal(record.live, 0);
			assert_true(record.asked <= attr.limit + 1);
		}
	}
	fresh_world();
	attr.limit = 200000;
	world.told = 0;
	is_read("file", &attr, 200000);
}

/* The limit counts the bytes of a file, not the size that the file claims: in
 * /sys every file claims a page. A sparse file of more has its size. */
DIRECTORY_TEST(a_page_that_is_claimed_does_not_exceed_the_limit)
{
	struct record record;
	struct hone_read_attr attr = recorded(&record);
	struct hone_file_data file;

	make_file("file", 23);
	fresh_world();
	world.claimed = true;
	for (int i = 0; i < 2; i++) {
		world.told = i == 0 ? 4096 : 65536;
		for (attr.limit = 0; attr.limit < 23; attr.limit++)
			assert_int_equal(
				hone_read_file(&file, "file", &attr), -EFBIG);
		is_read("file", &attr, 23);
	}
	world.told = 65537;
	world.reads = 0;
	assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
	assert_int_equal(world.reads, 0);
}

/* Every system call fails once, in turn, until the whole run succeeds. */
DIRECTORY_TEST(an_error_at_any_call_leaves_nothing)
{
	static const int errors[] = {EIO, EPERM, ENOMEM};

	make_file("file", 200000);
	for (size_t i = 0; i < 3; i++) {
		int result = -1;

		for (int at = 1; result != 0; at++) {
			struct record record;
			struct hone_read_attr attr = recorded(&record);
			struct hone_file_data file, was;

			memset(&file, 0x5a, sizeof(file));
			was = file;
			fresh_world();
			world.told = 100;
			world.most = 30000;
			world.fail_at = at;
			world.error = errors[i];
			result = hone_read_file(&file, "file", &attr);
			if (result == 0) {
				assert_true(at > 9);
				assert_content(&file, 200000);
				free(file.data);
				break;
			}
			assert_int_equal(result, -errors[i]);
			assert_memory_equal(&file, &was, sizeof(file));
			assert_int_equal(record.live, 0);
		}
	}
}

/* Every allocation fails once, in turn. */
DIRECTORY_TEST(no_memory_at_any_call_leaves_nothing)
{

	make_file("file", 200000);
	for (int told = 0; told <= 300000; told += 100000) {
		int at = 1;

		for (;; at++) {
			struct record record;
			struct hone_read_attr attr = recorded(&record);
			struct hone_file_data file;
			int result;

			fresh_world();
			world.told = told;
			record.fail_at = at;
			result = hone_read_file(&file, "file", &attr);
			if (result == 0) {
				/* also if only the cut to size failed */
				assert_content(&file, 200000);
				assert_int_equal(record.live, 1);
				free(file.data);
				if (record.calls < at)
					break;
				continue;
			}
			assert_int_equal(result, -ENOMEM);
			assert_int_equal(record.live, 0);
		}
		assert_true(at > (told == 200000 ? 1 : 2));
	}
}

DIRECTORY_TEST(a_descriptor_without_position_is_read_all_the_same)
{
	struct hone_file_data file;
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	make_file("file", 5000);
	fresh_world();
	world.fail_at = 2; /* after fstat */
	world.error = ESPIPE;
	assert_int_equal(hone_read_fd(&file, fd, NULL), 0);
	assert_int_equal(world.seeks, 1);
	assert_content(&file, 5000);
	free(file.data);
	fresh_world();
	world.fail_at = 1;
	world.error = EIO;
	assert_int_equal(hone_read_fd(&file, fd, NULL), -EIO);
	fresh_world();
	close(fd);
}

#if SIZE_MAX > UINT32_MAX
static void *
map_without_memory(size_t size, void *arg)
{
	*(size_t *)arg = size;
	return map_addresses(size, PROT_READ | PROT_WRITE);
}

/* More bytes than one read returns and than 32 bits count. The reads are
 * simulated, so that no memory is needed. */
DIRECTORY_TEST(sizes_above_4_gib_add_up)
{
	static const uint64_t above[] = {
		0x7fff0000, 0x7ffff000, UINT64_C(9) << 30};
	size_t most = above[2] + 1;

	/* Skipped before a file is open, if at all. */
	munmap(map_addresses(most, PROT_READ | PROT_WRITE), most);
	make_file("file", 1);
	for (size_t i = 0; i < 6; i++) {
		uint64_t size = above[i / 2];
		struct hone_file_data file;
		struct hone_read_attr attr;
		size_t mapped = 0;
		int fd = open_file("file");

		hone_read_attr_init(&attr);
		attr.allocate = map_without_memory;
		attr.arg = &mapped;
		fresh_world();
		world.told = (int64_t)size;
		world.pretend = size + 1;
		assert_ok(i % 2 ? hone_read_fd(&file, fd, &attr)
				: hone_read_file(&file, "file", &attr));
		assert_int_equal(file.size, size);
		assert_int_equal(mapped, size + 1);
		assert_int_equal(((char *)file.data)[file.size], 0);
		/* as few as possible; the last one has to prove the end */
		assert_int_equal(world.reads, 1 + size / 0x7fff0000);
		assert_ok(munmap(file.data, mapped));
		close(fd);
	}
	/* A static libc reads in posix_spawn(), which the end of the test
	 * calls. */
	fresh_world();
}
#endif

int
main(void)
{
	fresh_world();
	return run_all_tests(NULL, NULL);
}
