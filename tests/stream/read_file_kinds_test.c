/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are not plain regular files: /proc and /sys, pipes, FIFOs,
 * devices, sockets, and unreadable files.
 */
#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "read_file_support.h"

/* The content by plain reads of 1000 bytes, for comparison. */
static size_t
read_slowly(const char *path, char *to, size_t most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, to + size,
			most - size < 1000 ? most - size : 1000)) > 0)
		size += (size_t)n;
	assert_int_equal(n, 0);
	close(fd);
	return size;
}

DIRECTORY_TEST(files_of_proc_and_sys_are_read_whole)
{
	static const char *const paths[] = {"/proc/version", "/proc/self/maps",
		"/proc/self/cmdline", "/proc/filesystems", "/proc/kallsyms",
		"/sys/devices/system/cpu/online",
		"/proc/sys/kernel/random/boot_id",
		"/sys/kernel/mm/transparent_hugepage/enabled"};
	static char expected[32 << 20];
	int tried = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct record record;
		struct hone_read_attr attr = recorded(&record);
		struct hone_file_data file, again;
		size_t size;

		if (access(paths[i], R_OK) != 0) {
			print_message("# no %s here\n", paths[i]);
			continue;
		}
		tried++;
		assert_ok(hone_read_file(&file, paths[i], &attr));
		assert_true(file.size > 0);
		assert_int_equal(record.asked, file.size + 1);
		assert_int_equal(((char *)file.data)[file.size], 0);
		/* the memory map changes with each allocation */
		if (strcmp(paths[i], "/proc/self/maps") != 0) {
			size = read_slowly(
				paths[i], expected, sizeof(expected));
			assert_int_equal(file.size, size);
			assert_memory_equal(file.data, expected, size);
			/* The limit counts bytes, not the page that each file
			 * of /sys claims. */
			attr.limit = size;
			assert_ok(hone_read_file(&again, paths[i], &attr));
			assert_int_equal(again.size, size);
			free(again.data);
			attr.limit--;
			assert_int_equal(
				hone_read_file(&again, paths[i], &attr),
				-EFBIG);
		}
		free(file.data);
	}
	assert_true(tried > 0);
}

static void
write_slowly(int fd, size_t size)
{
	for (size_t i = 0; i < size;) {
		unsigned char some[1000];
		size_t n = size - i < 1000 ? size - i : 1000;

		for (size_t j = 0; j < n; j++)
			some[j] = content(i + j);
		if (write(fd, some, n) != (ssize_t)n)
			_exit(1);
		i += n;
	}
}

DIRECTORY_TEST(pipes_are_read_until_they_end)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct record record;
		struct hone_read_attr attr = recorded(&record);
		struct hone_file_data file;
		int ends[2];
		pid_t child;

		assert_ok(pipe(ends));
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			close(ends[0]);
			write_slowly(ends[1], sizes[i]);
			_exit(0);
		}
		close(ends[1]);
		assert_int_equal(hone_read_fd(&file, ends[0], &attr), 0);
		assert_content(&file, sizes[i]);
		assert_int_equal(record.asked, sizes[i] + 1);
		free(file.data);
		close(ends[0]);
		support_exits_with_0(child);
	}
}

DIRECTORY_TEST(a_fifo_is_waited_for)
{
	pid_t child;

	assert_ok(mkfifo("fifo", 0600));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		write_slowly(open("fifo", O_WRONLY | O_CLOEXEC), 100000);
		_exit(0);
	}
	is_read("fifo", NULL, 100000);
	support_exits_with_0(child);
}

DIRECTORY_TEST(a_fifo_is_not_waited_for_if_told_so)
{
	struct hone_file_data file;
	struct hone_read_attr attr = with_flags(HONE_READ_NONBLOCK);
	int writer;

	assert_ok(mkfifo("fifo", 0600));
	is_read("fifo", &attr, 0);
	writer = open("fifo", O_RDWR | O_CLOEXEC);
	assert_true(writer >= 0);
	assert_int_equal(hone_read_file(&file, "fifo", &attr), -EAGAIN);
	close(writer);
}

DIRECTORY_TEST(devices_are_read_to_their_end_or_the_limit)
{
	static const size_t limits[] = {0, 1, 65535, 65536, 1000000};
	struct hone_file_data file;

	is_read("/dev/null", NULL, 0);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct record record;
		struct hone_read_attr attr = recorded(&record);

		attr.limit = limits[i];
		assert_int_equal(
			hone_read_file(&file, "/dev/zero", &attr), -EFBIG);
		assert_int_equal(record.live, 0);
		assert_true(record.asked <= limits[i] + 1);
	}
}

