/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any calls in any order, compared with an array. The input is a program: its
 * first bytes choose sizes and where the stream reads, then every four bytes
 * are one call, with its arguments and what the source does meanwhile.
 * random_test.c makes such programs at random.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hone/stream.h>

#define HEADER 4
#define CALL 4
#define CONTENT ((size_t)10000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum kind { OPS, OPS_WITHOUT_SEEK, MEMORY, A_FILE };

static struct {
	enum kind kind;
	unsigned char content[CONTENT];
	size_t position; /* of the stream */
	size_t source;   /* of the source */
	/* most bytes of a read; an error that the next call returns */
	size_t piece;
	int error;
	/* it was returned, and the stream may keep it for its next call */
	bool kept;
	struct hone_stream *stream;
} it;

static void
check(bool good)
{
	if (!good)
		abort();
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
left_from(size_t position)
{
	return position < CONTENT ? CONTENT - position : 0;
}

static int
next_error(void)
{
	int error = it.error;

	it.error = 0;
	it.kept = it.kept || error;
	return error;
}

static ptrdiff_t
give(void *source, void *buf, size_t n)
{
	int error = next_error();

	(void)source;
	if (error)
		return error;
	n = least(least(n, it.piece), left_from(it.source));
	memcpy(buf, it.content + least(it.source, CONTENT), n);
	it.source += n;
	return (ptrdiff_t)n;
}

static int64_t
reckon(int64_t offset, int whence, size_t position)
{
	if (whence == SEEK_CUR)
		offset += (int64_t)position;
	if (whence == SEEK_END)
		offset += (int64_t)CONTENT;
	return offset < 0 ? -EINVAL : offset;
}

static int64_t
go(void *source, int64_t offset, int whence)
{
	int64_t to = reckon(offset, whence, it.source);
	int error = next_error();

	(void)source;
	if (error && error != -EINTR)
		return error;
	if (to >= 0)
		it.source = (size_t)to;
	return to;
}

/* These bytes are the next; so many of them are consumed. */
static void
came(const void *bytes, ptrdiff_t n, size_t taken)
{
	size_t at = least(it.position, CONTENT);

	check((size_t)n <= left_from(at));
	check(n == 0 || memcmp(bytes, it.content + at, (size_t)n) == 0);
	it.position += taken;
}

/* An answer that is an error has consumed nothing, and the source returned
 * it. */
static bool
is_error(int64_t got)
{
	check(got >= 0 || got == -EIO || got == -EAGAIN);
	/* neither memory nor a file has one */
	check(got >= 0 || it.kind == OPS || it.kind == OPS_WITHOUT_SEEK);
	it.kept = it.kept && got >= 0;
	return got < 0;
}

static void
read_or_skip(unsigned what, size_t n)
{
	static unsigned char buf[4 * CONTENT];
	int64_t got = what == 0   ? hone_stream_read(it.stream, buf, n)
		      : what == 1 ? hone_stream_read_some(it.stream, buf, n)
				  : hone_stream_skip(it.stream, n);
	size_t most;

	if (is_error(got))
		return;
	most = least(n, left_from(it.position));
	check((uint64_t)got <= most);
	/* Fewer than there are: before an error, or by choice. */
	check((uint64_t)got == most || it.kept || (what == 1 && got > 0));
	if (what == 2)
		it.position += (size_t)got;
	else
		came(buf, got, (size_t)got);
}

static void
peek(size_t n, unsigned share)
{
	const void *data = NULL;
	ptrdiff_t got = hone_stream_peek(it.stream, &data, n);
	size_t taken;

	if (is_error(got))
		return;
	check((size_t)got >= least(n, left_from(it.position)));
	taken = (size_t)got * share / UINT8_MAX;
	came(data, got, taken);
	hone_stream_take(it.stream, taken);
}

static void
read_line(size_t max, int delimiter)
{
	size_t at = least(it.position, CONTENT);
	const unsigned char *from = it.content + at;
	const unsigned char *found = memchr(from, delimiter, CONTENT - at);
	size_t length = found ? (size_t)(found - from) + 1 : CONTENT - at;
	const char *line = NULL;
	ptrdiff_t got = hone_stream_read_line(it.stream, &line, delimiter, max);

	if (got == -EMSGSIZE) {
		check(length > max);
	} else if (!is_error(got)) {
		check((size_t)got == length && length <= max);
		came(line, got, length);
	}
}

static void
seek(int64_t offset, int whence)
{
	int64_t to = reckon(offset, whence, it.position);
	int64_t got = hone_stream_seek(it.stream, offset, whence);

	if (it.kind == OPS_WITHOUT_SEEK)
		to = -ESPIPE;
	if (it.kind == MEMORY && to > (int64_t)CONTENT)
		to = -EINVAL;
	if (got == -EINVAL || got == -ESPIPE) {
		check(got == to);
	} else if (!is_error(got)) {
		check(got == to);
		it.position = (size_t)to;
		it.kept = false;
	}
}

/* One call, of four bytes. */
static void
step(const uint8_t *p)
{
	static const int errors[] = {0, 0, 0, 0, 0, -EINTR, -EIO, -EAGAIN};
	size_t n = p[1] | (p[2] & 15u) << 8;
	int64_t got;

	if (p[2] & 16)
		n *= 8; /* more than a buffer has at first */
	it.error = errors[p[0] >> 5];
	it.piece = p[3] % 2 ? CONTENT : 1u + p[3];
	switch (p[0] & 15) {
	case 0:
	case 1:
	case 2:
		read_or_skip(p[0] & 15, n);
		break;
	case 3:
		peek(n, p[3]);
		break;
	case 4:
		read_line(SIZE_MAX, p[1]);
		break;
	case 5:
		read_line(1 + n, p[3] % 8);
		break;
	case 6:
		seek((int64_t)n - 2000, p[3] % 3);
		break;
	case 7:
		hone_stream_clear_eof(it.stream);
		break;
	case 8:
		check(hone_stream_set_buffer(it.stream, 1 + n, p[3]) == 0);
		break;
	case 9:
		got = hone_stream_tell(it.stream);
		if (!is_error(got))
			check(got == (int64_t)it.position);
		break;
	default: /* small ones, as they are most common */
		read_or_skip(0, p[1] % 16);
	}
	if (hone_stream_eof(it.stream))
		check(left_from(it.position) == 0);
}

/* A file is not always read from its beginning. */
static int
open_file(size_t position, const struct hone_stream_attr *attr)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);

	check(fd >= 0);
	check(write(fd, it.content, CONTENT) == (ssize_t)CONTENT);
	check(lseek(fd, (off_t)position, SEEK_SET) == (off_t)position);
	it.position = position;
	return hone_stream_open_fd(&it.stream, fd, attr);
}

