/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of the CPU caches in sysfs. The linker redirects the library's
 * calls to this file, which has the fields of a simulated CPU. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <hone/cpu.h>
#include "detect.h"
#include "support.h"

#define PREFIX "/sys/devices/system/cpu/cpu0/cache/index"

/* NULL: the file does not exist; "": it cannot be read. */
struct cache {
	const char *type, *level, *size;
};

static const struct cache *caches;
static unsigned n_caches;
static int open_files;

static const char *
content_of(const char *path)
{
	const struct cache *cache;
	unsigned index;
	char field[8];

	assert_int_equal(sscanf(path, PREFIX "%u/%7s", &index, field), 2);
	if (index >= n_caches)
		return NULL;
	cache = &caches[index];
	return strcmp(field, "type") == 0    ? cache->type
	       : strcmp(field, "level") == 0 ? cache->level
					     : cache->size;
}

STANDS_FOR(int, open64, const char *path, int flags, ...)
{
	const char *content;
	int fds[2];

	(void)flags;
	content = content_of(path);
	if (!content) {
		errno = ENOENT;
		return -1;
	}
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(
		write(fds[1], content, strlen(content)), (int)strlen(content));
	close(fds[1]);
	open_files++;
	return fds[0];
}

static void
simulate(const struct cache *all, unsigned n)
{
	caches = all;
	n_caches = n;
}

TEST(each_level_has_the_size_of_its_data)
{
	static const struct cache all[] = {{"Instruction\n", "1\n", "32K\n"},
		{"Data\n", "1\n", "48K\n"}, {"Unified\n", "2\n", "2048K\n"},
		{"Unified\n", "3\n", "96M\n"}, {"Unified\n", "4\n", "1000000"}};

	simulate(all, 5);
	assert_int_equal(hone_cpu_sysfs_cache(1), 48 << 10);
	assert_int_equal(hone_cpu_sysfs_cache(2), 2 << 20);
	assert_int_equal(hone_cpu_sysfs_cache(3), 96 << 20);
	assert_int_equal(hone_cpu_sysfs_cache(4), 1000000);
	assert_int_equal(hone_cpu_sysfs_cache(5), 0);
}

TEST(what_is_missing_or_empty_is_no_size)
{
	static const struct cache all[] = {{"Data\n", NULL, "48K\n"},
		{"Unified\n", "2\n", NULL}, {"Unified\n", "3\n", ""},
		{NULL, "4\n", "64M\n"}};
	static const struct cache instructions[] = {
		{"Instruction\n", "1\n", "32K\n"}};

	for (unsigned n = 0; n <= 4; n++) {
		simulate(all, n);
		for (unsigned level = 1; level <= 4; level++)
			assert_int_equal(hone_cpu_sysfs_cache(level), 0);
	}
	simulate(instructions, 1);
	assert_int_equal(hone_cpu_sysfs_cache(1), 0);
}

/* A directory that the code does not expect must not keep it busy. */
TEST(only_the_first_directories_are_read)
{
	static struct cache all[100];

	for (int i = 0; i < 100; i++)
		all[i] = (struct cache){"Data\n", "1\n", "32K\n"};
	simulate(all, 100);
	open_files = 0;
	assert_int_equal(hone_cpu_sysfs_cache(2), 0);
	assert_in_range(open_files, 10, 30);
}
