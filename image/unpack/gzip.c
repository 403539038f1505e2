/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RFC 1952, by zlib. Only the CRC of the content is libdeflate's, which is
 * faster: "gzip sources" in docs/design/image.md. So zlib reads the header,
 * with its CRC, and then raw deflate. The trailer is checked here.
 *
 * A packer writes the same bits for zeros again and again. If the window is
 * zeros, then a block of deflate with the bits of an earlier one, which had
 * zeros alone behind such a window, has as many zeros. zlib does not get it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include <libdeflate.h>
#include <zlib.h>
#include "unpack/decoder.h"

/* The largest window, and a gzip header: the arguments of inflateInit2(). */
#define WINDOW_BITS 15
#define GZIP_HEADER 16
/* Of data_type: Z_BLOCK ended in front of the first block. */
#define HEADER_COMPLETE 128
/* The same behind a block; the last one; bits that are left of the last byte.
 */
#define BLOCK_COMPLETE 128
#define LAST_BLOCK 64
#define BITS_LEFT 7
/* Of the first bits of a block; 0: it is stored. */
#define BLOCK_KIND 6
#define WINDOW ((uint64_t)1 << WINDOW_BITS)
/* gzip writes 8 MiB of zeros as a block of 8,210 bytes. */
#define REPEAT_MOST 8704
/* hone writes zeros as blocks of two lengths. */
#define REPEATS 4
#define TRAILER_LENGTH 8
/* The most content of a block of bgzip. */
#define BGZIP_CONTENT 65536

static bool
gzip_begins(const unsigned char *head, size_t length)
{
	/* The third byte is the method, deflate. */
	return length >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0;
}

/* The blocks of bgzip have their length in an extra field: "The BGZF
 * compression format" in the specification of SAM. */
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

/* A block of zeros, behind a window of zeros. */
struct repeat {
	/* 0: none */
	size_t bits;
	uint64_t zeros;
	/* of the zeros */
	uint32_t crc;
	unsigned char bytes[REPEAT_MOST];
};

struct gunzip {
	z_stream stream;
	enum { HEADER, DATA, TRAILER } part;
	/* of the content */
	uint32_t crc;
	uint32_t length;
	/* bytes of the trailer that were right */
	unsigned checked;

	/* zeros without a call of zlib that are left to write */
	uint64_t pending;
	/* zeros at the end of the content so far, or fewer */
	uint64_t zeros;
	/* A block is complete, and so many bits of this byte are left. */
	bool between;
	unsigned left;
	unsigned char byte;
	/* The block that zlib reads is recorded, if the window was zeros: its
	 * bytes, the bits in front of it, and the counts at its begin. */
	bool records;
	size_t length_recorded;
	unsigned before;
	uint64_t zeros_before;
	uint32_t crc_before;
	/* the next one is recorded there */
	unsigned next;
	struct repeat repeats[REPEATS];
};

static void *
gzip_open(uint64_t memory, unsigned threads)
{
	struct gunzip *g = calloc(1, sizeof(*g));

	/* A window of 32 KiB, the blocks and zlib's state are 75 KiB: below
	 * every limit. */
	(void)memory;
	(void)threads;
	if (g && inflateInit2(&g->stream, WINDOW_BITS + GZIP_HEADER) == Z_OK)
		return g;
	free(g);
	return NULL;
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
	g->pending = g->zeros = 0;
	g->between = g->records = false;
	int rc = inflateReset2(&g->stream, WINDOW_BITS + GZIP_HEADER);
	return rc == Z_OK ? 0 : -ENOMEM;
}

static uInt
bounded(size_t length)
{
	return length < UINT32_MAX ? (uInt)length : UINT32_MAX;
}

static void
record(struct gunzip *g, const unsigned char *bytes, size_t length)
{
	struct repeat *repeat = &g->repeats[g->next];

	if (length)
		g->byte = bytes[length - 1];
	g->records = g->records && length < REPEAT_MOST - g->length_recorded;
	if (!g->records)
		return;
	memcpy(repeat->bytes + g->length_recorded, bytes, length);
	g->length_recorded += length;
}

/* Begin to record, if the next block may be left out later. */
static void
begin_record(struct gunzip *g)
{
	struct repeat *repeat = &g->repeats[g->next];

	g->records = g->zeros >= WINDOW;
	if (!g->records)
		return;
	g->length_recorded = g->left > 0;
	repeat->bits = 0;
	repeat->bytes[0] = g->byte;
	g->before = g->left ? 8 - g->left : 0;
	g->zeros_before = g->zeros;
	g->crc_before = g->crc;
}

