/* SPDX-License-Identifier: BSD-3-Clause */
/* hone_read_into() and its siblings: wrong sizes, short reads, errors, and more
 * than 2 GiB. */
#include <sys/mman.h>
#include "read_into_support.h"

/* The file grew or shrank after fstat(), or is one of /proc or /sys. */
DIRECTORY_TEST(a_wrong_size_is_a_part)
{
	static const int64_t wrong[] = {0, 1, 11, 13, 4000, 4094};

	make_file("file", 12);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int fd = open_file("file");
		size_t size;

		fresh_world();
		world.size = wrong[i];
		assert_int_equal(
			read_by(INTO, fd, CAPACITY, &size), HONE_READ_PART);
		assert_int_equal(size, 12);
		assert_bytes(size);
		/* What was read moves the position. */
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 12);
		close(fd);
	}
	for (size_t told = 1; told < 12; told++) {
		int fd = open_file("file");
		size_t size;

		fresh_world();
		assert_int_equal(
			read_by(SIZED, fd, told + 1, &size), HONE_READ_PART);
		assert_int_equal(size, told + 1);
		assert_bytes(size);
		close(fd);
	}
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

/* A read() that returns less than there is, as on some network filesystems. */
DIRECTORY_TEST(a_short_read_is_a_part)
{
	size_t size;
	int fd;

	make_file("file", 100);
	fd = open_file("file");
	fresh_world();
	world.most = 60;
	assert_int_equal(read_by(INTO, fd, CAPACITY, &size), HONE_READ_PART);
	assert_int_equal(size, 60);
	assert_bytes(size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	fresh_world();
	world.most = 60;
	assert_int_equal(read_by(SMALL, fd, CAPACITY, &size), HONE_READ_PART);
	assert_int_equal(size, 100);
	assert_bytes(size);
	assert_int_equal(world.reads, 2);
	close(fd);
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

DIRECTORY_TEST(an_error_after_the_first_bytes_is_a_part)
{
	size_t size;
	int fd;

	make_file("file", 12);
	fd = open_file("file");
	fresh_world();
	world.fail_at = 2;
	world.error = EINTR;
	assert_int_equal(read_by(SMALL, fd, CAPACITY, &size), HONE_READ_PART);
	assert_int_equal(size, 12);
	assert_bytes(size);
	close(fd);
}

#if SIZE_MAX > UINT32_MAX
/* Reads a file of `size` bytes that has `more` or fewer. The reads only
 * pretend, so that no memory is needed. */
static struct hone_read_result
read_huge(enum way way, uint64_t size, int more, int fail_at)
{
	void *data = mmap(NULL, size + 1, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct hone_read_result result;
	int fd = open_file("file");

	assert_true(data != MAP_FAILED);
	fresh_world();
	world.size = (int64_t)size;
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
		{0x7ffff001, 2}, {UINT64_C(5) << 30, 3}};

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
}

/* Nothing of it is read. */
DIRECTORY_TEST(a_huge_file_is_larger_than_the_memory)
{
	size_t size;
	int fd;

	make_file("file", 1);
	fd = open_file("file");
	fresh_world();
	world.size = INT64_C(5) << 30;
	assert_int_equal(read_by(INTO, fd, CAPACITY, &size), HONE_READ_LARGER);
	assert_int_equal(size, UINT64_C(5) << 30);
	world.size = INT64_MAX;
	assert_int_equal(read_by(INTO, fd, CAPACITY, &size), -EFBIG);
	assert_int_equal(world.reads, 0);
	close(fd);
}
#endif

int
main(void)
{
	fresh_world();
	return run_all_tests(NULL, NULL);
}
