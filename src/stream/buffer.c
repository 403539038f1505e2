/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffer: reads of the source, and the place of the bytes in memory.
 *
 * The source's bytes are stored after a headroom. The rest of the last buffer,
 * usually the beginning of a line, is moved into the headroom, directly before
 * the new bytes. So each read has room for buffer_size bytes, and the memory
 * grows only if the rest is longer than the headroom.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "stream/stream.h"

#define PAGE 4096

/* Largest read for a peek or a line. It limits the memory that is allocated
 * before the source has delivered bytes for it. */
#define STEP_MAX ((size_t)16 << 20)

/* The stored line ends are addresses: a move of the bytes invalidates them. */
static void
forget_lines(struct hone_reader *r)
{
	r->view.last_line = r->view.line;
}

void
hone_reader_drop(struct hone_reader *r)
{
	r->view.pos = r->view.end;
	r->start = r->view.end;
	r->search.searched = 0;
	forget_lines(r);
}

/* The next result is known without a read: a kept error, or the end. */
static bool
has_kept_answer(const struct hone_reader *r)
{
	return r->error || (r->at_end && !hone_reader_exact(r));
}

static ptrdiff_t
take_kept_answer(struct hone_reader *r)
{
	int error = r->error;

	r->error = 0;
	return error;
}

/* A short read of a regular file shows the end only at or after the size from
 * fstat: files in /proc have size 0, and some FUSE files return short reads. */
static bool
proves_end(const struct hone_reader *r, size_t got, size_t n)
{
	return got == 0 ||
	       (got < n && r->file_size > 0 && r->offset >= r->file_size);
}

/*
 * Reads up to n bytes from the source into buf and counts them. Returns a kept
 * error or a remembered end without a call. Otherwise as hone_source.read(),
 * with -EIO for an invalid result.
 */
static ptrdiff_t
read_source(struct hone_reader *r, void *buf, size_t n)
{
	ptrdiff_t got;

	if (has_kept_answer(r))
		return take_kept_answer(r);
	if (n > HONE_STREAM_READ_MAX)
		n = HONE_STREAM_READ_MAX;
	/* No file is that long, but a seek may have returned such a position.
	 */
	if (n > (uint64_t)(INT64_MAX - r->offset))
		n = (size_t)(INT64_MAX - r->offset);
	if (n == 0)
		return -EOVERFLOW;
	/* The new bytes do not follow the taken bytes in memory. */
	r->start = r->view.pos;
	do
		got = r->source->read(&r->view, buf, n);
	while (got == -EINTR);
	if (got < -HONE_STREAM_ERRNO_MAX || (got > 0 && (size_t)got > n))
		return -EIO;
	if (got < 0)
		return got;
	r->offset += got;
	r->at_end = proves_end(r, (size_t)got, n);
	return got;
}

int64_t
hone_reader_result(struct hone_reader *r, int64_t done, int64_t answer)
{
	if (answer >= 0)
		return done + answer;
	if (done == 0)
		return answer;
	/* These are temporary: a later call must not return them. */
	if (answer != -EAGAIN && answer != -ETIMEDOUT)
		r->error = (int)answer;
	return done;
}

/* Bytes before the source's bytes, for the start of a line: enough for most
 * lines, and whole pages, so that the source's bytes start at a page. */
static size_t
headroom(const struct hone_reader *r)
{
	return (r->buffer_size / 8 / PAGE + 1) * PAGE;
}

static void
move(struct hone_reader *r, unsigned char *to)
{
	size_t n = hone_reader_buffered(r);

	forget_lines(r);
	memmove(to, r->view.pos, n);
	r->view.pos = to;
	r->view.end = to + n;
	r->start = to;
}

static int
grow(struct hone_reader *r, size_t capacity, size_t at)
{
	void *memory;

	if (posix_memalign(&memory, PAGE, capacity))
		return -ENOMEM;
	move(r, (unsigned char *)memory + at);
	free(r->memory);
	r->memory = memory;
	r->capacity = capacity;
	return 0;
}