DIRECTORY_TEST(sockets_and_directories_are_refused)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct hone_file_data file;
	int pair[2];

	assert_true(listener >= 0 && directory >= 0);
	memcpy(address.sun_path, "socket", 7);
	assert_ok(bind(
		listener, (const struct sockaddr *)&address, sizeof(address)));
	assert_int_equal(hone_read_file(&file, "socket", NULL), -ENXIO);
	assert_int_equal(hone_read_file(&file, "/", NULL), -EISDIR);
	assert_int_equal(hone_read_fd(&file, directory, NULL), -EISDIR);
	close(directory);
	close(listener);
	/* An open one is like a pipe. */
	assert_ok(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	write_slowly(pair[0], 5000);
	close(pair[0]);
	rest_is_read(pair[1], NULL, 5000);
	close(pair[1]);
}

DIRECTORY_TEST(what_is_not_open_for_reading_says_so)
{
	struct hone_file_data file;
	int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(hone_read_fd(&file, fd, NULL), -EBADF);
	close(fd);
}

/* In a child without privileges: returns 0 if all is as expected. */
static int
as_nobody(const char *path)
{
	struct hone_read_attr attr = with_flags(HONE_READ_NOATIME);
	struct hone_file_data file;

	if (geteuid() == 0 &&
		(setgroups(0, NULL) || setgid(65534) || setuid(65534)))
		return 2;
	if (hone_read_file(&file, "secret", NULL) != -EACCES)
		return 3;
	/* O_NOATIME is for the owner only; the file must still be read. */
	if (hone_read_file(&file, path, &attr) != 0)
		return 4;
	return file.size > 0 ? 0 : 5;
}

DIRECTORY_TEST(permissions_are_kept_to)
{
	bool root = geteuid() == 0;
	pid_t child;

	make_file("file", 12);
	make_file("secret", 12);
	assert_ok(chmod("secret", 0));
	assert_ok(chmod(".", 0755));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) /* root: its own file; other users: root's */
		_exit(as_nobody(root ? "file" : "/etc/passwd"));
	support_exits_with_0(child);
}

#define GROWN ((size_t)512 << 10)

/* A file that another process appends to all the time. */
DIRECTORY_TEST(a_file_that_grows_is_read_up_to_some_moment)
{
	pid_t child;
	int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		write_slowly(fd, GROWN);
		_exit(0);
	}
	close(fd);
	for (size_t last = 0; last < GROWN;) {
		struct hone_file_data file;

		assert_ok(hone_read_file(&file, "file", NULL));
		assert_true(file.size >= last);
		assert_content(&file, file.size);
		last = file.size;
		free(file.data);
	}
	support_exits_with_0(child);
}

/* The advice that hone_read_file() gives the kernel for large results. The
 * linker puts the function below in place of the library's calls. */

#define HUGE ((size_t)2 << 20)

static int advices;
static uintptr_t advised, advised_end;

STANDS_FOR(int, madvise, void *address, size_t size, int advice)
{
	advices++;
	assert_int_equal(advice, MADV_HUGEPAGE);
	advised = (uintptr_t)address;
	advised_end = advised + size;
	errno = EINVAL; /* as kernels without huge pages return */
	return -1;
}

/* How often the kernel gets advice for a file of that size. */
static int
advices_of(size_t size, unsigned flags)
{
	struct hone_read_attr attr = with_flags(flags);
	struct hone_file_data file;

	make_file("file", size);
	advices = 0;
	assert_ok(hone_read_file(&file, "file", &attr));
	assert_content(&file, size);
	if (advices > 0) {
		uintptr_t data = (uintptr_t)file.data;

		/* all whole pages in the memory, and nothing else */
		assert_int_equal(advised % HUGE, 0);
		assert_int_equal(advised_end % HUGE, 0);
		assert_in_range(advised - data, 0, HUGE - 1);
		assert_in_range(data + size + 1 - advised_end, 0, HUGE - 1);
	}
	free(file.data);
	return advices;
}

DIRECTORY_TEST(only_large_results_are_advised_of)
{
	assert_int_equal(advices_of(4096, HONE_READ_HUGE_ADVISE), 0);
	assert_int_equal(advices_of(2 * HUGE - 2, HONE_READ_HUGE_ADVISE), 0);
	assert_int_equal(advices_of(2 * HUGE - 1, HONE_READ_HUGE_ADVISE), 1);
	assert_int_equal(advices_of(5 * HUGE, HONE_READ_HUGE_ADVISE), 1);
}

DIRECTORY_TEST(nothing_is_advised_unasked)
{
	assert_int_equal(advices_of(5 * HUGE, 0), 0);
	assert_int_equal(advices_of(5 * HUGE, HONE_READ_NONBLOCK), 0);
}
