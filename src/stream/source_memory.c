/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory as a source: the caller's memory is the buffer. It is full from the
 * beginning, the end is known and so is the position, so that nothing is ever
 * asked for or moved.
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
	r->flags = 0;
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
