/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any mix of calls gives the same bytes as an array: streams over memory, files
 * and sources that return pieces, with buffers of any size, in both modes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hone/stream.h>
#include "support.h"

#define MOST 200000
#define ROOM (MOST + 2000)

enum kind { MEMORY, A_FILE, OPS, OPS_WITHOUT_SEEK, KINDS };

/* The content, and the expected position. */
static struct {
	unsigned char data[ROOM];
	size_t size, position;
	enum kind kind;
	/* of the ops */
	size_t source_position;
	uint64_t random;
	struct hone_stream *stream;
} it;

static size_t
below(size_t n)
{
	return support_below(&it.random, n);
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
left(void)
{
	return it.position < it.size ? it.size - it.position : 0;
}

static ptrdiff_t
read_pieces(void *source, void *buf, size_t n)
{
	size_t from = least(it.source_position, it.size);

	assert_ptr_equal(source, &it);
	if (below(8) == 0)
		return -EINTR;
	n = least(n, it.size - from);
	if (n > 1 && below(2))
		n = 1 + below(n);
	memcpy(buf, it.data + from, n);
	it.source_position += n;
	return (ptrdiff_t)n;
}

static int64_t
position_of(int64_t offset, int whence, size_t current)
{
	if (whence == SEEK_CUR)
		offset += (int64_t)current;
	if (whence == SEEK_END)
		offset += (int64_t)it.size;
	return offset < 0 ? -EINVAL : offset;
}

static int64_t
seek_pieces(void *source, int64_t offset, int whence)
{
	int64_t to = position_of(offset, whence, it.source_position);

	assert_ptr_equal(source, &it);
	if (to >= 0)
		it.source_position = (size_t)to;
	return to;
}

static void
open_file(const struct hone_stream_attr *attr)
{
	char path[] = "stream-random-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write(fd, it.data, it.size), it.size);
	/* not always from the beginning */
	it.position = below(4) ? 0 : below(it.size + 1);
	assert_int_equal(lseek(fd, (off_t)it.position, SEEK_SET), it.position);
	assert_int_equal(hone_stream_open_fd(&it.stream, fd, attr), 0);
}

static void
begin(void)
{
	const struct hone_stream_ops ops = {
		.read = read_pieces, .seek = seek_pieces};
	const struct hone_stream_ops no_seek = {.read = read_pieces};
	struct hone_stream_attr attr;
	size_t rare = 1 + below(3000);

	it.size = below(3) ? below(3000) : below(MOST);
	for (size_t i = 0; i < it.size; i++)
		it.data[i] = below(rare) ? (unsigned char)('a' + i % 26) : '\n';
	it.position = it.source_position = 0;
	hone_stream_attr_init(&attr);
	attr.buffer_size = 1 + below(below(2) ? 200 : 70000);
	attr.bypass_size = below(below(2) ? 300 : 70000);
	attr.flags = HONE_STREAM_CLOSE_FD;
	if (below(2))
		attr.flags |= HONE_STREAM_EXACT;
	it.kind = (enum kind)below(KINDS);
	if (it.kind == MEMORY)
		assert_int_equal(hone_stream_open_memory(
					 &it.stream, it.data, it.size, &attr),
			0);
	else if (it.kind == A_FILE)
		open_file(&attr);
	else
		assert_int_equal(
			hone_stream_open_ops(&it.stream,
				it.kind == OPS ? &ops : &no_seek, &it, &attr),
			0);
}

/* The position may be past the end. */
static const unsigned char *
here(void)
{
	return it.data + least((size_t)it.position, it.size);
}

/* The stream returned n bytes and consumed `taken` of them. */
static void
came(const void *bytes, int64_t n, size_t taken)
{
	assert_true(n >= 0 && (uint64_t)n <= left());
	assert_memory_equal(bytes, here(), (size_t)n);
	it.position += taken;
}

static void
read_or_skip(size_t n, size_t what)
{
	static unsigned char buf[ROOM];
	size_t most = least(n, left());
	int64_t got;

	if (what == 0) {
		got = hone_stream_read(it.stream, buf, n);
		assert_int_equal(got, most);
		came(buf, got, most);
	} else if (what == 1) {
		got = hone_stream_read_some(it.stream, buf, n);
		assert_true(got > 0 || most == 0);
		assert_true(got <= (int64_t)most);
		came(buf, got, (size_t)got);
	} else {
		assert_int_equal(hone_stream_skip(it.stream, n), most);
		it.position += most;
	}
}

static void
peek(size_t n)
{
	const void *data;
	ptrdiff_t got = hone_stream_peek(it.stream, &data, n);
	size_t taken;

	assert_true(got >= (ptrdiff_t)least(n, left()));
	taken = below(2) ? below((size_t)got + 1) : 0;
	came(data, got, taken);
	hone_stream_take(it.stream, taken);
}

static void
read_line(size_t max, int end)
{
	const unsigned char *from = here();
	const unsigned char *found = memchr(from, end, left());
	size_t n = found ? (size_t)(found - from) + 1 : left();
	const char *line;
	ptrdiff_t got = hone_stream_read_line(it.stream, &line, end, max);

	if (n > max) {
		assert_int_equal(got, -EMSGSIZE);
	} else {
		assert_int_equal(got, n);
		came(line, got, n);
	}
}

static void
seek(void)
{
	int whence = (int)below(3);
	int64_t offset = (int64_t)below(it.size + 50) - 20, to;

	if (whence != SEEK_SET)
		offset -= (int64_t)it.size / (whence == SEEK_CUR ? 2 : 1);
	to = position_of(offset, whence, it.position);
	if (it.kind == OPS_WITHOUT_SEEK)
		to = -ESPIPE;
	if (it.kind == MEMORY && to > (int64_t)it.size)
		to = -EINVAL;
	assert_int_equal(hone_stream_seek(it.stream, offset, whence), to);
	if (to >= 0)
		it.position = (size_t)to;
}

static void
look_around(void)
{
	if (below(2))
		assert_int_equal(hone_stream_tell(it.stream), it.position);
	if (hone_stream_eof(it.stream))
		assert_int_equal(left(), 0);
	if (below(4) == 0)
		hone_stream_clear_eof(it.stream);
	if (below(8) == 0)
		assert_int_equal(hone_stream_set_buffer(it.stream,
					 1 + below(5000), below(5000)),
			0);
}

static void
step(void)
{
	size_t n = below(below(3) ? 300 : it.size + 1000);
	size_t what = below(10);

	if (what < 3)
		read_or_skip(n, what);
	else if (what == 3)
		peek(n);
	else if (what < 7)
		read_line(below(3) ? SIZE_MAX : 1 + n, below(4) ? '\n' : 'q');
	else if (what == 7)
		seek();
	else if (what == 8)
		look_around();
	else
		read_or_skip(1, 0);
}

TEST(any_mix_of_calls_gives_what_an_array_would)
{
	it.random = support_seed();
	for (int round = 0; round < 400; round++) {
		begin();
		for (int i = 0; i < 200; i++)
			step();
		assert_int_equal(hone_stream_close(it.stream), 0);
	}
}
