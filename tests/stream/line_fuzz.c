/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines compared with memchr(), one at a time. The first bytes of the input
 * choose the delimiter, the longest line, the sizes of the buffer and of the
 * pieces that the source returns. The rest is the content.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <hone/stream.h>

#define HEADER 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The content, and how much of it the source has returned. */
struct content {
	const uint8_t *data;
	size_t size, given;
	/* most bytes that the source returns at once */
	size_t piece;
};

/* What the first bytes of the input choose. */
struct choice {
	int delimiter;
	size_t max;
	/* read this many bytes in another way after each line */
	size_t between;
	struct hone_stream_attr attr;
};

static void
check(bool good)
{
	if (!good)
		abort();
}

static ptrdiff_t
give(void *source, void *buf, size_t n)
{
	struct content *c = source;

	if (n > c->piece)
		n = c->piece;
	if (n > c->size - c->given)
		n = c->size - c->given;
	if (n > 0)
		memcpy(buf, c->data + c->given, n);
	c->given += n;
	return (ptrdiff_t)n;
}

/* Read the bytes between lines; returns the position of the stream. */
static size_t
read_between(
	struct hone_stream *s, const struct content *c, size_t at, size_t n)
{
	char buf[UINT8_MAX];
	size_t left = c->size - at;
	ptrdiff_t got = hone_stream_read(s, buf, n);

	check(got == (ptrdiff_t)(n < left ? n : left));
	check(got == 0 || memcmp(buf, c->data + at, (size_t)got) == 0);
	return at + (size_t)got;
}

static void
check_lines(struct hone_stream *s, const struct content *c,
	const struct choice *how)
{
	size_t at = 0, max = how->max;

	for (;;) {
		const uint8_t *from = c->data + at;
		size_t left = c->size - at;
		const uint8_t *found =
			left > 0 ? memchr(from, how->delimiter, left) : NULL;
		size_t length = found ? (size_t)(found - from) + 1 : left;
		const char *line = NULL;
		ptrdiff_t got =
			hone_stream_read_line(s, &line, how->delimiter, max);

		if (length > max) {
			check(got == -EMSGSIZE);
			max *= 2; /* searched bytes are not searched again */
			continue;
		}
		check(got == (ptrdiff_t)length);
		check(got == 0 || memcmp(line, from, length) == 0);
		if (got == 0)
			return;
		max = how->max;
		at = read_between(s, c, at + length, how->between);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hone_stream_ops ops = {.read = give};
	struct choice how = {0};
	struct content c = {0};
	struct hone_stream *s;

	if (size < HEADER)
		return 0;
	how.delimiter = data[0];
	how.max = data[1] < UINT8_MAX ? 1u + data[1] * 3u : SIZE_MAX;
	how.between = data[2] & 1 ? 0 : data[2];
	hone_stream_attr_init(&how.attr);
	how.attr.buffer_size = 1u + data[3] * 5u;
	how.attr.flags = data[4] & 1 ? HONE_STREAM_EXACT : 0;
	c = (struct content){.data = data + HEADER,
		.size = size - HEADER,
		.piece = 1u + data[5] * 3u};
	check(hone_stream_open_memory(&s, c.data, c.size, &how.attr) == 0);
	check_lines(s, &c, &how);
	check(hone_stream_close(s) == 0);
	check(hone_stream_open_ops(&s, &ops, &c, &how.attr) == 0);
	check_lines(s, &c, &how);
	check(hone_stream_eof(s));
	check(hone_stream_close(s) == 0);
	return 0;
}
