/* SPDX-License-Identifier: BSD-3-Clause */
/* The promise of hone/stream.h about reads and positions: which calls a source
 * of the caller sees, in which order, with which sizes. */
#include "recorder.h"

TEST(fast_reads_fill_the_buffer_or_pass_it_by)
{
	struct hone_stream *s = opened(&unseekable, 0);

	reads(s, 0, 0, "");
	reads(s, 1, 1, "read 64");
	reads(s, 63, 63, "");
	reads(s, BYPASS - 1, 31, "read 64");
	/* 33 are buffered, 31 missing: less than BYPASS */
	reads(s, 64, 64, "read 64");
	/* 33 are buffered, 32 missing */
	reads(s, 65, 65, "read 32");
	reads(s, BYPASS, BYPASS, "read 32");
	reads(s, 1000, 1000, "read 1000");
	ANSWERS(100, 869, 1);
	/* a short read: the rest is requested by the same rule */
	reads(s, 1000, 1000, "read 1000 read 900 read 64 read 64");
	closed(s);
}

TEST(exact_reads_have_the_size_of_the_buffer)
{
	struct hone_stream *s = opened(&unseekable, HONE_STREAM_EXACT);

	reads(s, 0, 0, "");
	reads(s, 1, 1, "read 64");
	reads(s, 63, 63, "");
	reads(s, 128, 128, "read 64 read 64");
	reads(s, 65, 65, "read 64 read 64");
	ANSWERS(3, 60);
	reads(s, 63 + 63, 63 + 63, "read 64 read 64");
	closed(s);
}

TEST(read_some_reads_once_at_most)
{
	struct hone_stream *s = opened(&unseekable, 0);
	char buf[200];

	ANSWERS(10);
	assert_int_equal(hone_stream_read_some(s, buf, 5), 5);
	saw("read 64");
	assert_int_equal(hone_stream_read_some(s, buf, 200), 5);
	saw("");
	ANSWERS(7);
	assert_int_equal(hone_stream_read_some(s, buf, 200), 7);
	saw("read 200");
	assert_int_equal(hone_stream_read_some(s, buf, 0), 0);
	saw("");
	closed(s);
	s = opened(&unseekable, HONE_STREAM_EXACT);
	assert_int_equal(hone_stream_read_some(s, buf, 200), 64);
	saw("read 64");
	closed(s);
}

TEST(fast_peeks_ask_for_what_is_missing)
{
	struct hone_stream *s = opened(&unseekable, 0);

	peeks(s, 0, 0, "");
	peeks(s, 1, 64, "read 64");
	peeks(s, 0, 64, "");
	peeks(s, 65, 128, "read 64");
	peeks(s, 500, 500, "read 372");
	hone_stream_take(s, 490);
	peeks(s, 70, 74, "read 64");
	ANSWERS(20, 0);
	peeks(s, 174, 174, "read 100 read 80");
	peeks(s, SIZE_MAX, END - 490, "read 16777216 read 16777216");
	peeks(s, SIZE_MAX, END - 490, "");
	closed(s);
}

TEST(exact_peeks_ask_for_a_buffer)
{
	struct hone_stream *s = opened(&unseekable, HONE_STREAM_EXACT);

	peeks(s, 1, 64, "read 64");
	hone_stream_take(s, 60);
	peeks(s, 5, 68, "read 64");
	peeks(s, 200, 260, "read 64 read 64 read 64");
	closed(s);
}

