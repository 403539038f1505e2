/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions: seek, tell and skip. */
#include <errno.h>
#include <stdio.h>
#include "stream/stream.h"

/* Seek the source; what is neither a position nor an errno is -EIO. */
static int64_t
seek_source(struct hone_reader *r, int64_t offset, int whence)
{
	int64_t position = r->source->seek(&r->view, offset, whence);

	return position < -HONE_STREAM_ERRNO_MAX ? -EIO : position;
}

/* Ask the source for its position, once. 0 or a negative errno. */
static int
learn(struct hone_reader *r)
{
	int64_t position;

	if (r->known || !r->seekable)
		return 0;
	position = seek_source(r, 0, SEEK_CUR);
	if (position == -ESPIPE) {
		r->seekable = false;
		return 0;
	}
	if (position < 0)
		return (int)position;
	if (position < r->view.end - r->start)
		return -EIO; /* so much was read to get there, it said */
	r->search.searched = 0;
	r->offset = position;
	r->known = true;
	return 0;
}

/* Of the next byte. */
static int64_t
position_of(const struct hone_reader *r)
{
	return r->offset - (int64_t)hone_reader_buffered(r);
}

int64_t
hone_stream_tell(struct hone_stream *stream)
{
	struct hone_reader *r = hone_reader(stream);
	int error = learn(r);

	return error ? error : position_of(r);
}

/* The source is somewhere else now. */
static int64_t
arrive(struct hone_reader *r, int64_t position)
{
	hone_reader_drop(r);
	hone_reader_forget_end(r);
	r->error = 0;
	r->offset = position;
	r->known = true;
	return position;
}

/* To a position in what the buffer holds, taken bytes included: no call. */
static bool
seek_in_buffer(struct hone_reader *r, int64_t position)
{
	if (hone_reader_exact(r) || position > r->offset ||
		r->offset - position > r->view.end - r->start)
		return false;
	r->view.pos = r->view.end - (r->offset - position);
	r->error = 0;
	hone_reader_forget_end(r);
	return true;
}

/* A position reckoned from another, or a negative errno. */
static int64_t
reckon(int64_t base, int64_t offset)
{
	int64_t position;

	if (__builtin_add_overflow(base, offset, &position))
		return -EOVERFLOW;
	return position < 0 ? -EINVAL : position;
}

static int64_t
seek_memory(struct hone_reader *r, int64_t offset, int whence)
{
	int64_t base = whence == SEEK_END   ? r->offset
		       : whence == SEEK_CUR ? position_of(r)
					    : 0;
	int64_t position = reckon(base, offset);

	if (position >= 0 && !seek_in_buffer(r, position))
		return -EINVAL;
	return position;
}

/* From here: past what is buffered, since the source is ahead by that. */
static int64_t
seek_relative(struct hone_reader *r, int64_t offset)
{
	if (__builtin_sub_overflow(
		    offset, (int64_t)hone_reader_buffered(r), &offset))
		return -EINVAL;
	return seek_source(r, offset, SEEK_CUR);
}

int64_t
hone_stream_seek(struct hone_stream *stream, int64_t offset, int whence)
{
	struct hone_reader *r = hone_reader(stream);
	int64_t position;

	if (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END)
		return -EINVAL;
	if (r->source == &hone_source_memory)
		return seek_memory(r, offset, whence);
	if (whence != SEEK_END && !hone_reader_exact(r) &&
		r->start < r->view.end) {
		int error = learn(r);

		if (error)
			return error;
	}
	if (!r->seekable)
		return -ESPIPE;
	if (whence == SEEK_SET || (whence == SEEK_CUR && r->known)) {
		position =
			reckon(whence == SEEK_CUR ? position_of(r) : 0, offset);
		if (position < 0 || (r->known && seek_in_buffer(r, position)))
			return position;
	}
	position = whence == SEEK_CUR ? seek_relative(r, offset)
				      : seek_source(r, offset, whence);
	return position < 0 ? position : arrive(r, position);
}

/*
 * Skip by seeking, with an empty buffer. The end may lie before what was asked
 * for: then the rest is tried by reading, which proves it. How many bytes; 0 if
 * no end lies ahead, as in files that have no size; or a negative errno.
 */
static int64_t
skip_by_seek(struct hone_reader *r, int64_t n)
{
	int64_t from, end, to;
	int error = learn(r);

	if (error || !r->seekable)
		return error;
	from = r->offset;
	end = seek_source(r, 0, SEEK_END);
	if (end < 0)
		return 0; /* what is wrong is seen by who reads on */
	to = from;
	if (end > from)
		to = n < end - from ? from + n : end;
	to = seek_source(r, to, SEEK_SET);
	(void)arrive(r, to < 0 ? end : to);
	return to < 0 ? to : to - from;
}

static int64_t
skip_once(struct hone_reader *r, int64_t n, bool *may_seek)
{
	int64_t got = (int64_t)hone_reader_buffered(r);

	if (got == 0 && *may_seek && n >= (int64_t)r->buffer_size &&
		!r->error && !r->at_end) {
		*may_seek = false;
		got = skip_by_seek(r, n);
		if (got != 0)
			return got;
	}
	if (got == 0) {
		got = hone_reader_fill(r, 0);
		if (got <= 0)
			return got;
	}
	if (got > n)
		got = n;
	r->view.pos += got;
	return got;
}

int64_t
hone_stream_skip(struct hone_stream *stream, uint64_t n)
{
	struct hone_reader *r = hone_reader(stream);
	bool may_seek = r->seekable && !hone_reader_exact(r);
	int64_t done = 0, got;

	if (n > INT64_MAX)
		n = INT64_MAX;
	while (done < (int64_t)n) {
		got = skip_once(r, (int64_t)n - done, &may_seek);
		if (got <= 0)
			return hone_reader_settle(r, done, got);
		done += got;
	}
	return done;
}
