/* SPDX-License-Identifier: BSD-3-Clause */
/* Regular files as they are: contents, memory, limits, flags, errors. */
#include "read_file_support.h"

static const size_t sizes[] = {0, 1, 12, 4095, 4096, 4097, 65534, 65535, 65536,
	65537, 700000, (size_t)10 << 20};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void
every_size_is_read_whole(unsigned flags)
{
	for (size_t i = 0; i < SIZES; i++) {
		struct record record;
		struct hone_read_attr attr = recorded(&record);
		struct hone_file_data file, before;

		make_file("file", sizes[i]);
		attr.flags = flags;
		attr.limit = sizes[i];
		assert_ok(hone_read_file(&file, "file", &attr));
		assert_content(&file, sizes[i]);
		assert_int_equal(record.asked, sizes[i] + 1);
		assert_int_equal(record.calls, 1);
		free(file.data);
		if (sizes[i] == 0)
			continue;
		record.calls = record.live = 0;
		attr.limit--;
		memset(&file, 0x5a, sizeof(file));
		before = file;
		assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
		assert_memory_equal(&file, &before, sizeof(file));
		assert_int_equal(record.calls, 0);
	}
	/* without a limit, too, no more is kept than the byte behind the end */
	struct record record;
	struct hone_read_attr attr = recorded(&record);
	struct hone_file_data file;
	make_file("file", 0);
	attr.flags = flags;
	attr.limit = SIZE_MAX;
	assert_ok(hone_read_file(&file, "file", &attr));
	assert_int_equal(record.asked, 1);
	free(file.data);
}

DIRECTORY_TEST(memory_is_asked_for_once_and_has_the_size_up_to_the_limit)
{
	every_size_is_read_whole(0);
}

DIRECTORY_TEST(huge_pages_do_not_change_the_answer)
{
	every_size_is_read_whole(HONE_READ_HUGE_ADVISE);
}

/* More than 4 GiB in size: nothing of it is allocated or read. */
DIRECTORY_TEST(a_huge_file_is_refused_by_its_size)
{
	struct record record;
	struct hone_read_attr attr = recorded(&record);
	struct hone_file_data file;
	int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_ok(ftruncate(fd, (off_t)5 << 30));
	close(fd);
	attr.limit = UINT32_MAX;
	assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
	assert_int_equal(record.calls, 0);
	/* 5 GiB must not be mistaken for 1 GiB either. */
	attr.limit = (size_t)2 << 30;
	assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
	assert_int_equal(record.calls, 0);
}

DIRECTORY_TEST(what_cannot_be_opened_says_why)
{
	struct hone_file_data file, before;
	struct hone_read_attr attr = with_flags(0);
	char long_path[5000];

	memset(&file, 0x5a, sizeof(file));
	before = file;
	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = 0;
	make_file("file", 1);
	assert_int_equal(hone_read_file(&file, "missing", NULL), -ENOENT);
	assert_int_equal(hone_read_file(&file, "", NULL), -ENOENT);
	assert_int_equal(hone_read_file(&file, "file/x", NULL), -ENOTDIR);
	assert_int_equal(hone_read_file(&file, long_path, NULL), -ENAMETOOLONG);
	assert_int_equal(hone_read_file(&file, ".", NULL), -EISDIR);
	assert_int_equal(hone_read_fd(&file, -1, NULL), -EBADF);
	attr.dirfd = 1000000;
	assert_int_equal(hone_read_file(&file, "file", &attr), -EBADF);
	attr.dirfd = AT_FDCWD;
	attr.flags = 1u << 31;
	assert_int_equal(hone_read_file(&file, "file", &attr), -EINVAL);
	assert_memory_equal(&file, &before, sizeof(file));
}

DIRECTORY_TEST(paths_begin_at_the_directory)
{
	struct hone_file_data file;
	struct hone_read_attr attr = with_flags(0);

	assert_ok(mkdir("below", 0700));
	make_file("below/file", 12);
	attr.dirfd = open("below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(attr.dirfd >= 0);
	assert_int_equal(hone_read_file(&file, "below/file", &attr), -ENOENT);
	is_read("file", &attr, 12);
	close(attr.dirfd);
}

DIRECTORY_TEST(a_link_is_followed_unless_told_not_to)
{
	struct hone_file_data file;
	struct hone_read_attr attr = with_flags(HONE_READ_NOFOLLOW);

	make_file("file", 12);
	assert_ok(symlink("file", "link"));
	is_read("link", NULL, 12);
	assert_int_equal(hone_read_file(&file, "link", &attr), -ELOOP);
	is_read("file", &attr, 12);
}

/* Set the time of access to long ago. */
static void
access_long_ago(const char *path)
{
	const struct timespec times[2] = {
		{.tv_sec = 1}, {.tv_nsec = UTIME_NOW}};

	assert_ok(utimensat(AT_FDCWD, path, times, 0));
}

static bool
access_is_long_ago(const char *path)
{
	struct stat st;

	assert_ok(stat(path, &st));
	return st.st_atim.tv_sec == 1;
}

DIRECTORY_TEST(the_time_of_access_can_be_left_alone)
{
	struct hone_read_attr attr = with_flags(HONE_READ_NOATIME);

	make_file("file", 12);
	access_long_ago("file");
	is_read("file", &attr, 12);
	assert_true(access_is_long_ago("file"));
	is_read("file", NULL, 12);
	if (access_is_long_ago("file"))
		print_message("# this file system keeps no time of access\n");
}

DIRECTORY_TEST(a_descriptor_is_read_from_where_it_stands)
{
	static const size_t at[] = {0, 1, 4096, 9999, 10000, 10001, 1000000};

	make_file("file", 10000);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct record record;
		struct hone_read_attr attr = recorded(&record);
		size_t left = at[i] < 10000 ? 10000 - at[i] : 0;
		struct hone_file_data file;
		int fd = open("file", O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_int_equal(lseek(fd, (off_t)at[i], SEEK_SET), at[i]);
		assert_int_equal(hone_read_fd(&file, fd, &attr), 0);
		assert_int_equal(file.size, left);
		for (size_t j = 0; j < left; j++)
			assert_int_equal(((unsigned char *)file.data)[j],
				content(at[i] + j));
		assert_int_equal(((char *)file.data)[left], 0);
		assert_int_equal(record.asked, left + 1);
		assert_int_equal(record.resizes, left == 0);
		free(file.data);
		/* at its end, and still open */
		assert_int_equal(hone_read_fd(&file, fd, NULL), 0);
		assert_int_equal(file.size, 0);
		free(file.data);
		assert_ok(close(fd));
	}
}