/*
 * Makes room for n bytes after the buffered bytes. A move to the front of
 * memory moves at most half of the capacity. So at least as many bytes are read
 * before the next move: each byte is moved once on average, however long a line
 * is.
 */
static int
make_room(struct hone_reader *r, size_t n)
{
	size_t buffered = hone_reader_buffered(r), head = headroom(r);

	if (!r->memory)
		return grow(r, head + n, head);
	if (buffered > 0 &&
		(size_t)(r->memory + r->capacity - r->view.end) >= n)
		return 0;
	if (buffered <= head) {
		if (r->capacity < head + n)
			return grow(r, head + n, head - buffered);
		move(r, r->memory + head - buffered);
		return 0;
	}
	if (buffered + n <= r->capacity / 2) {
		move(r, r->memory);
		return 0;
	}
	if (buffered + n > (size_t)PTRDIFF_MAX / 2)
		return -ENOMEM;
	return grow(r, 2 * (buffered + n), 0);
}

static size_t
how_much(const struct hone_reader *r, size_t wanted)
{
	size_t buffered = hone_reader_buffered(r);
	size_t missing = wanted > buffered ? wanted - buffered : 0;

	if (missing > STEP_MAX)
		missing = STEP_MAX;
	if (missing < r->buffer_size || hone_reader_exact(r))
		missing = r->buffer_size;
	return missing;
}

ptrdiff_t
hone_reader_fill(struct hone_reader *r, size_t wanted)
{
	size_t n = how_much(r, wanted);
	ptrdiff_t got;

	if (has_kept_answer(r))
		return take_kept_answer(r);
	if (make_room(r, n))
		return -ENOMEM;
	got = read_source(r, (void *)(uintptr_t)r->view.end, n);
	if (got > 0)
		r->view.end += got;
	return got;
}

/* Takes buffered bytes, at most n, into buf. Returns how many. */
static size_t
take_buffered(struct hone_reader *r, void *buf, size_t n)
{
	size_t buffered = hone_reader_buffered(r);

	if (n > buffered)
		n = buffered;
	hone_memcpy(buf, r->view.pos, n, HONE_COPY_KEEP);
	r->view.pos += n;
	return n;
}

/* Reads the source once, with an empty buffer: past the buffer or through it.
 */
static ptrdiff_t
read_once(struct hone_reader *r, void *buf, size_t n)
{
	ptrdiff_t got;

	if (n >= r->bypass_size && !hone_reader_exact(r))
		return read_source(r, buf, n);
	got = hone_reader_fill(r, 0);
	if (got <= 0)
		return got;
	return (ptrdiff_t)take_buffered(r, buf, n);
}

ptrdiff_t
hone_detail_stream_read(struct hone_stream *stream, void *buf, size_t n)
{
	struct hone_reader *r = hone_reader(stream);
	ptrdiff_t got, done;

	if (n > PTRDIFF_MAX)
		n = PTRDIFF_MAX;
	done = (ptrdiff_t)take_buffered(r, buf, n);
	while ((size_t)done < n) {
		got = read_once(r, (char *)buf + done, n - (size_t)done);
		if (got <= 0)
			return (ptrdiff_t)hone_reader_result(r, done, got);
		done += got;
	}
	return done;
}

ptrdiff_t
hone_stream_read_some(struct hone_stream *stream, void *buf, size_t n)
{
	struct hone_reader *r = hone_reader(stream);

	if (n > PTRDIFF_MAX)
		n = PTRDIFF_MAX;
	if (n == 0)
		return 0;
	if (hone_reader_buffered(r) > 0)
		return (ptrdiff_t)take_buffered(r, buf, n);
	return read_once(r, buf, n);
}

ptrdiff_t
hone_detail_stream_peek(struct hone_stream *stream, const void **data, size_t n)
{
	struct hone_reader *r = hone_reader(stream);
	ptrdiff_t got = 1;

	while (hone_reader_buffered(r) < n && got > 0)
		got = hone_reader_fill(r, n);
	if (got < 0)
		return got;
	*data = r->view.pos;
	return (ptrdiff_t)hone_reader_buffered(r);
}
