/* SPDX-License-Identifier: BSD-3-Clause */
/* The promise of hone/stream.h about reads and positions: which calls a source
 * of the caller sees, in which order, with which sizes. */
#include <limits.h>
#include <hone/stream.h>
#include "support.h"

/*
 * A source that records each call, and streams over it: do something, then
 * compare the calls, word by word.
 */

#define BUFFER 64
#define BYPASS 32
#define END 5000

/* A source of END bytes that records its calls. */
struct recorder {
	int64_t position;
	/* what the next reads and seeks do: at most so many bytes, or this
	 * error; 0: what was requested */
	long answers[8];
	int n_answers, n_asked;
	char log[512];
};

__attribute__((format(printf, 2, 3))) static void
record(struct recorder *r, const char *format, ...)
{
	size_t used = strlen(r->log);
	va_list args;

	assert_true(used + 40 < sizeof(r->log));
	if (used > 0)
		r->log[used++] = ' ';
	va_start(args, format);
	(void)vsnprintf(r->log + used, sizeof(r->log) - used, format, args);
	va_end(args);
}

static long
next_answer(struct recorder *r)
{
	return r->n_asked < r->n_answers ? r->answers[r->n_asked++] : 0;
}

static char
byte_at(int64_t position)
{
	return (char)('a' + position % 23);
}

static ptrdiff_t
recording_read(void *source, void *buf, size_t n)
{
	struct recorder *r = source;
	long answer = next_answer(r);
	size_t left = r->position < END ? (size_t)(END - r->position) : 0;

	record(r, "read %zu", n);
	if (answer < 0 || answer > (long)n)
		return answer;
	if (answer > 0 && left > (size_t)answer)
		left = (size_t)answer;
	if (n > left)
		n = left;
	for (size_t i = 0; i < n; i++)
		((char *)buf)[i] = byte_at(r->position++);
	return (ptrdiff_t)n;
}

static int64_t
recording_seek(void *source, int64_t offset, int whence)
{
	static const char *const names[] = {"SET", "CUR", "END"};
	struct recorder *r = source;
	long answer = next_answer(r);

	record(r, "seek %lld %s", (long long)offset, names[whence]);
	if (answer < 0)
		return answer;
	if (whence == SEEK_CUR)
		offset += r->position;
	if (whence == SEEK_END)
		offset += END;
	if (offset < 0)
		return -EINVAL;
	return r->position = offset;
}

static int
recording_close(void *source)
{
	struct recorder *r = source;

	record(r, "close");
	return (int)next_answer(r);
}

static const struct hone_stream_ops seekable = {.read = recording_read,
	.seek = recording_seek,
	.close = recording_close};
static const struct hone_stream_ops unseekable = {
	.read = recording_read, .close = recording_close};

static struct recorder source;

static struct hone_stream *
opened(const struct hone_stream_ops *ops, unsigned flags)
{
	struct hone_stream_attr attr;
	struct hone_stream *s;

	memset(&source, 0, sizeof(source));
	hone_stream_attr_init(&attr);
	attr.buffer_size = BUFFER;
	attr.bypass_size = BYPASS;
	attr.flags = flags;
	assert_ok(hone_stream_open_ops(&s, ops, &source, &attr));
	assert_string_equal(source.log, "");
	return s;
}

/* The calls of the source since the last use of this. */
static void
saw(const char *calls)
{
	assert_string_equal(source.log, calls);
	source.log[0] = '\0';
	assert_int_equal(source.n_asked, source.n_answers);
	source.n_asked = source.n_answers = 0;
}

static void
will_answer(int n, const long *answers)
{
	memcpy(source.answers, answers, (size_t)n * sizeof(*answers));
	source.n_answers = n;
	source.n_asked = 0;
}

#define ANSWERS(...)                                                           \
	will_answer((int)(sizeof((long[]){__VA_ARGS__}) / sizeof(long)),       \
		(long[]){__VA_ARGS__})

static void
closed(struct hone_stream *s)
{
	assert_ok(hone_stream_close(s));
	saw("close");
}

/* Read n bytes, of which got arrive; expects these calls. */
static void
reads(struct hone_stream *s, size_t n, ptrdiff_t got, const char *calls)
{
	char *buf = malloc(n + 1);

	assert_non_null(buf);
	assert_int_equal(hone_stream_read(s, buf, n), got);
	saw(calls);
	free(buf);
}

static void
peeks(struct hone_stream *s, size_t n, ptrdiff_t got, const char *calls)
{
	const void *data;

	assert_int_equal(hone_stream_peek(s, &data, n), got);
	saw(calls);
}

static void
lines(struct hone_stream *s, char end, size_t max, ptrdiff_t got,
	const char *calls)
{
	const char *line;

	assert_int_equal(hone_stream_read_line(s, &line, end, max), got);
	saw(calls);
}

static void
seeks(struct hone_stream *s, int64_t offset, int whence, int64_t to,
	const char *calls)
{
	assert_int_equal(hone_stream_seek(s, offset, whence), to);
	saw(calls);
}

static void
skips(struct hone_stream *s, uint64_t n, int64_t got, const char *calls)
{
	assert_int_equal(hone_stream_skip(s, n), got);
	saw(calls);
}

/* ---- calls ---- */

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

/* ---- errors ---- */

/* What a stream does with the errors of a source of the caller, and with
 * returns that are neither a size nor an error. */

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
	assert_ok(hone_stream_set_buffer(s, 7, SIZE_MAX));
	reads(s, 54 + 20, 54 + 20, "read 7 read 7 read 7");
	assert_ok(hone_stream_set_buffer(s, 1000, 0));
	reads(s, 2, 2, "read 1");
	assert_int_equal(hone_stream_set_buffer(s, 0, 5), -EINVAL);
	assert_int_equal(hone_stream_set_buffer(
				 s, (size_t)HONE_STREAM_BUFFER_MAX + 1, 5),
		-EINVAL);
	peeks(s, 1, 1000, "read 1000");
	closed(s);
}
