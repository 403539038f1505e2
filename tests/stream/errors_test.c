/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stream does with the errors of a source of the caller, and with
 * returns that are neither a size nor an error. */
#include <limits.h>
#include "recorder.h"

TEST(an_error_behind_bytes_comes_next_and_is_not_asked_again)
{
	for (unsigned flags = 0; flags <= HONE_STREAM_EXACT; flags++) {
		struct hone_stream *s = opened(&unseekable, flags);

		ANSWERS(20, -EIO);
		reads(s, 30, 20, "read 64 read 64");
		/* kept while the buffer has enough, and until it is reported */
		assert_false(hone_stream_eof(s));
		reads(s, 0, 0, "");
		reads(s, 30, -EIO, "");
		ANSWERS(10, -EBADF);
		skips(s, 30, 10, "read 64 read 64");
		peeks(s, 1, -EBADF, "");
		ANSWERS(10, -EIO);
		reads(s, 30, 10, "read 64 read 64");
		lines(s, '#', SIZE_MAX, -EIO, "");
		ANSWERS(10, -ENXIO);
		reads(s, 30, 10, "read 64 read 64");
		skips(s, 1000, -ENXIO, "");
		reads(s, 30, 30, "read 64");
		closed(s);
	}
}

/* A seek would forget it. */
TEST(a_long_skip_reports_an_error_that_was_kept)
{
	struct hone_stream *s = opened(&seekable, 0);

	ANSWERS(20, -EIO);
	reads(s, 30, 20, "read 64 read 64");
	skips(s, 1000, -EIO, "");
	reads(s, 10, 10, "read 64");
	closed(s);
}

TEST(a_seek_forgets_an_error_that_was_kept)
{
	struct hone_stream *s = opened(&seekable, 0);

	ANSWERS(20, -EIO);
	reads(s, 30, 20, "read 64 read 64");
	assert_int_equal(hone_stream_tell(s), 20);
	saw("seek 0 CUR");
	/* to the position where it is, then to another */
	seeks(s, 0, SEEK_CUR, 20, "");
	ANSWERS(20, -EIO);
	reads(s, 30, 20, "read 64 read 64");
	seeks(s, 1000, SEEK_SET, 1000, "seek 1000 SET");
	reads(s, 10, 10, "read 64");
	closed(s);
}

TEST(what_passes_is_not_kept)
{
	const long passing[] = {-EAGAIN, -ETIMEDOUT};

	for (int i = 0; i < 2; i++) {
		struct hone_stream *s = opened(&unseekable, 0);

		ANSWERS(20, passing[i]);
		reads(s, 30, 20, "read 64 read 64");
		reads(s, 30, 30, "read 64");
		ANSWERS(passing[i]);
		reads(s, 1000, 34, "read 966");
		ANSWERS(passing[i]);
		reads(s, 1000, passing[i], "read 1000");
		closed(s);
	}
}

TEST(an_error_leaves_peeks_and_lines_where_they_were)
{
	struct hone_stream *s = opened(&unseekable, 0);

	ANSWERS(10, -EIO);
	peeks(s, 20, -EIO, "read 64 read 64");
	peeks(s, 0, 10, "");
	ANSWERS(5, -EAGAIN);
	lines(s, '#', SIZE_MAX, -EAGAIN, "read 64 read 64");
	peeks(s, 0, 15, "");
	/* it is there: the earlier search was for another delimiter */
	lines(s, 'b', SIZE_MAX, 2, "");
	reads(s, 13, 13, "");
	assert_int_equal(hone_stream_tell(s), 15);
	closed(s);
}

TEST(an_interrupted_call_is_made_again)
{
	for (unsigned flags = 0; flags <= HONE_STREAM_EXACT; flags++) {
		struct hone_stream *s = opened(&unseekable, flags);

		ANSWERS(-EINTR, -EINTR, 0);
		reads(s, 10, 10, "read 64 read 64 read 64");
		closed(s);
	}
}

TEST(returns_that_are_none_are_errors)
{
	const long faulty[] = {65, -4096, LONG_MIN, LONG_MAX};
	struct hone_stream *idle = opened(&seekable, 0);

	ANSWERS(1);
	assert_int_equal(hone_stream_close(idle), -EIO);
	for (size_t i = 0; i < sizeof(faulty) / sizeof(faulty[0]); i++) {
		struct hone_stream *s = opened(&seekable, 0);

		ANSWERS(faulty[i]);
		reads(s, 10, -EIO, "read 64");
		ANSWERS(faulty[i]);
		peeks(s, 64, -EIO, "read 64");
		ANSWERS(faulty[i]);
		lines(s, 'c', 64, -EIO, "read 64");
		peeks(s, 64, 64, "read 64");
		if (faulty[i] < 0) {
			ANSWERS(faulty[i]);
			seeks(s, 100, SEEK_END, -EIO, "seek 100 END");
			ANSWERS(faulty[i]);
			assert_int_equal(hone_stream_tell(s), -EIO);
			saw("seek 0 CUR");
		}
		reads(s, 64, 64, "");
		if (faulty[i] < 0) {
			ANSWERS(faulty[i] < INT_MIN ? INT_MIN : faulty[i]);
			assert_int_equal(hone_stream_close(s), -EIO);
			saw("close");
		} else {
			closed(s);
		}
	}
}

