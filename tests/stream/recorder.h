/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_STREAM_RECORDER_H
#define HONE_TESTS_STREAM_RECORDER_H
/*
 * A source that records each call, and streams over it: do something, then
 * compare the calls, word by word.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/stream.h>
#include "support.h"

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

__attribute__((format(printf, 2, 3))) static inline void
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

static inline long
next_answer(struct recorder *r)
{
	return r->n_asked < r->n_answers ? r->answers[r->n_asked++] : 0;
}

static inline char
byte_at(int64_t position)
{
	return (char)('a' + position % 23);
}

static inline ptrdiff_t
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

static inline int64_t
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

static inline int
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

static inline struct hone_stream *
opened(const struct hone_stream_ops *ops, unsigned flags)
{
	struct hone_stream_attr attr;
	struct hone_stream *s;

	memset(&source, 0, sizeof(source));
	hone_stream_attr_init(&attr);
	attr.buffer_size = BUFFER;
	attr.bypass_size = BYPASS;
	attr.flags = flags;
	assert_int_equal(hone_stream_open_ops(&s, ops, &source, &attr), 0);
	assert_string_equal(source.log, "");
	return s;
}

/* The calls of the source since the last use of this. */
static inline void
saw(const char *calls)
{
	assert_string_equal(source.log, calls);
	source.log[0] = '\0';
	assert_int_equal(source.n_asked, source.n_answers);
	source.n_asked = source.n_answers = 0;
}

static inline void
will_answer(int n, const long *answers)
{
	memcpy(source.answers, answers, (size_t)n * sizeof(*answers));
	source.n_answers = n;
	source.n_asked = 0;
}

#define ANSWERS(...)                                                           \
	will_answer((int)(sizeof((long[]){__VA_ARGS__}) / sizeof(long)),       \
		(long[]){__VA_ARGS__})

static inline void
closed(struct hone_stream *s)
{
	assert_int_equal(hone_stream_close(s), 0);
	saw("close");
}

/* Read n bytes, of which got arrive; expects these calls. */
static inline void
reads(struct hone_stream *s, size_t n, ptrdiff_t got, const char *calls)
{
	char *buf = malloc(n + 1);

	assert_non_null(buf);
	assert_int_equal(hone_stream_read(s, buf, n), got);
	saw(calls);
	free(buf);
}

static inline void
peeks(struct hone_stream *s, size_t n, ptrdiff_t got, const char *calls)
{
	const void *data;

	assert_int_equal(hone_stream_peek(s, &data, n), got);
	saw(calls);
}

static inline void
lines(struct hone_stream *s, char end, size_t max, ptrdiff_t got,
	const char *calls)
{
	const char *line;

	assert_int_equal(hone_stream_read_line(s, &line, end, max), got);
	saw(calls);
}

static inline void
seeks(struct hone_stream *s, int64_t offset, int whence, int64_t to,
	const char *calls)
{
	assert_int_equal(hone_stream_seek(s, offset, whence), to);
	saw(calls);
}

static inline void
skips(struct hone_stream *s, uint64_t n, int64_t got, const char *calls)
{
	assert_int_equal(hone_stream_skip(s, n), got);
	saw(calls);
}

#endif