TEST(lines_ask_for_as_much_as_they_searched)
{
	struct hone_stream *s = opened(&unseekable, 0);

	lines(s, 'c', SIZE_MAX, 3, "read 64");
	lines(s, 'c', SIZE_MAX, 23, "");
	lines(s, 'c', SIZE_MAX, 23, "");
	/* 15 are left */
	lines(s, 'c', SIZE_MAX, 23, "read 64");
	lines(s, '#', 10, -EMSGSIZE, "");
	/* 56 are left: 101 bytes show that the line is longer than 100 */
	lines(s, '#', 100, -EMSGSIZE, "read 64");
	lines(s, '#', 300, -EMSGSIZE, "read 120 read 64");
	lines(s, '#', SIZE_MAX, END - 72,
		"read 304 read 608 read 1216 read 2432 read 4864 read 4928");
	lines(s, '#', SIZE_MAX, 0, "");
	closed(s);
	s = opened(&unseekable, HONE_STREAM_EXACT);
	lines(s, '#', 200, -EMSGSIZE, "read 64 read 64 read 64 read 64");
	lines(s, 'c', SIZE_MAX, 3, "");
	closed(s);
}

TEST(the_end_is_remembered_in_fast_mode)
{
	struct hone_stream *s = opened(&seekable, 0);

	reads(s, END + 1, END, "read 5001 read 64");
	assert_true(hone_stream_eof(s));
	reads(s, 100, 0, "");
	reads(s, 1, 0, "");
	peeks(s, 1, 0, "");
	lines(s, 'c', 5, 0, "");
	skips(s, 1000, 0, "");
	hone_stream_clear_eof(s);
	assert_false(hone_stream_eof(s));
	reads(s, 100, 0, "read 100");
	seeks(s, -2, SEEK_END, END - 2, "seek -2 END");
	assert_false(hone_stream_eof(s));
	reads(s, 5, 2, "read 64 read 64");
	seeks(s, 0, SEEK_CUR, END, "");
	reads(s, 5, 0, "read 64");
	closed(s);
}

TEST(the_end_is_asked_again_in_exact_mode)
{
	struct hone_stream *s = opened(&unseekable, HONE_STREAM_EXACT);

	source.position = END - 10;
	reads(s, 20, 10, "read 64 read 64");
	assert_true(hone_stream_eof(s));
	reads(s, 20, 0, "read 64");
	peeks(s, 1, 0, "read 64");
	lines(s, 'c', 5, 0, "read 64");
	skips(s, 1, 0, "read 64");
	source.position = END - 10;
	reads(s, 1, 1, "read 64");
	assert_false(hone_stream_eof(s));
	closed(s);
}

TEST(fast_seeks_in_the_buffer_make_no_call)
{
	struct hone_stream *s = opened(&seekable, 0);

	seeks(s, 100, SEEK_SET, 100, "seek 100 SET");
	reads(s, 10, 10, "read 64");
	seeks(s, 100, SEEK_SET, 100, "");
	seeks(s, 64, SEEK_CUR, 164, "");
	seeks(s, -1, SEEK_CUR, 163, "");
	seeks(s, 165, SEEK_SET, 165, "seek 165 SET");
	reads(s, 10, 10, "read 64");
	/* 54 are buffered: the source is ahead by that */
	seeks(s, 55, SEEK_CUR, 230, "seek 1 CUR");
	reads(s, 10, 10, "read 64");
	seeks(s, 229, SEEK_SET, 229, "seek 229 SET");
	reads(s, 100, 100, "read 100");
	seeks(s, -1, SEEK_CUR, 328, "seek -1 CUR");
	seeks(s, -1, SEEK_SET, -EINVAL, "");
	seeks(s, -329, SEEK_CUR, -EINVAL, "");
	seeks(s, INT64_MAX, SEEK_CUR, -EOVERFLOW, "");
	seeks(s, 0, 3, -EINVAL, "");
	closed(s);
	/* consumed bytes are gone when the source is read again */
	s = opened(&seekable, 0);
	seeks(s, 0, SEEK_SET, 0, "seek 0 SET");
	reads(s, 30, 30, "read 64");
	reads(s, 30, 30, "");
	seeks(s, 0, SEEK_SET, 0, "");
	seeks(s, 60, SEEK_SET, 60, "");
	peeks(s, 10, 68, "read 64");
	seeks(s, 60, SEEK_SET, 60, "");
	seeks(s, 59, SEEK_SET, 59, "seek 59 SET");
	reads(s, 10, 10, "read 64");
	reads(s, 154, 154, "read 100");
	seeks(s, -1, SEEK_CUR, 222, "seek -1 CUR");
	closed(s);
	/* an unknown position is requested once */
	s = opened(&seekable, 0);
	source.position = 1000;
	seeks(s, 5, SEEK_CUR, 1005, "seek 5 CUR");
	closed(s);
	s = opened(&seekable, 0);
	source.position = 1000;
	reads(s, 1, 1, "read 64");
	seeks(s, 5, SEEK_CUR, 1006, "seek 0 CUR");
	seeks(s, 1000, SEEK_SET, 1000, "");
	closed(s);
}

