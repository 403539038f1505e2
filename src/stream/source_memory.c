/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory as a source: the caller's memory is the buffer. The buffer is full
 * from the start, and the end and the position are known, so nothing is ever
 * read or moved.
 */
#include "stream/stream.h"

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