/* Keep a block that had zeros alone, from the first bit of a byte on. */
static void
end_record(struct gunzip *g)
{
	struct repeat *repeat = &g->repeats[g->next];
	unsigned char *bytes = repeat->bytes;

	if (!g->records || g->zeros <= g->zeros_before)
		return;
	repeat->bits = 8 * g->length_recorded - g->before - g->left;
	repeat->zeros = g->zeros - g->zeros_before;
	for (size_t i = 0; g->before && i < g->length_recorded; i++) {
		unsigned next = i + 1 < g->length_recorded ? bytes[i + 1] : 0u;
		bytes[i] = (unsigned char)((bytes[i] | next << 8) >> g->before);
	}
	/* The bits of a stored block depend on its place in a byte. */
	if ((bytes[0] & BLOCK_KIND) == 0)
		repeat->bits = 0;
	/* The CRC of A and B is that of A, moved by B, and that of B. */
	repeat->crc = g->crc ^ (uint32_t)crc32_combine(g->crc_before, 0,
				       (z_off_t)repeat->zeros);
	g->next = (g->next + 1) % REPEATS;
}

static bool
repeats(const struct gunzip *g, const struct repeat *repeat,
	const struct image_decode *io)
{
	size_t whole = repeat->bits / 8;
	unsigned byte = (unsigned)g->byte >> (8 - g->left);

	if (repeat->bits == 0 || io->in_left <= whole)
		return false;
	for (size_t i = 0; i <= whole; i++) {
		byte |= (unsigned)io->in[i] << g->left;
		unsigned other = byte ^ repeat->bytes[i];
		if (i == whole)
			other &= (1u << repeat->bits % 8) - 1;
		if (other & UINT8_MAX)
			return false;
		byte >>= 8;
	}
	return true;
}

static bool
may_repeat(const struct gunzip *g)
{
	return g->between && g->zeros >= WINDOW;
}

/* The first content of a pipe does not wait for more. */
static size_t
gzip_least(const void *state)
{
	return may_repeat(state) ? REPEAT_MOST : 1;
}

static void
leave_out(struct gunzip *g, struct image_decode *io)
{
	const struct repeat *repeat = g->repeats;
	unsigned i = 0;

	if (!may_repeat(g))
		return;
	while (i < REPEATS && !repeats(g, repeat + i, io))
		i++;
	if (i == REPEATS)
		return;
	repeat += i;
	/* A block is longer than the bits that are left of a byte. */
	size_t taken = (repeat->bits - g->left + 7) / 8;
	g->left = (unsigned)(8 * taken - (repeat->bits - g->left));
	g->byte = io->in[taken - 1];
	io->in += taken;
	io->in_left -= taken;
	g->pending += repeat->zeros;
	g->length += (uint32_t)repeat->zeros;
	g->crc = (uint32_t)crc32_combine(
		g->crc, repeat->crc, (z_off_t)repeat->zeros);
	inflatePrime(&g->stream, -1, 0);
	inflatePrime(&g->stream, (int)g->left, g->byte >> (8 - g->left));
}

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
	bool zero = hone_buffer_is_zero(io->out, got);
	g->zeros = zero ? g->zeros + got : 0;
	g->records = g->records && zero;
	record(g, io->in, given - stream->avail_in);
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

/* Decode up to the end of a block, or leave one out. */
static int
decode_blocks(struct gunzip *g, struct image_decode *io)
{
	const size_t room = io->out_left;
	bool complete;
	int rc = Z_OK;

	do {
		if (g->pending == 0)
			leave_out(g, io);
		image_decode_zeros(io, &g->pending);
		if (io->out_left < room || g->pending)
			break;
		if (g->between)
			begin_record(g);
		rc = run(g, io, Z_BLOCK);
		complete = g->stream.data_type & BLOCK_COMPLETE;
		g->between = complete && !(g->stream.data_type & LAST_BLOCK);
		g->left = (unsigned)g->stream.data_type & BITS_LEFT;
		if (g->between)
			end_record(g);
		/* The end of a block may be in bits that zlib had. */
	} while (complete && io->out_left == room &&
		 (rc == Z_OK || rc == Z_BUF_ERROR));
	return rc;
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
		rc = decode_blocks(g, io);
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
	.least = gzip_least,
	.open = gzip_open,
	.begin = gzip_begin,
	.decode = gzip_decode,
	.close = gzip_close,
};
