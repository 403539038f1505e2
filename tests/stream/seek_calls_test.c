/* SPDX-License-Identifier: BSD-3-Clause */
/* The promise of hone/stream.h about positions: which calls a source of the
 * caller sees, in which order, with which sizes. */
#include "recorder.h"

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
