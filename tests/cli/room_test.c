/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an output that needs so much fits: cli/output/room.c. */
#include <errno.h>
#include <string.h>
#include <sys/statfs.h>
#include "support.h"
#include "output/output.h"

#define EXT4 0xef53
#define BTRFS 0x9123683e

static struct disk {
	int error;
	uid_t user;
	long type;
	uint64_t free;
	uint64_t available;
} disk;

static int
answer(struct statfs *fs)
{
	if (disk.error) {
		errno = disk.error;
		return -1;
	}
	memset(fs, 0, sizeof(*fs));
	fs->f_type = disk.type;
	fs->f_bsize = 1 << 20;
	fs->f_frsize = 4096;
	fs->f_blocks = 1000;
	fs->f_bfree = disk.free;
	fs->f_bavail = disk.available;
	return 0;
}

STANDS_FOR(int, fstatfs, int fd, struct statfs *fs)
{
	(void)fd;
	return answer(fs);
}

STANDS_FOR(int, fstatfs64, int fd, struct statfs *fs)
{
	(void)fd;
	return answer(fs);
}

STANDS_FOR(uid_t, geteuid, void)
{
	return disk.user;
}

static int
check(uint64_t needed, char text[256])
{
	return output_check_room(-1, needed, text, 256);
}

TEST(what_fits_passes_and_one_byte_more_is_refused_with_both_sizes)
{
	char text[256] = "";

	disk = (struct disk){0, 1000, EXT4, 20, 10};
	assert_int_equal(check(40960, text), 0);
	assert_string_equal(text, "");
	assert_int_equal(check(40961, text), -1);
	assert_string_equal(text,
		"takes at least 40.0 KiB, and its file system has 40.0 KiB "
		"left");
}

TEST(root_may_use_the_reserve)
{
	char text[256] = "";

	disk = (struct disk){0, 0, EXT4, 20, 10};
	assert_int_equal(check(81920, text), 0);
	assert_int_equal(check(81921, text), -1);
}

TEST(an_unknown_need_fits_everywhere)
{
	char text[256] = "";

	disk = (struct disk){0, 1000, EXT4, 0, 0};
	assert_int_equal(check(0, text), 0);
	assert_int_equal(check(1, text), -1);
}

TEST(a_file_system_that_may_compress_is_not_judged)
{
	char text[256] = "";

	disk = (struct disk){0, 1000, BTRFS, 0, 0};
	assert_int_equal(check(1, text), 0);
	disk = (struct disk){EIO, 1000, EXT4, 0, 0};
	assert_int_equal(check(1, text), 0);
}

TEST(no_size_overflows)
{
	char text[256] = "";

	disk = (struct disk){0, 1000, EXT4, 10, 10};
	assert_int_equal(check(UINT64_MAX, text), -1);
	disk = (struct disk){0, 1000, EXT4, UINT64_MAX, UINT64_MAX};
	assert_int_equal(check(UINT64_MAX, text), 0);
}
