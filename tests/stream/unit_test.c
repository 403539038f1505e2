/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stream returns, whatever its source, buffer and mode are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/stream.h>
#include "support.h"

/* Allocation number fails_at of the library or of this file fails; 0: none. */
static int n_allocations, fails_at;

STANDS_FOR(void *, malloc, size_t size)
{
	return ++n_allocations == fails_at ? NULL : __real_malloc(size);
}

STANDS_FOR(int, posix_memalign, void **memory, size_t alignment, size_t size)
{
	if (++n_allocations == fails_at)
		return ENOMEM;
	return __real_posix_memalign(memory, alignment, size);
}

/* A source of the caller: a block of memory, in pieces. */
struct block {
	const char *data;
	size_t size, position;
	/* most bytes that a read returns */
	size_t piece;
};

static ptrdiff_t
read_block(void *source, void *buf, size_t n)
{
	struct block *b = source;
	size_t left = b->size - b->position;

	if (left > b->piece)
		left = b->piece;
	if (n > left)
		n = left;
	memcpy(buf, b->data + b->position, n);
	b->position += n;
	return (ptrdiff_t)n;
}

static const struct hone_stream_ops block_ops = {.read = read_block};

static struct hone_stream *
opened(struct block *b, size_t buffer_size, unsigned flags)
{
	struct hone_stream_attr attr = {buffer_size, SIZE_MAX, flags, {0}};
	struct hone_stream *s;

	assert_int_equal(hone_stream_open_ops(&s, &block_ops, b, &attr), 0);
	return s;
}

TEST(defaults_are_what_the_header_says)
{
	struct hone_stream_attr attr;
	struct hone_stream *s = NULL;

	memset(&attr, 0xff, sizeof(attr));
	hone_stream_attr_init(&attr);
	assert_int_equal(attr.buffer_size, 65536);
	assert_int_equal(attr.bypass_size, 32768);
	assert_int_equal(attr.flags, 0);
	for (size_t i = 0; i < 4; i++)
		assert_null(attr.reserved[i]);
	attr.buffer_size = (size_t)HONE_STREAM_BUFFER_MAX + 1;
	assert_int_equal(hone_stream_open_memory(&s, "", 1, &attr), -EINVAL);
	attr.buffer_size = HONE_STREAM_BUFFER_MAX;
	attr.flags = 16;
	assert_int_equal(hone_stream_open_memory(&s, "", 1, &attr), -EINVAL);
	assert_null(s);
	attr.flags = 7;
	assert_int_equal(hone_stream_open_memory(&s, "", 1, &attr), 0);
	assert_int_equal(hone_stream_close(s), 0);
}

TEST(memory_is_looked_at_where_it_lies)
{
	static const char text[] = "first\nsecond\nlast";
	struct hone_stream *s;
	const void *data;
	const char *line;
	char buf[20];

	assert_int_equal(hone_stream_open_memory(&s, text, 17, NULL), 0);
	assert_int_equal(hone_stream_peek(s, &data, 100), 17);
	assert_ptr_equal(data, text);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 6);
	assert_ptr_equal(line, text);
	assert_int_equal(hone_stream_tell(s), 6);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 6), -EMSGSIZE);
	assert_int_equal(hone_stream_skip(s, 100), 11);
	assert_true(hone_stream_eof(s));
	hone_stream_clear_eof(s);
	assert_true(hone_stream_eof(s));
	assert_int_equal(hone_stream_read(s, buf, 20), 0);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 0);
	assert_int_equal(hone_stream_seek(s, -4, SEEK_END), 13);
	assert_false(hone_stream_eof(s));
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 4), 4);
	assert_ptr_equal(line, text + 13);
	assert_int_equal(hone_stream_seek(s, 1, SEEK_CUR), -EINVAL);
	assert_int_equal(hone_stream_seek(s, -18, SEEK_END), -EINVAL);
	assert_int_equal(hone_stream_seek(s, INT64_MAX, SEEK_END), -EOVERFLOW);
	assert_int_equal(hone_stream_seek(s, 18, SEEK_SET), -EINVAL);
	assert_int_equal(hone_stream_seek(s, 0, 7), -EINVAL);
	assert_int_equal(hone_stream_tell(s), 17);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), 0);
	assert_int_equal(hone_stream_read(s, buf, 20), 17);
	assert_memory_equal(buf, text, 17);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), 0);
	assert_int_equal(hone_stream_set_buffer(s, 1, 1), 0);
	assert_int_equal(hone_stream_read_some(s, buf, 20), 17);
	assert_int_equal(hone_stream_close(s), 0);
	assert_int_equal(hone_stream_open_memory(&s, NULL, 0, NULL), 0);
	assert_true(hone_stream_eof(s));
	assert_int_equal(hone_stream_read(s, NULL, 0), 0);
	assert_int_equal(hone_stream_read_line(s, &line, 0, 1), 0);
	assert_int_equal(hone_stream_peek(s, &data, 1), 0);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_END), 0);
	assert_int_equal(hone_stream_close(s), 0);
}

