/* SPDX-License-Identifier: BSD-3-Clause */
/* Read and peek, if the buffer has too few bytes. */
#include "stream/stream.h"

/* Reads the source once, with an empty buffer: past the buffer or through it.
 */
static ptrdiff_t
read_once(struct hone_reader *r, void *buf, size_t n)
{
	ptrdiff_t got;

	if (n >= r->bypass_size && !hone_reader_exact(r))
		return hone_reader_read_source(r, buf, n);
	got = hone_reader_fill(r, 0);
	if (got <= 0)
		return got;
	return (ptrdiff_t)hone_reader_take(r, buf, n);
}

ptrdiff_t
hone_detail_stream_read(struct hone_stream *stream, void *buf, size_t n)
{
	struct hone_reader *r = hone_reader(stream);
	ptrdiff_t got, done;

	if (n > PTRDIFF_MAX)
		n = PTRDIFF_MAX;
	done = (ptrdiff_t)hone_reader_take(r, buf, n);
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
		return (ptrdiff_t)hone_reader_take(r, buf, n);
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
