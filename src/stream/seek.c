/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions: seek, tell and skip. */
#include <errno.h>
#include <stdio.h>
#include "stream/stream.h"

/* Seeks the source. Returns -EIO for a result that is no position and no errno.
 */
static int64_t
seek_source(struct hone_reader *r, int64_t offset, int whence)
{
	int64_t position = r->source->seek(&r->view, offset, whence);

	return position < -HONE_STREAM_ERRNO_MAX ? -EIO : position;
}

/* Gets the position from the source, once. Returns 0 or a negative errno. */
static int
find_position(struct hone_reader *r)
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
		return -EIO; /* less than the bytes that were read */
	r->search.searched = 0;
	r->offset = position;
	r->known = true;
	return 0;
}

static int64_t
position_of(const struct hone_reader *r)
{
	return r->offset - (int64_t)hone_reader_buffered(r);
}

int64_t
hone_stream_tell(struct hone_stream *stream)
{
	struct hone_reader *r = hone_reader(stream);
	int error = find_position(r);

	return error ? error : position_of(r);
}

static int64_t
arrive_at(struct hone_reader *r, int64_t position)
{
	hone_reader_drop(r);
	hone_reader_forget_end(r);
	r->error = 0;
	r->offset = position;
	r->known = true;
	return position;
}

/* Seeks without a call if the buffer, taken bytes included, has the position.
 */
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

static int64_t
add_offset(int64_t base, int64_t offset)
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
	int64_t position = add_offset(base, offset);

	if (position >= 0 && !seek_in_buffer(r, position))
		return -EINVAL;
	return position;
}

/* Seeks by SEEK_CUR: the source is ahead by the buffered bytes. */
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
		int error = find_position(r);

		if (error)
			return error;
	}
	if (!r->seekable)
		return -ESPIPE;
	if (whence == SEEK_SET || (whence == SEEK_CUR && r->known)) {
		position = add_offset(
			whence == SEEK_CUR ? position_of(r) : 0, offset);
		if (position < 0 || (r->known && seek_in_buffer(r, position)))
			return position;
	}
	position = whence == SEEK_CUR ? seek_relative(r, offset)
				      : seek_source(r, offset, whence);
	return position < 0 ? position : arrive_at(r, position);
}

/*
 * Skips by seeking, with an empty buffer. If the end comes before n bytes, the
 * caller reads on, which proves the end. Returns the number of bytes; 0 if the
 * end is not ahead, as for files without a size; or a negative errno.
 */
static int64_t
skip_by_seek(struct hone_reader *r, int64_t n)
{
	int64_t from, end, to;
	int error = find_position(r);

	if (error || !r->seekable)
		return error;
	from = r->offset;
	end = seek_source(r, 0, SEEK_END);
	if (end < 0)
		return 0; /* the caller reads, which shows the error */
	to = from;
	if (end > from)
		to = n < end - from ? from + n : end;
	to = seek_source(r, to, SEEK_SET);
	(void)arrive_at(r, to < 0 ? end : to);
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
	bool may_seek =
		r->seekable && !r->size_is_claim && !hone_reader_exact(r);
	int64_t done = 0, got;

	if (n > INT64_MAX)
		n = INT64_MAX;
	while (done < (int64_t)n) {
		got = skip_once(r, (int64_t)n - done, &may_seek);
		if (got <= 0)
			return hone_reader_result(r, done, got);
		done += got;
	}
	return done;
}