/* Each line of text, with any buffer and in any pieces. */
static void
assert_lines(const char *text, size_t size, int end, size_t buffer_size,
	size_t piece, unsigned flags)
{
	struct block b = {text, size, 0, piece};
	struct hone_stream *s = opened(&b, buffer_size, flags);
	const char *line;
	size_t at = 0;

	while (at < size) {
		const char *found = memchr(text + at, end, size - at);
		size_t n = found ? (size_t)(found - text) + 1 - at : size - at;

		/* longer than what is allowed, then exactly as long as
		 * allowed */
		if (n > 1)
			assert_int_equal(
				hone_stream_read_line(s, &line, end, n - 1),
				-EMSGSIZE);
		assert_int_equal(hone_stream_read_line(
					 s, &line, end, at % 2 ? SIZE_MAX : n),
			n);
		assert_memory_equal(line, text + at, n);
		at += n;
		assert_int_equal(hone_stream_tell(s), at);
	}
	assert_int_equal(hone_stream_read_line(s, &line, end, 1), 0);
	assert_true(hone_stream_eof(s));
	assert_int_equal(hone_stream_close(s), 0);
}

TEST(lines_are_found_wherever_they_end)
{
	static const size_t sizes[] = {1, 2, 63, 64, 65, 127, 1000, 65536};
	static char text[130 * 131];
	size_t n = 0;

	/* of every length, an empty one first, the last one without an end */
	for (size_t length = 0; length < 130; length++) {
		memset(text + n, 'a' + (int)(length % 26), length);
		n += length;
		text[n++] = '\n';
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (unsigned flags = 0; flags <= HONE_STREAM_EXACT; flags++) {
			assert_lines(text, n, '\n', sizes[i], 100, flags);
			assert_lines(
				text, n - 1, '\n', sizes[i], SIZE_MAX, flags);
			assert_lines(text, n, 'b', sizes[i], 7, flags);
		}
	}
	/* bytes that are not letters, many ends side by side */
	memset(text, 0xff, sizeof(text));
	memset(text + 5000, 0, 3000);
	assert_lines(text, sizeof(text), 0xff, 500, 300, 0);
	assert_lines(text, sizeof(text), 0, 500, 300, 0);
	assert_lines(text, sizeof(text), 0x7f, 500, 300, 0);
}

TEST(a_line_longer_than_the_buffer_makes_it_grow)
{
	const size_t size = 3000000;
	char *text = malloc(size);
	struct block b = {text, size, 0, 5000};
	struct hone_stream *s = opened(&b, 64, 0);
	const char *line;

	assert_non_null(text);
	memset(text, 'x', size);
	text[size / 2] = '\n';
	assert_int_equal(
		hone_stream_read_line(s, &line, '\n', SIZE_MAX), size / 2 + 1);
	assert_memory_equal(line, text, size / 2 + 1);
	assert_int_equal(
		hone_stream_read_line(s, &line, '\n', size / 2 - 2), -EMSGSIZE);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', size / 2 - 1),
		size / 2 - 1);
	assert_int_equal(hone_stream_set_buffer(s, 64, 64), 0);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 1), 0);
	assert_int_equal(hone_stream_close(s), 0);
	free(text);
}