static int
open_stream(size_t position, const struct hone_stream_attr *attr)
{
	static const struct hone_stream_ops ops[] = {
		[OPS] = {.read = give, .seek = go},
		[OPS_WITHOUT_SEEK] = {.read = give}};

	if (it.kind == A_FILE)
		return open_file(position, attr);
	if (it.kind == MEMORY)
		return hone_stream_open_memory(
			&it.stream, it.content, CONTENT, attr);
	return hone_stream_open_ops(&it.stream, &ops[it.kind], &it, attr);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int shift = -1; /* of the content, which most inputs share */
	struct hone_stream_attr attr;

	if (size < HEADER)
		return 0;
	/* the last byte of the header: how often lines end */
	if (shift != data[3] % 8) {
		shift = data[3] % 8;
		for (size_t i = 0; i < CONTENT; i++)
			it.content[i] = (unsigned char)(i * i >> shift);
	}
	it.position = it.source = 0;
	it.error = 0;
	it.kept = false;
	hone_stream_attr_init(&attr);
	attr.buffer_size = 1u + data[0] * 4u;
	attr.bypass_size = data[1] < UINT8_MAX ? data[1] * 4u : SIZE_MAX;
	attr.flags = HONE_STREAM_CLOSE_FD;
	if (data[2] % 2)
		attr.flags |= HONE_STREAM_EXACT;
	it.kind = (enum kind)(data[2] / 2 % 4);
	check(open_stream(data[2] / 8 * 100u, &attr) == 0);
	for (size_t i = HEADER; i + CALL <= size; i += CALL)
		step(data + i);
	/* No byte is lost, whatever happened. */
	it.error = 0;
	it.piece = CONTENT;
	hone_stream_clear_eof(it.stream);
	peek(2 * CONTENT, 0);
	read_or_skip(0, 2 * CONTENT);
	read_or_skip(0, 2 * CONTENT);
	check(left_from(it.position) == 0);
	check(hone_stream_close(it.stream) == 0);
	return 0;
}
