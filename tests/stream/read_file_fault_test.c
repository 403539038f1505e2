/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How hone_read_file() handles system calls that fail, return little, are
 * interrupted or report a wrong size. The linker puts the functions below in
 * place of the library's calls.
 */
#include "read_file_support.h"

#define UNTOLD ((int64_t)-1)

/* How the next calls behave, and how often each was made. */
static struct {
	int64_t told;     /* by fstat, instead of the size; UNTOLD: the real
			   * size */
	int fail_at;      /* the call that fails, counted from 1; 0: none */
	int error;        /* how it fails */
	bool interrupted; /* each open and read fails once with EINTR */
	bool again;       /* this one was interrupted already */
	size_t most;      /* bytes that one read returns; 0: as many as it
			   * can */
	uint64_t pretend; /* bytes that reads return without touching memory */
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

DIRECTORY_TEST(without_the_right_to_o_noatime_it_is_left_out)
{
	struct hone_read_attr attr;
	struct hone_file_data file;

	make_file("file", 12);
	hone_read_attr_init(&attr);
	attr.flags = HONE_READ_NOATIME;
	fresh_world();
	world.fail_at = 1;
	world.error = EPERM;
	assert_ok(hone_read_file(&file, "file", &attr));
	assert_int_equal(world.opens, 2);
	free(file.data);
}

static const size_t sizes[] = {0, 1, 12, 4096, 65535, 65536, 200000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

DIRECTORY_TEST(a_regular_file_takes_four_calls)
{
	struct hone_file_data file;

	for (size_t i = 0; i < SIZES; i++) {
		make_file("file", sizes[i]);
		fresh_world();
		assert_ok(hone_read_file(&file, "file", NULL));
		assert_int_equal(world.opens, 1);
		assert_int_equal(world.stats, 1);
		assert_int_equal(world.reads, 1);
		assert_int_equal(world.closes, 1);
		assert_int_equal(world.seeks, 0);
		free(file.data);
	}
}

/* Read sizes[i] bytes under the conditions that the caller has set. */
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
	for (size_t i = 0; i < SIZES; i++) {
		make_file("file", sizes[i]);
		fresh_world();
		world.interrupted = true;
		read_and_check(sizes[i]);
		assert_int_equal(world.opens, 2);
		assert_int_equal(world.reads, 2);
	}
}

DIRECTORY_TEST(short_reads_are_gone_on_with)
{
	for (size_t i = 0; i < SIZES; i++) {
		make_file("file", sizes[i]);
		for (size_t most = 1; most < 70000; most = most * 7 + 1) {
			if (sizes[i] / most > 10000)
				continue;
			fresh_world();
			world.most = most;
			world.interrupted = true;
			read_and_check(sizes[i]);
		}
	}
}

/* A file that grew or shrank after fstat, or one of /proc or /sys. */
DIRECTORY_TEST(a_wrong_size_is_found_out)
{
	static const int64_t told[] = {
		0, 1, 11, 13, 4095, 4097, 65535, 199999, 200001, 3000000};

	for (size_t i = 0; i < SIZES; i++) {
		make_file("file", sizes[i]);
		for (size_t j = 0; j < sizeof(told) / sizeof(told[0]); j++) {
			for (size_t most = 0; most < 10000; most += 4999) {
				fresh_world();
				world.told = told[j];
				world.most = most;
				read_and_check(sizes[i]);
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
	assert_ok(hone_read_file(&file, "file", &attr));
	assert_content(&file, 200000);
	free(file.data);
}

/* Every system call fails once, in turn, until the whole run succeeds. */
DIRECTORY_TEST(an_error_at_any_call_leaves_nothing)
{
	static const int errors[] = {EIO, EPERM, ENOMEM};
	int before = open_descriptors();

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
			assert_int_equal(open_descriptors(), before);
		}
	}
}

/* Every allocation fails once, in turn. */
DIRECTORY_TEST(no_memory_at_any_call_leaves_nothing)
{
	int before = open_descriptors();

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
			assert_int_equal(open_descriptors(), before);
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
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*(size_t *)arg = size;
	return memory == MAP_FAILED ? NULL : memory;
}

/* More bytes than one read returns and than 32 bits count. The reads are
 * simulated, so that no memory is needed. */
DIRECTORY_TEST(sizes_above_4_gib_add_up)
{
	static const uint64_t above[] = {
		0x7fff0000, 0x7ffff000, UINT64_C(5) << 30};

	make_file("file", 1);
	for (size_t i = 0; i < 3; i++) {
		struct hone_file_data file;
		struct hone_read_attr attr;
		size_t mapped = 0;

		hone_read_attr_init(&attr);
		attr.allocate = map_without_memory;
		attr.arg = &mapped;
		fresh_world();
		world.told = (int64_t)above[i];
		world.pretend = above[i] + 1;
		assert_ok(hone_read_file(&file, "file", &attr));
		assert_int_equal(file.size, above[i]);
		assert_int_equal(mapped, above[i] + 1);
		assert_int_equal(((char *)file.data)[file.size], 0);
		/* as few as possible; the last one has to prove the end */
		assert_int_equal(world.reads, 1 + above[i] / 0x7fff0000);
		assert_ok(munmap(file.data, mapped));
	}
}
#endif

int
main(void)
{
	fresh_world();
	return run_all_tests(NULL, NULL);
}
