/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit counts the bytes of a file, not the size that the file claims: in
 * /sys every file claims a page. The linker puts the function below in place of
 * the library's fstat.
 */
#include <errno.h>
#include "read_file_support.h"

/* What fstat reports instead of the size, with no blocks; 0: the truth. */
static int64_t claimed;
static int reads;

STANDS_FOR(int, fstat64, int fd, struct stat *st)
{
	int result = __real_fstat64(fd, st);

	if (claimed != 0) {
		st->st_size = claimed;
		st->st_blocks = 0;
	}
	return result;
}

STANDS_FOR(ssize_t, read, int fd, void *buf, size_t n)
{
	reads++;
	return __real_read(fd, buf, n);
}

#define SYS "/sys/devices/system/cpu/online"

DIRECTORY_TEST(a_file_of_sys_has_the_bytes_that_it_returns)
{
	struct hone_file_data whole, file;
	struct hone_read_attr attr;
	int fd;

	claimed = 0;
	if (access(SYS, R_OK) != 0) {
		print_message("# no " SYS " here\n");
		skip();
	}
	hone_read_attr_init(&attr);
	assert_int_equal(hone_read_file(&whole, SYS, &attr), 0);
	attr.limit = whole.size - 1;
	assert_int_equal(hone_read_file(&file, SYS, &attr), -EFBIG);
	attr.limit = whole.size;
	assert_int_equal(hone_read_file(&file, SYS, &attr), 0);
	assert_int_equal(file.size, whole.size);
	assert_memory_equal(file.data, whole.data, whole.size);
	free(file.data);
	fd = open(SYS, O_RDONLY | O_CLOEXEC);
	assert_int_equal(hone_read_fd(&file, fd, &attr), 0);
	assert_int_equal(file.size, whole.size);
	free(file.data);
	free(whole.data);
	close(fd);
}

DIRECTORY_TEST(a_page_that_is_claimed_does_not_exceed_the_limit)
{
	static const int64_t pages[] = {4096, 65536};
	struct hone_read_attr attr;
	struct hone_file_data file;

	make_file("file", 23);
	hone_read_attr_init(&attr);
	for (size_t i = 0; i < 2; i++) {
		claimed = pages[i];
		for (attr.limit = 0; attr.limit < 23; attr.limit++)
			assert_int_equal(
				hone_read_file(&file, "file", &attr), -EFBIG);
		assert_int_equal(hone_read_file(&file, "file", &attr), 0);
		assert_content(&file, 23);
		free(file.data);
	}
	claimed = 0;
}

/* A sparse file of more than a page has the size that it claims. */
DIRECTORY_TEST(a_larger_claim_is_refused_without_a_read)
{
	struct hone_read_attr attr;
	struct hone_file_data file;

	make_file("file", 23);
	hone_read_attr_init(&attr);
	attr.limit = 23;
	claimed = 65537;
	reads = 0;
	assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
	assert_int_equal(reads, 0);
	claimed = 0;
}
