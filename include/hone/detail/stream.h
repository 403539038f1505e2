/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_STREAM_H
#define HONE_DETAIL_STREAM_H
#include <hone/copy.h>

HONE_BEGIN_DECLS

/* The part of a stream that the inline functions see: the buffered bytes. */
struct hone_stream {
	/* the next byte; never NULL */
	const unsigned char *pos;
	/* the end of the buffered bytes */
	const unsigned char *end;
	/*
	 * The ends of the next lines, in order: line[1] up to *last_line. If
	 * pos == *line, the next line ends at line[1]; otherwise the ends are
	 * not used.
	 */
	const unsigned char *const *line;
	const unsigned char *const *last_line;
	/* the delimiter of these lines */
	int delimiter;
};

/* Private: the slow paths of the inline functions. */
HONE_API ptrdiff_t hone_detail_stream_read(
	struct hone_stream *stream, void *buf, size_t n);
HONE_API ptrdiff_t hone_detail_stream_peek(
	struct hone_stream *stream, const void **data, size_t n);
HONE_API ptrdiff_t hone_detail_stream_read_line(struct hone_stream *stream,
	const char **line, int delimiter, size_t max);

HONE_INLINE ptrdiff_t
hone_stream_read(struct hone_stream *stream, void *buf, size_t n)
{
	const unsigned char *pos = stream->pos;

	if (n > (size_t)(stream->end - pos))
		return hone_detail_stream_read(stream, buf, n);
	hone_memcpy(buf, pos, n, HONE_COPY_KEEP);
	stream->pos = pos + n;
	return (ptrdiff_t)n;
}

HONE_INLINE ptrdiff_t
hone_stream_peek(struct hone_stream *stream, const void **data, size_t n)
{
	ptrdiff_t buffered = stream->end - stream->pos;

	if (n > (size_t)buffered)
		return hone_detail_stream_peek(stream, data, n);
	*data = stream->pos;
	return buffered;
}

HONE_INLINE void
hone_stream_take(struct hone_stream *stream, size_t n)
{
	assert(n <= (size_t)(stream->end - stream->pos));
	stream->pos += n;
}

HONE_INLINE ptrdiff_t
hone_stream_read_line(struct hone_stream *stream, const char **line,
	int delimiter, size_t max)
{
	const unsigned char *pos = stream->pos;
	const unsigned char *const *next = stream->line;
	size_t n;

	if (next < stream->last_line && *next == pos &&
		stream->delimiter == delimiter) {
		n = (size_t)(next[1] - pos);
		if (n <= max) {
			*line = (const char *)pos;
			stream->line = next + 1;
			stream->pos = pos + n;
			return (ptrdiff_t)n;
		}
	}
	return hone_detail_stream_read_line(stream, line, delimiter, max);
}

HONE_END_DECLS
#endif
