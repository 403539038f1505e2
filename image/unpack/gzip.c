/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RFC 1952, by zlib. Only the CRC of the content is libdeflate's, which is
 * faster: "gzip sources" in docs/design/image.md. So zlib reads the header,
 * with its CRC, and then raw deflate. The trailer is checked here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libdeflate.h>
#include <zlib.h>
#include "unpack/decoder.h"

/* The largest window, and a gzip header: the arguments of inflateInit2(). */
#define WINDOW_BITS 15
#define GZIP_HEADER 16
/* Of data_type: Z_BLOCK ended in front of the first block. */
#define HEADER_COMPLETE 128
/* A CRC and a length of 32 bits each. */
#define TRAILER_LENGTH 8
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

struct gunzip {
	z_stream stream;
	enum { HEADER, DATA, TRAILER } part;
	/* of the content */
	uint32_t crc;
	uint32_t length;
	/* bytes of the trailer that were right */
	unsigned checked;
};

static int
gzip_open(void **state, uint64_t memory, unsigned threads)
{
	struct gunzip *g = calloc(1, sizeof(*g));

	/* A window of 32 KiB is below every limit. */
	(void)memory;
	(void)threads;
	*state = NULL;
	if (!g || inflateInit2(&g->stream, WINDOW_BITS + GZIP_HEADER) != Z_OK) {
		free(g);
		return -ENOMEM;
	}
	*state = g;
	return 0;
}

static int
gzip_begin(void *state, const unsigned char *head, size_t length)
{
	struct gunzip *g = state;

	(void)head;
	(void)length;
	g->part = HEADER;
	g->crc = 0;
	g->length = 0;
	g->checked = 0;
	int rc = inflateReset2(&g->stream, WINDOW_BITS + GZIP_HEADER);
	return rc == Z_OK ? 0 : -ENOMEM;
}

static uInt
bounded(size_t length)
{
	return length < UINT32_MAX ? (uInt)length : UINT32_MAX;
}

/* Returns what inflate() returns. */
static int
run(struct gunzip *g, struct image_decode *io, int flush)
{
	z_stream *stream = &g->stream;
	uInt given = bounded(io->in_left), room = bounded(io->out_left);

	stream->next_in = (z_const Bytef *)io->in;
	stream->avail_in = given;
	stream->next_out = io->out;
	stream->avail_out = room;
	int rc = inflate(stream, flush);
	uInt got = room - stream->avail_out;
	if (got)
		g->crc = libdeflate_crc32(g->crc, io->out, got);
	g->length += got;
	io->in = stream->next_in;
	io->in_left -= given - stream->avail_in;
	io->out = stream->next_out;
	io->out_left -= got;
	return rc;
}

static int
check_trailer(struct gunzip *g, struct image_decode *io)
{
	const uint64_t right = (uint64_t)g->length << 32 | g->crc;

	for (; io->in_left && g->checked < TRAILER_LENGTH; g->checked++) {
		unsigned char byte = (unsigned char)(right >> 8 * g->checked);
		io->in_left--;
		if (*io->in++ == byte)
			continue;
		snprintf(io->why, sizeof(io->why), "incorrect %s check",
			g->checked < TRAILER_LENGTH / 2 ? "data" : "length");
		return -EINVAL;
	}
	io->end = g->checked == TRAILER_LENGTH;
	return 0;
}

static int
gzip_decode(void *state, struct image_decode *io)
{
	struct gunzip *g = state;
	z_stream *stream = &g->stream;
	int rc = Z_OK;

	io->end = false;
	if (g->part == HEADER) {
		rc = run(g, io, Z_BLOCK);
		if (rc == Z_OK && stream->data_type & HEADER_COMPLETE) {
			rc = inflateReset2(stream, -WINDOW_BITS);
			g->part = DATA;
		}
	}
	if (g->part == DATA && rc == Z_OK)
		rc = run(g, io, Z_NO_FLUSH);
	if (rc == Z_STREAM_END)
		g->part = TRAILER;
	if (g->part == TRAILER)
		return check_trailer(g, io);
	if (rc == Z_OK || rc == Z_BUF_ERROR)
		return 0;
	snprintf(io->why, sizeof(io->why), "%s",
		stream->msg ? stream->msg : "zlib refuses it");
	return rc == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

static void
gzip_close(void *state)
{
	struct gunzip *g = state;

	inflateEnd(&g->stream);
	free(g);
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
