/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying from and to block devices, which are files that fstat() reports as
 * such: a test may not write to a real one. */
#include "copy_fd_wrap.h"

#define SIZE ((size_t)100000)

TEST(a_block_device_is_copied_without_copy_file_range)
{
	static const enum sink_kind to[] = {TO_DISK, TO_PIPE};

	for (size_t i = 0; i < 2; i++) {
		struct source source;
		struct sink sink;

		plan = (struct plan){.blocks = true};
		source_open(&source, FROM_DISK, SIZE);
		sink_open(&sink, to[i]);
		assert_int_equal(copy(&source, &sink, SIZE, NULL), SIZE);
		assert_int_equal(plan.count[RANGE], 0);
		assert_true(plan.count[SENDFILE] > 0);
		sink_close(&sink, content, SIZE);
		source_close(&source, SIZE);
	}
}

TEST(a_block_device_is_not_copied_over_itself)
{
	struct source source;
	struct sink sink;
	char path[64];

	plan = (struct plan){.blocks = true};
	source_open(&source, FROM_DISK, SIZE);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", source.fd);
	sink.fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(sink.fd >= 0);
	assert_int_equal(copy(&source, &sink, SIZE, NULL), -EINVAL);
	assert_int_equal(lseek(sink.fd, (off_t)SIZE, SEEK_SET), SIZE);
	assert_int_equal(copy(&source, &sink, SIZE, NULL), SIZE);
	close(sink.fd);
	assert_int_equal(lseek(source.fd, 0, SEEK_SET), 0);
	source.size = 0;
	assert_int_equal(lseek(source.fd, 0, SEEK_END), 2 * SIZE);
	source_close(&source, 0);
}

TEST(what_was_read_from_a_block_device_is_put_back)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	plan = (struct plan){.blocks = true,
		.refused = BIT(SENDFILE) | BIT(SPLICE),
		.fails = WRITE,
		.fails_at = 1,
		.error = ENOSPC};
	source_open(&source, FROM_DISK, SIZE);
	sink_open(&sink, TO_DISK);
	assert_int_equal(copy(&source, &sink, SIZE, &result), -ENOSPC);
	assert_int_equal(result.copied, 0);
	assert_int_equal(result.lost, 0);
	sink_close(&sink, content, 0);
	source_close(&source, 0);
}

int
main(void)
{
	return run_all_tests(fill_content, NULL);
}
