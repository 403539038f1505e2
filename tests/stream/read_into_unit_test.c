/* SPDX-License-Identifier: BSD-3-Clause */
/* hone_read_into() and its siblings: files as they are, and what is not a
 * regular file. */
#include <sys/socket.h>
#include "read_into_support.h"

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

DIRECTORY_TEST(a_file_that_fits_takes_fstat_and_read)
{
	for (size_t i = 0; i < SIZES && sizes[i] < CAPACITY; i++)
		a_file_of(sizes[i], INTO, CAPACITY,
			(struct expected){HONE_READ_WHOLE, sizes[i], 1, 1});
}

DIRECTORY_TEST(a_larger_file_is_not_read)
{
	for (size_t i = 0; i < SIZES; i++)
		if (sizes[i] >= CAPACITY)
			a_file_of(sizes[i], INTO, CAPACITY,
				(struct expected){
					HONE_READ_LARGER, sizes[i], 1, 0});
}

DIRECTORY_TEST(a_known_size_takes_one_read)
{
	for (size_t i = 0; i < SIZES && sizes[i] < CAPACITY; i++)
		a_file_of(sizes[i], SIZED, sizes[i] + 1,
			(struct expected){HONE_READ_WHOLE, sizes[i], 0, 1});
}

DIRECTORY_TEST(no_memory_holds_no_file)
{
	a_file_of(0, INTO, 0, (struct expected){HONE_READ_LARGER, 0, 1, 0});
	a_file_of(5, INTO, 0, (struct expected){HONE_READ_LARGER, 5, 1, 0});
}

/* The first read of an empty file returns nothing. */
DIRECTORY_TEST(a_small_file_takes_a_second_read_and_no_fstat)
{
	for (size_t i = 0; i < SIZES && sizes[i] < CAPACITY; i++)
		a_file_of(sizes[i], SMALL, CAPACITY,
			(struct expected){HONE_READ_WHOLE, sizes[i], 0,
				sizes[i] == 0 ? 1 : 2});
}

DIRECTORY_TEST(a_small_file_that_fills_the_buffer_is_a_part)
{
	for (size_t i = 0; i < SIZES; i++)
		if (sizes[i] >= CAPACITY)
			a_file_of(sizes[i], SMALL, CAPACITY,
				(struct expected){
					HONE_READ_PART, CAPACITY, 0, 1});
}

DIRECTORY_TEST(a_file_of_proc_is_a_part_that_can_be_continued)
{
	static unsigned char rest[1 << 16], whole[1 << 16];
	int fd = open_file("/proc/self/status"), again;
	size_t size;
	ssize_t more, all;

	fresh_world();
	assert_int_equal(read_by(INTO, fd, 100, &size), HONE_READ_PART);
	assert_int_equal(size, 100);
	more = read(fd, rest, sizeof(rest));
	again = open_file("/proc/self/status");
	all = read(again, whole, sizeof(whole));
	assert_true(more > 0 && all > 0);
	/* Numbers in it change, and their width does not. */
	assert_int_equal(100 + more, all);
	assert_memory_equal(buffer, whole, 10);
	close(fd);
	close(again);
}

DIRECTORY_TEST(what_is_not_regular_is_not_read)
{
	int fds[4], pair[2], ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "pipe", 4), 4);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
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

	assert_int_equal(pipe(ends), 0);
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

int
main(void)
{
	fresh_world();
	return run_all_tests(NULL, NULL);
}
