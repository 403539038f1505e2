/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes by named initializers alone: what they leave out has its default.
 * And what a descriptor with O_DIRECT gets. */
#include <errno.h>
#include <fcntl.h>
#include <hone/stream.h>
#include "read_files_support.h"

DIRECTORY_TEST(a_file_is_read_with_a_flag_alone)
{
	const struct hone_read_attr attr = {.flags = HONE_READ_NOFOLLOW};
	struct hone_file_data file;
	int fd;

	make_file("file", 70000);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(hone_read_file(&file, "link", &attr), -ELOOP);
	assert_int_equal(hone_read_file(&file, "file", &attr), 0);
	assert_content(&file, 70000);
	free(file.data);
	fd = open("file", O_RDONLY | O_CLOEXEC);
	assert_int_equal(hone_read_fd(&file, fd, &attr), 0);
	assert_content(&file, 70000);
	free(file.data);
	close(fd);
}

DIRECTORY_TEST(a_limit_alone_is_kept_to)
{
	const struct hone_read_attr attr = {.limit = 10};
	struct hone_file_data file;

	make_file("file", 11);
	assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
	make_file("file", 10);
	assert_int_equal(hone_read_file(&file, "file", &attr), 0);
	assert_content(&file, 10);
	free(file.data);
}

/* The directory is not descriptor 0, and only the member of the test is set. */
static int
check_links(size_t index, int error, struct hone_file_data *file, void *arg)
{
	++*(size_t *)arg;
	assert_int_equal(error, index == 0 ? 0 : -ELOOP);
	if (index == 0)
		assert_content(file, 70000);
	free(file->data);
	return 0;
}

DIRECTORY_TEST(a_batch_is_read_with_a_flag_alone)
{
	static const char *const paths[] = {"file", "link"};
	const struct hone_read_attr attr = {.flags = HONE_READ_NOFOLLOW};
	struct hone_batch_used used;
	const struct hone_batch_attr batch = {
		.flags = HONE_BATCH_PLAIN, .used = &used};
	const struct hone_batch_attr nothing = {0};
	size_t n = 0;

	make_file("file", 70000);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(
		hone_read_files(paths, 2, &attr, check_links, &n, &batch), 0);
	assert_int_equal(used.plain, 2);
	assert_int_equal(
		hone_read_files(paths, 2, &attr, check_links, &n, &nothing), 0);
	assert_int_equal(n, 4);
}

/* Reads of the source, which has no bytes. */
static size_t requested;

static ptrdiff_t
read_nothing(void *source, void *buf, size_t n)
{
	(void)source;
	(void)buf;
	requested = n;
	return 0;
}

static size_t
request_of(const struct hone_stream_attr *attr, size_t n)
{
	static char bytes[70000];
	const struct hone_stream_ops ops = {.read = read_nothing};
	struct hone_stream *stream;

	assert_int_equal(hone_stream_open_ops(&stream, &ops, NULL, attr), 0);
	assert_int_equal(hone_stream_read(stream, bytes, n), 0);
	assert_int_equal(hone_stream_close(stream), 0);
	return requested;
}

TEST(a_stream_has_the_sizes_that_are_not_given)
{
	const struct hone_stream_attr flag = {.flags = HONE_STREAM_WHOLE_LINES};
	const struct hone_stream_attr bypass = {.bypass_size = 100};
	const struct hone_stream_attr buffer = {.buffer_size = 500};

	assert_int_equal(request_of(&flag, 32767), 65536);
	assert_int_equal(request_of(&flag, 32768), 32768);
	assert_int_equal(request_of(&bypass, 99), 65536);
	assert_int_equal(request_of(&bypass, 100), 100);
	/* bypass_size 0 beside a size: each read bypasses the buffer */
	assert_int_equal(request_of(&buffer, 1), 1);
}

DIRECTORY_TEST(unaligned_reads_of_a_direct_descriptor_are_not_begun)
{
	struct hone_file_data file = {NULL, 0};
	struct hone_stream *stream = NULL;
	int fd;

	make_file("file", 100000);
	fd = open("file", O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (fd < 0) {
		print_message("# no O_DIRECT here\n");
		skip();
	}
	assert_int_equal(hone_read_fd(&file, fd, NULL), -EINVAL);
	assert_int_equal(hone_stream_open_fd(&stream, fd, NULL), -EINVAL);
	assert_null(file.data);
	assert_null(stream);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(hone_read_fd(&file, fd, NULL), 0);
	assert_content(&file, 100000);
	free(file.data);
	close(fd);
}

/* There, the flag keeps packets apart. */
TEST(a_pipe_of_packets_is_read)
{
	struct hone_file_data file;
	int ends[2];

	assert_int_equal(pipe2(ends, O_DIRECT | O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], contents(10), 10), 10);
	close(ends[1]);
	assert_int_equal(hone_read_fd(&file, ends[0], NULL), 0);
	assert_content(&file, 10);
	free(file.data);
	close(ends[0]);
}
