/* SPDX-License-Identifier: BSD-3-Clause */
/* Character devices: some have a position, most only report one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
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

static void
a_device_without_a_position_counts(void **state)
{
	(void)state;
	without_a_position_bytes_are_counted("/dev/zero", 0);
	without_a_position_bytes_are_counted("/dev/zero", HONE_STREAM_EXACT);
	without_a_position_bytes_are_counted("/dev/urandom", 0);
}

/* Past the buffer, so that no byte is in it when the position is requested. */
static void
what_went_past_the_buffer_counts(void **state)
{
	static char buf[LARGE];
	struct hone_stream *s = opened("/dev/zero", 0);

	(void)state;
	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), LARGE);
	assert_int_equal(hone_stream_close(s), 0);
}

/* The skip finds out that it cannot seek. */
static void
a_device_without_a_position_is_skipped_by_reads(void **state)
{
	static char buf[LARGE];
	struct hone_stream *s = opened("/dev/zero", 0);

	(void)state;
	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_skip(s, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), 2 * LARGE);
	assert_int_equal(hone_stream_close(s), 0);
}

/* /dev/zero answers each seek with 0. */
static void
the_device_decides_where_a_seek_ends(void **state)
{
	char buf[SMALL];

	(void)state;
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

static void
a_terminal_has_no_position(void **state)
{
	struct hone_stream *s;

	(void)state;
	if (access("/dev/ptmx", R_OK) != 0) {
		print_message("# skipped: no /dev/ptmx here\n");
		skip();
	}
	s = opened("/dev/ptmx", 0);
	assert_int_equal(hone_stream_tell(s), 0);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), -ESPIPE);
	assert_int_equal(hone_stream_close(s), 0);
}

static void
an_empty_device_is_at_its_end(void **state)
{
	char byte;
	struct hone_stream *s = opened("/dev/null", 0);

	(void)state;
	assert_int_equal(hone_stream_skip(s, LARGE), 0);
	assert_int_equal(hone_stream_read(s, &byte, 1), 0);
	assert_int_equal(hone_stream_tell(s), 0);
	assert_true(hone_stream_eof(s));
	assert_int_equal(hone_stream_close(s), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_without_a_position_counts),
		cmocka_unit_test(what_went_past_the_buffer_counts),
		cmocka_unit_test(
			a_device_without_a_position_is_skipped_by_reads),
		cmocka_unit_test(the_device_decides_where_a_seek_ends),
		cmocka_unit_test(a_terminal_has_no_position),
		cmocka_unit_test(an_empty_device_is_at_its_end),
	};

	return cmocka_run_group_tests_name("stream device", tests, NULL, NULL);
}
