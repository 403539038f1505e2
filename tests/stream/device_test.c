/* SPDX-License-Identifier: BSD-3-Clause */
/* Character devices: some have a position, most only report one. */
#include <hone/stream.h>
#include "support.h"

#define SMALL 10
/* past a buffer of the default size */
#define LARGE 100000

static struct hone_stream *
opened(const char *path, unsigned flags)
{
	struct hone_stream_attr attr;
	struct hone_stream *s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	hone_stream_attr_init(&attr);
	attr.flags = flags | HONE_STREAM_CLOSE_FD;
	assert_int_equal(hone_stream_open_fd(&s, fd, &attr), 0);
	return s;
}

static void
without_a_position_bytes_are_counted(const char *path, unsigned flags)
{
	static char buf[LARGE];
	struct hone_stream *s = opened(path, flags);

	assert_int_equal(hone_stream_read(s, buf, SMALL), SMALL);
	assert_int_equal(hone_stream_tell(s), SMALL);
	assert_int_equal(hone_stream_seek(s, 1, SEEK_CUR), -ESPIPE);
	assert_int_equal(hone_stream_skip(s, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), SMALL + LARGE);
	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), SMALL + 2 * LARGE);
	assert_int_equal(hone_stream_close(s), 0);
}

TEST(a_device_without_a_position_counts)
{
	without_a_position_bytes_are_counted("/dev/zero", 0);
	without_a_position_bytes_are_counted("/dev/zero", HONE_STREAM_EXACT);
	without_a_position_bytes_are_counted("/dev/urandom", 0);
}

/* Past the buffer, so that no byte is in it when the position is requested. */
TEST(what_went_past_the_buffer_counts)
{
	static char buf[LARGE];
	struct hone_stream *s = opened("/dev/zero", 0);

	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), LARGE);
	assert_int_equal(hone_stream_close(s), 0);
}

/* The skip finds out that it cannot seek. */
TEST(a_device_without_a_position_is_skipped_by_reads)
{
	static char buf[LARGE];
	struct hone_stream *s = opened("/dev/zero", 0);

	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_skip(s, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), 2 * LARGE);
	assert_int_equal(hone_stream_close(s), 0);
}

/* /dev/zero answers each seek with 0. */
TEST(the_device_decides_where_a_seek_ends)
{
	char buf[SMALL];

	for (unsigned flags = 0; flags <= HONE_STREAM_EXACT; flags++) {
		struct hone_stream *s = opened("/dev/zero", flags);

		assert_int_equal(hone_stream_seek(s, SMALL, SEEK_SET), 0);
		assert_int_equal(hone_stream_read(s, buf, SMALL), SMALL);
		assert_int_equal(hone_stream_tell(s), SMALL);
		assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), 0);
		assert_int_equal(hone_stream_seek(s, 0, SEEK_CUR), 0);
		assert_int_equal(hone_stream_tell(s), 0);
		assert_int_equal(hone_stream_close(s), 0);
	}
}

TEST(a_terminal_has_no_position)
{
	struct hone_stream *s;

	if (access("/dev/ptmx", R_OK) != 0) {
		print_message("# skipped: no /dev/ptmx here\n");
		skip();
	}
	s = opened("/dev/ptmx", 0);
	assert_int_equal(hone_stream_tell(s), 0);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), -ESPIPE);
	assert_int_equal(hone_stream_close(s), 0);
}

TEST(an_empty_device_is_at_its_end)
{
	char byte;
	struct hone_stream *s = opened("/dev/null", 0);

	assert_int_equal(hone_stream_skip(s, LARGE), 0);
	assert_int_equal(hone_stream_read(s, &byte, 1), 0);
	assert_int_equal(hone_stream_tell(s), 0);
	assert_true(hone_stream_eof(s));
	assert_int_equal(hone_stream_close(s), 0);
}
