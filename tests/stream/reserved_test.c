/* SPDX-License-Identifier: BSD-3-Clause */
/* A reserved member that is not zero is refused, so that a later release may
 * give it a meaning. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hone/stream.h>
#include "support.h"

static int
no_result(size_t index, int error, struct hone_file_data *file, void *arg)
{
	(void)index;
	(void)error;
	(void)file;
	(void)arg;
	fail_msg("a refused batch calls done()");
	return 0;
}

static void
assert_refused(const struct hone_read_attr *attr)
{
	static const char *const paths[] = {"/dev/null"};
	struct hone_file_data file;

	assert_int_equal(hone_read_file(&file, paths[0], attr), -EINVAL);
	assert_int_equal(hone_read_fd(&file, 0, attr), -EINVAL);
	assert_int_equal(hone_read_files(paths, 1, attr, no_result, NULL, NULL),
		-EINVAL);
}

TEST(attributes_of_a_read_are_checked)
{
	for (int i = 0; i < 4; i++) {
		struct hone_read_attr attr;

		hone_read_attr_init(&attr);
		attr.reserved[i] = &attr;
		assert_refused(&attr);
	}
}

TEST(attributes_of_a_read_have_every_function)
{
	for (int i = 0; i < 3; i++) {
		struct hone_read_attr attr;

		hone_read_attr_init(&attr);
		if (i == 0)
			attr.allocate = NULL;
		else if (i == 1)
			attr.resize = NULL;
		else
			attr.release = NULL;
		assert_refused(&attr);
	}
}

TEST(attributes_of_a_batch_are_checked)
{
	static const char *const paths[] = {"/dev/null"};

	for (int i = 0; i < 4; i++) {
		struct hone_batch_attr attr;

		hone_batch_attr_init(&attr);
		attr.reserved[i] = &attr;
		assert_int_equal(
			hone_read_files(paths, 1, NULL, no_result, NULL, &attr),
			-EINVAL);
	}
}

static ptrdiff_t
nothing(void *source, void *buf, size_t n)
{
	(void)source;
	(void)buf;
	(void)n;
	return 0;
}

TEST(attributes_of_a_stream_are_checked)
{
	struct hone_stream_ops ops = {.read = nothing};
	struct hone_stream *stream;

	for (int i = 0; i < 4; i++) {
		struct hone_stream_attr attr;

		hone_stream_attr_init(&attr);
		attr.reserved[i] = &attr;
		assert_int_equal(
			hone_stream_open_fd(&stream, 0, &attr), -EINVAL);
		assert_int_equal(
			hone_stream_open_memory(&stream, NULL, 0, &attr),
			-EINVAL);
		assert_int_equal(
			hone_stream_open_ops(&stream, &ops, NULL, &attr),
			-EINVAL);
		ops.reserved[i] = &attr;
		assert_int_equal(
			hone_stream_open_ops(&stream, &ops, NULL, NULL),
			-EINVAL);
		ops.reserved[i] = NULL;
	}
}

static int
drop(size_t index, int error, struct hone_file_data *file, void *arg)
{
	(void)index;
	(void)error;
	(void)arg;
	free(file->data);
	return 0;
}

TEST(results_are_zero_there)
{
	static const char *const paths[] = {"/dev/null"};
	struct hone_batch_used used;
	struct hone_batch_attr attr;

	memset(&used, 0x5a, sizeof(used));
	hone_batch_attr_init(&attr);
	attr.used = &used;
	assert_int_equal(hone_read_files(paths, 1, NULL, drop, NULL, &attr), 0);
	for (size_t i = 0; i < sizeof(used.reserved) / sizeof(size_t); i++)
		assert_int_equal(used.reserved[i], 0);
}
