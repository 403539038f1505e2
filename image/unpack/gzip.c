/* SPDX-License-Identifier: BSD-3-Clause */
/* RFC 1952, by zlib, which checks the CRCs of the header and of the data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "unpack/decoder.h"

/* The largest window, and a gzip header: the arguments of inflateInit2(). */
#define WINDOW_BITS 15
#define GZIP_HEADER 16
/* The most content of a block of bgzip. */
#define BGZIP_CONTENT 65536

static bool
gzip_begins(const unsigned char *head, size_t length)
{
	/* The third byte is the method, deflate. */
	return length >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0;
}

/*
 * The blocks of bgzip have their length in an extra field, which comes first:
 * "The BGZF compression format" in the specification of SAM.
 */
static size_t
gzip_whole(const unsigned char *in, size_t length, size_t *content)
{
	static const unsigned char begin[] = {0x1f, 0x8b, 8, 4};
	static const unsigned char field[] = {'B', 'C', 2, 0};

	if (length < IMAGE_MEMBER_HEAD)
		return IMAGE_MEMBER_HEAD;
	if (memcmp(in, begin, sizeof(begin)) != 0 ||
		memcmp(in + 12, field, sizeof(field)) != 0)
		return 0;
	*content = BGZIP_CONTENT;
	return ((size_t)in[16] | (size_t)in[17] << 8) + 1;
}

static int
gzip_open(void **state, uint64_t memory, unsigned threads)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	/* A window of 32 KiB is below every limit. */
	(void)memory;
	(void)threads;
	*state = NULL;
	if (!stream ||
		inflateInit2(stream, WINDOW_BITS + GZIP_HEADER) != Z_OK) {
		free(stream);
		return -ENOMEM;
	}
	*state = stream;
	return 0;
}

static int
gzip_begin(void *state, const unsigned char *head, size_t length)
{
	(void)head;
	(void)length;
	return inflateReset(state) == Z_OK ? 0 : -ENOMEM;
}

static int
gzip_decode(void *state, struct image_decode *io)
{
	z_stream *stream = state;
	uInt room = io->out_left < UINT32_MAX ? (uInt)io->out_left : UINT32_MAX;

	stream->next_in = (z_const Bytef *)io->in;
	stream->avail_in = (uInt)io->in_left;
	stream->next_out = io->out;
	stream->avail_out = room;
	int rc = inflate(stream, Z_NO_FLUSH);
	io->in = stream->next_in;
	io->in_left = stream->avail_in;
	io->out = stream->next_out;
	io->out_left -= room - stream->avail_out;
	io->end = rc == Z_STREAM_END;
	if (rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR)
		return 0;
	snprintf(io->why, sizeof(io->why), "%s",
		stream->msg ? stream->msg : "zlib refuses it");
	return rc == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

static void
gzip_close(void *state)
{
	inflateEnd(state);
	free(state);
}

const struct image_decoder image_decoder_gzip = {
	.version = zlibVersion,
	.begins = gzip_begins,
	.whole = gzip_whole,
	.open = gzip_open,
	.begin = gzip_begin,
	.decode = gzip_decode,
	.close = gzip_close,
};