TEST(lines_and_other_calls_do_not_disturb_each_other)
{
	static const char text[] = "a,b;c\nd,e;f\n,g;h,,i\nj;k,l\nm,n;o,p;q\n"
				   "r;s,t\nu,v;w\nx,y,z;0\n1,2;3\n4;5,6\n";
	struct hone_stream *s;
	const char *line;
	const void *data;
	char buf[4];

	assert_int_equal(
		hone_stream_open_memory(&s, text, sizeof(text) - 1, NULL), 0);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 6);
	assert_int_equal(hone_stream_read_line(s, &line, ',', 99), 2);
	assert_int_equal(hone_stream_read(s, buf, 4), 4);
	assert_memory_equal(buf, "e;f\n", 4);
	/* at the end of a line that was found before */
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 8);
	assert_memory_equal(line, ",g;h,,i\n", 8);
	assert_int_equal(hone_stream_peek(s, &data, 3), sizeof(text) - 21);
	hone_stream_take(s, 3);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 3);
	assert_memory_equal(line, ",l\n", 3);
	assert_int_equal(hone_stream_seek(s, 8, SEEK_SET), 8);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 4);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 7), -EMSGSIZE);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 8), 8);
	assert_int_equal(hone_stream_skip(s, 6), 6);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 10);
	assert_memory_equal(line, "m,n;o,p;q\n", 10);
	assert_int_equal(hone_stream_close(s), 0);
}

TEST(the_next_buffer_has_lines_of_its_own)
{
	char text[512], buf[256];
	struct block b = {text, sizeof(text), 0, SIZE_MAX};
	struct hone_stream *s = opened(&b, 256, 0);
	const char *line;

	for (int i = 0; i < 512; i++) {
		bool ends = i < 256 ? i % 10 == 9 : i % 16 == 15;

		text[i] = ends ? '\n' : 'x';
	}
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 10);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 10);
	assert_int_equal(hone_stream_read(s, buf, 236), 236);
	/* now it stands where a line of the first buffer ended */
	assert_int_equal(hone_stream_read(s, buf, 20), 20);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 99), 12);
	assert_int_equal(hone_stream_close(s), 0);
}

/* Every allocation fails once; then the call is repeated and all is there. */
TEST(without_memory_nothing_is_lost)
{
	static char text[30000];
	int at = 0;

	memset(text, 'x', sizeof(text));
	text[20000] = '\n';
	do {
		struct block b = {text, sizeof(text), 0, 700};
		struct hone_stream_attr attr = {64, SIZE_MAX, 0, {0}};
		struct hone_stream *s = NULL;
		const char *line;
		const void *data;
		ptrdiff_t got;
		char byte;

		n_allocations = 0;
		fails_at = ++at;
		if (hone_stream_open_ops(&s, &block_ops, &b, &attr)) {
			assert_int_equal(at, 1);
			assert_null(s);
			continue;
		}
		got = hone_stream_read(s, &byte, 1);
		if (got == -ENOMEM)
			got = hone_stream_read(s, &byte, 1);
		assert_int_equal(got, 1);
		got = hone_stream_read_line(s, &line, '\n', SIZE_MAX);
		if (got == -ENOMEM)
			got = hone_stream_read_line(s, &line, '\n', SIZE_MAX);
		assert_int_equal(got, 20000);
		assert_memory_equal(line, text + 1, 20000);
		got = hone_stream_peek(s, &data, SIZE_MAX);
		if (got == -ENOMEM)
			got = hone_stream_peek(s, &data, SIZE_MAX);
		assert_int_equal(got, sizeof(text) - 20001);
		assert_int_equal(hone_stream_close(s), 0);
	} while (n_allocations >= fails_at);
	fails_at = 0;
	assert_true(at > 5);
}
