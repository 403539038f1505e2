/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffer: asking the source, and where what it gives is put.
 *
 * In front of the place where the source's bytes are put there is a headroom.
 * What is left of the last buffer, the beginning of a line mostly, is moved
 * there. So it joins what comes, and every read has room for a whole buffer.
 * Only what is longer than the headroom makes the memory grow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "stream/stream.h"

#define PAGE 4096

/* Largest read that is made to satisfy one peek or line: bounds how far the
 * memory runs ahead of what is really there. */
#define STEP_MAX ((size_t)16 << 20)

/* Where lines end is noted by address. */
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

/* The next answer is known without the source: an error that was kept, or the
 * end. */
static bool
is_settled(const struct hone_reader *r)
{
	return r->error || (r->at_end && !hone_reader_exact(r));
}

static ptrdiff_t
settled(struct hone_reader *r)
{
	int error = r->error;

	r->error = 0;
	return error;
}

/* Of a regular file, a short read is the end; but only behind where fstat saw
 * it: files in /proc have no size there, and some of FUSE's give what they
 * have. */
static bool
proves_end(const struct hone_reader *r, size_t got, size_t n)
{
	return got == 0 ||
	       (got < n && r->file_size > 0 && r->offset >= r->file_size);
}

ptrdiff_t
hone_reader_ask(struct hone_reader *r, void *buf, size_t n)
{
	ptrdiff_t got;

	if (is_settled(r))
		return settled(r);
	if (n > HONE_STREAM_ASK_MAX)
		n = HONE_STREAM_ASK_MAX;
	/* No file is that long, but a seek may have said so. */
	if (n > (uint64_t)(INT64_MAX - r->offset))
		n = (size_t)(INT64_MAX - r->offset);
	if (n == 0)
		return -EOVERFLOW;
	/* What was taken does not lie before what comes any more. */
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
hone_reader_settle(struct hone_reader *r, int64_t done, int64_t answer)
{
	if (answer >= 0)
		return done + answer;
	if (done == 0)
		return answer;
	/* These pass; who waits for more must not be told of them later. */
	if (answer != -EAGAIN && answer != -ETIMEDOUT)
		r->error = (int)answer;
	return done;
}

/* What lies in front of the buffer, for the start of a line: enough for most,
 * and whole pages, so that the source's bytes come to a page's beginning. */
static size_t
headroom(const struct hone_reader *r)
{
	return (r->buffer_size / 8 / PAGE + 1) * PAGE;
}

/* Put what is buffered at a place in memory. */
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
 * Room for n bytes behind what is buffered. What is moved to the front of
 * memory is at most half of it, so that at least as much is read before it has
 * to be moved again: each byte is moved once on average, however long a line.
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

	if (is_settled(r))
		return settled(r);
	if (make_room(r, n))
		return -ENOMEM;
	got = hone_reader_ask(r, (void *)(uintptr_t)r->view.end, n);
	if (got > 0)
		r->view.end += got;
	return got;
}

size_t
hone_reader_take(struct hone_reader *r, void *buf, size_t n)
{
	size_t buffered = hone_reader_buffered(r);

	if (n > buffered)
		n = buffered;
	hone_memcpy(buf, r->view.pos, n, HONE_COPY_KEEP);
	r->view.pos += n;
	return n;
}
