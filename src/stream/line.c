/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines, given where they lie in the buffer. */
#include <errno.h>
#include <string.h>
#include "stream/stream.h"

/* Take n bytes as a line. */
static ptrdiff_t
give(struct hone_reader *r, const char **line, size_t n)
{
	*line = (const char *)r->view.pos;
	r->view.pos += n;
	r->search.searched = 0;
	return (ptrdiff_t)n;
}

/* How much of what is buffered an earlier call has searched. */
static size_t
searched_before(const struct hone_reader *r, int delimiter, size_t buffered)
{
	const struct hone_stream_search *search = &r->search;

	if (search->searched > buffered || search->delimiter != delimiter ||
		search->at != r->offset - (int64_t)buffered)
		return 0;
	return search->searched;
}

/* What a call returns that did not come to the end of its line. */
static ptrdiff_t
not_found(struct hone_reader *r, int delimiter, size_t searched, ptrdiff_t why)
{
	r->search = (struct hone_stream_search){
		.at = r->offset - (int64_t)hone_reader_buffered(r),
		.searched = searched,
		.delimiter = delimiter};
	return why;
}

/* How many bytes to have in the buffer next: twice as many, so that a long
 * line takes few reads, but no more than tell that it is too long. */
static size_t
wanted(size_t buffered, size_t max)
{
	return buffered > max / 2 && max < SIZE_MAX ? max + 1 : 2 * buffered;
}

static ptrdiff_t
long_line(struct hone_reader *r, const char **line, int delimiter, size_t max)
{
	size_t buffered = hone_reader_buffered(r);
	size_t from = searched_before(r, delimiter, buffered), to;
	const unsigned char *found;
	ptrdiff_t got;

	for (;;) {
		to = buffered < max ? buffered : max;
		if (from < to) {
			found = memchr(
				r->view.pos + from, delimiter, to - from);
			if (found)
				return give(r, line,
					(size_t)(found - r->view.pos) + 1);
			from = to;
		}
		if (buffered > max)
			return not_found(r, delimiter, from, -EMSGSIZE);
		got = hone_reader_fill(r, wanted(buffered, max));
		if (got < 0)
			return not_found(r, delimiter, from, got);
		if (got == 0)
			return give(r, line, buffered);
		buffered = hone_reader_buffered(r);
	}
}

ptrdiff_t
hone_stream_read_line(struct hone_stream *stream, const char **line,
	int delimiter, size_t max)
{
	struct hone_reader *r = hone_reader(stream);
	size_t n = hone_reader_buffered(r);
	const unsigned char *found;

	assert(max > 0);
	if (n > max)
		n = max;
	if (r->search.searched == 0 && n > 0) {
		found = memchr(r->view.pos, delimiter, n);
		if (found)
			return give(r, line, (size_t)(found - r->view.pos) + 1);
		r->search = (struct hone_stream_search){
			.at = r->offset - (int64_t)hone_reader_buffered(r),
			.searched = n,
			.delimiter = delimiter};
	}
	return long_line(r, line, delimiter, max);
}