TEST(exact_seeks_are_one_call)
{
	struct hone_stream *s = opened(&seekable, HONE_STREAM_EXACT);

	reads(s, 10, 10, "read 64");
	seeks(s, 10, SEEK_SET, 10, "seek 10 SET");
	reads(s, 10, 10, "read 64");
	seeks(s, 0, SEEK_CUR, 20, "seek -54 CUR");
	reads(s, 10, 10, "read 64");
	seeks(s, 0, SEEK_END, END, "seek 0 END");
	seeks(s, INT64_MIN, SEEK_CUR, -EINVAL, "");
	closed(s);
	s = opened(&seekable, HONE_STREAM_EXACT);
	reads(s, 10, 10, "read 64");
	seeks(s, INT64_MIN, SEEK_CUR, -EINVAL, "");
	closed(s);
}

TEST(tell_asks_once)
{
	struct hone_stream *s = opened(&seekable, 0);

	source.position = 1000;
	reads(s, 10, 10, "read 64");
	assert_int_equal(hone_stream_tell(s), 1010);
	saw("seek 0 CUR");
	reads(s, 100, 100, "read 46");
	assert_int_equal(hone_stream_tell(s), 1110);
	saw("");
	closed(s);
	s = opened(&unseekable, 0);
	source.position = 1000;
	reads(s, 10, 10, "read 64");
	assert_int_equal(hone_stream_tell(s), 10);
	saw("");
	seeks(s, 0, SEEK_SET, -ESPIPE, "");
	closed(s);
	/* it returned -ESPIPE: it is not called again */
	s = opened(&seekable, 0);
	ANSWERS(-ESPIPE);
	assert_int_equal(hone_stream_tell(s), 0);
	saw("seek 0 CUR");
	seeks(s, 0, SEEK_SET, -ESPIPE, "");
	closed(s);
}

TEST(fast_skips_seek)
{
	struct hone_stream *s = opened(&seekable, 0);

	skips(s, 63, 63, "read 64");
	skips(s, 64, 64, "read 64");
	skips(s, 1, 1, "");
	skips(s, 62 + 64, 62 + 64, "seek 0 CUR seek 0 END seek 254 SET");
	skips(s, 1000, 1000, "seek 0 END seek 1254 SET");
	/* the end comes too early, which a read proves */
	skips(s, 10000, END - 1254, "seek 0 END seek 5000 SET read 64");
	assert_true(hone_stream_eof(s));
	seeks(s, END - 70, SEEK_SET, END - 70, "seek 4930 SET");
	ANSWERS(-EINVAL, 0, 0);
	skips(s, 100, 70, "seek 0 END read 64 read 64 read 64");
	seeks(s, END + 5, SEEK_SET, END + 5, "seek 5005 SET");
	skips(s, 100, 0, "seek 0 END seek 5005 SET read 64");
	closed(s);
	s = opened(&unseekable, 0);
	skips(s, 100, 100, "read 64 read 64");
	ANSWERS(-EIO);
	skips(s, UINT64_MAX, 28, "read 64");
	closed(s);
	s = opened(&seekable, HONE_STREAM_EXACT);
	skips(s, 200, 200, "read 64 read 64 read 64 read 64");
	closed(s);
}