/* It reports a position before the bytes that were read. */
TEST(a_position_that_cannot_be_is_an_error)
{
	struct hone_stream *s = opened(&seekable, 0);

	reads(s, 10, 10, "read 64");
	source.position = 63;
	assert_int_equal(hone_stream_tell(s), -EIO);
	saw("seek 0 CUR");
	source.position = 64;
	assert_int_equal(hone_stream_tell(s), 10);
	saw("seek 0 CUR");
	closed(s);
}

TEST(no_read_asks_for_more_than_the_kernel_gives)
{
	struct hone_stream *s = opened(&unseekable, 0);
	char byte;

	if (SIZE_MAX > UINT32_MAX) {
		ANSWERS(-EIO);
		assert_int_equal(hone_stream_read(s, &byte, SIZE_MAX), -EIO);
		saw("read 2147479552");
		ANSWERS(-EIO);
		assert_int_equal(
			hone_stream_read_some(s, &byte, SIZE_MAX), -EIO);
		saw("read 2147479552");
	}
	closed(s);
}

TEST(no_position_is_beyond_the_largest)
{
	struct hone_stream *s = opened(&seekable, 0);

	seeks(s, INT64_MAX - 10, SEEK_SET, INT64_MAX - 10,
		"seek 9223372036854775797 SET");
	reads(s, 20, 0, "read 10");
	hone_stream_clear_eof(s);
	reads(s, 40, 0, "read 10");
	seeks(s, INT64_MAX, SEEK_SET, INT64_MAX,
		"seek 9223372036854775807 SET");
	reads(s, 20, -EOVERFLOW, "");
	seeks(s, 1, SEEK_CUR, -EOVERFLOW, "");
	seeks(s, 0, SEEK_SET, 0, "seek 0 SET");
	reads(s, 20, 20, "read 64");
	closed(s);
}

TEST(a_failed_seek_changes_nothing)
{
	for (unsigned flags = 0; flags <= HONE_STREAM_EXACT; flags++) {
		struct hone_stream *s = opened(&seekable, flags);

		reads(s, 10, 10, "read 64");
		if (flags == 0) { /* it needs the position */
			ANSWERS(-EIO);
			seeks(s, 1, SEEK_SET, -EIO, "seek 0 CUR");
		}
		ANSWERS(-EIO);
		seeks(s, 100, SEEK_END, -EIO, "seek 100 END");
		assert_int_equal(hone_stream_tell(s), 10);
		saw("seek 0 CUR");
		ANSWERS(-ENXIO);
		seeks(s, 1000, SEEK_SET, -ENXIO, "seek 1000 SET");
		reads(s, 54, 54, "");
		closed(s);
	}
}

TEST(a_skip_that_cannot_come_back_is_at_the_end)
{
	struct hone_stream *s = opened(&seekable, 0);

	ANSWERS(0, 0, -EIO);
	skips(s, 100, -EIO, "seek 0 CUR seek 0 END seek 100 SET");
	assert_int_equal(hone_stream_tell(s), END);
	ANSWERS(-EIO);
	seeks(s, 0, SEEK_END, -EIO, "seek 0 END");
	closed(s);
	s = opened(&seekable, 0);
	ANSWERS(-EIO);
	skips(s, 100, -EIO, "seek 0 CUR");
	closed(s);
}

TEST(set_buffer_holds_from_the_next_read_on)
{
	struct hone_stream *s = opened(&unseekable, 0);

	reads(s, 10, 10, "read 64");
	assert_int_equal(hone_stream_set_buffer(s, 7, SIZE_MAX), 0);
	reads(s, 54 + 20, 54 + 20, "read 7 read 7 read 7");
	assert_int_equal(hone_stream_set_buffer(s, 1000, 0), 0);
	reads(s, 2, 2, "read 1");
	assert_int_equal(hone_stream_set_buffer(s, 0, 5), -EINVAL);
	assert_int_equal(hone_stream_set_buffer(
				 s, (size_t)HONE_STREAM_BUFFER_MAX + 1, 5),
		-EINVAL);
	peeks(s, 1, 1000, "read 1000");
	closed(s);
}
