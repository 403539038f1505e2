/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating, closing and configuring streams of every source. */
#include <errno.h>
#include <stdlib.h>
#include "stream/read_file.h"
#include "stream/stream.h"

/*
 * 64 KiB: smaller buffers are slower, larger buffers hardly faster. 32 KiB:
 * from this size on a system call costs less than a copy out of the buffer. The
 * measurements are in docs/design/stream.md.
 */
#define BUFFER_SIZE ((size_t)64 << 10)
#define BYPASS_SIZE ((size_t)32 << 10)

#define FLAGS                                                                  \
	((unsigned)(HONE_STREAM_EXACT | HONE_STREAM_CLOSE_FD |                 \
		    HONE_STREAM_NONBLOCK | HONE_STREAM_WHOLE_LINES))

void
hone_stream_attr_init(struct hone_stream_attr *attr)
{
	*attr = (struct hone_stream_attr){
		.buffer_size = BUFFER_SIZE, .bypass_size = BYPASS_SIZE};
}

static bool
is_buffer_size(size_t size)
{
	return size >= 1 && size <= HONE_STREAM_BUFFER_MAX;
}

int
hone_reader_create(struct hone_reader **reader,
	const struct hone_stream_attr *attr, const struct hone_source *source)
{
	struct hone_stream_attr all = {0};
	struct hone_reader *r;

	if (attr)
		all = *attr;
	if (all.buffer_size == 0) {
		all.buffer_size = BUFFER_SIZE;
		if (all.bypass_size == 0)
			all.bypass_size = BYPASS_SIZE;
	}
	if (!is_buffer_size(all.buffer_size) || (all.flags & ~FLAGS) ||
		!hone_reserved_are_zero(all.reserved))
		return -EINVAL;
	r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct hone_reader){.buffer_size = all.buffer_size,
		.bypass_size = all.bypass_size,
		.flags = all.flags,
		.seekable = source->seek != NULL,
		.source = source,
		.deadline_ns = INT64_MAX,
		.fd = -1};
	/* Any valid pointer: nothing is read from it, but it is not NULL. */
	r->view.end = (const unsigned char *)r;
	r->view.line = r->lines;
	hone_reader_drop(r);
	*reader = r;
	return 0;
}

int
hone_stream_close(struct hone_stream *stream)
{
	struct hone_reader *r = hone_reader(stream);
	int error = 0;

	if (!r)
		return 0;
	if (r->source->close)
		error = r->source->close(stream);
	free(r->memory);
	free(r);
	return error;
}

int
hone_stream_set_buffer(
	struct hone_stream *stream, size_t buffer_size, size_t bypass_size)
{
	struct hone_reader *r = hone_reader(stream);

	if (!is_buffer_size(buffer_size))
		return -EINVAL;
	r->buffer_size = buffer_size;
	r->bypass_size = bypass_size;
	if (r->memory && hone_reader_buffered(r) == 0) {
		r->view.end = (const unsigned char *)r;
		hone_reader_drop(r);
		free(r->memory);
		r->memory = NULL;
		r->capacity = 0;
	}
	return 0;
}

bool
hone_stream_eof(const struct hone_stream *stream)
{
	const struct hone_reader *r = hone_reader(stream);

	return r->at_end && hone_reader_buffered(r) == 0;
}

void
hone_reader_forget_end(struct hone_reader *r)
{
	r->at_end = r->source == &hone_source_memory;
}

void
hone_stream_clear_eof(struct hone_stream *stream)
{
	hone_reader_forget_end(hone_reader(stream));
}

/*
 * Memory as a source: the caller's memory is the buffer. The buffer is full
 * from the start, and the end and the position are known, so nothing is ever
 * read or moved.
 */

const struct hone_source hone_source_memory = {NULL, NULL, NULL};

int
hone_stream_open_memory(struct hone_stream **stream, const void *data,
	size_t size, const struct hone_stream_attr *attr)
{
	struct hone_reader *r;
	int error = hone_reader_create(&r, attr, &hone_source_memory);

	assert(size <= PTRDIFF_MAX);
	if (error)
		return error;
	r->flags &= HONE_STREAM_WHOLE_LINES;
	if (size > 0) {
		r->start = data;
		r->view.pos = r->start;
		r->view.end = r->start + size;
	}
	r->offset = (int64_t)size;
	r->known = true;
	r->at_end = true;
	*stream = &r->view;
	return 0;
}

/* A source of the caller. buffer.c and seek.c check the results of every
 * source; only the result of close is checked here. */

static ptrdiff_t
read_ops(struct hone_stream *s, void *buf, size_t n)
{
	const struct hone_reader *r = hone_reader(s);

	return r->ops.read(r->ops_source, buf, n);
}

static int64_t
seek_ops(struct hone_stream *s, int64_t offset, int whence)
{
	const struct hone_reader *r = hone_reader(s);

	return r->ops.seek(r->ops_source, offset, whence);
}

static int
close_ops(struct hone_stream *s)
{
	const struct hone_reader *r = hone_reader(s);
	int error = r->ops.close ? r->ops.close(r->ops_source) : 0;

	return error > 0 || error < -HONE_STREAM_ERRNO_MAX ? -EIO : error;
}

const struct hone_source hone_source_ops = {read_ops, seek_ops, close_ops};

int
hone_stream_open_ops(struct hone_stream **stream,
	const struct hone_stream_ops *ops, void *source,
	const struct hone_stream_attr *attr)
{
	struct hone_reader *r;
	int error;

	assert(ops->read);
	if (!hone_reserved_are_zero(ops->reserved))
		return -EINVAL;
	error = hone_reader_create(&r, attr, &hone_source_ops);
	if (error)
		return error;
	r->ops = *ops;
	r->ops_source = source;
	r->seekable = ops->seek != NULL;
	*stream = &r->view;
	return 0;
}
