/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of the caller. buffer.c and seek.c check the results of every
 * source; only the result of close is checked here. */
#include <errno.h>
#include "stream/read_file.h"
#include "stream/stream.h"

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
