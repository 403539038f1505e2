/* SPDX-License-Identifier: BSD-3-Clause */
/* RFC 8878, by libzstd, which checks the checksum of a frame if it has one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "codec/zero_frame.h"
#include "format/bytes.h"
#include "unpack/decoder.h"

/* Of RFC 8878: the magic, and those of frames that are skipped, whose last four
 * bits are any. */
#define MAGIC 0xfd2fb528u
#define SKIPPED 0x184d2a50u
#define SKIPPED_MASK 0xfffffff0u
/* Of RFC 8878: the header of a block, its kinds but for raw ones, and the most
 * content of a compressed one. */
#define BLOCK_HEADER 3
#define BLOCK_RLE 1
#define BLOCK_COMPRESSED 2
#define BLOCK_CONTENT 131072
/* The most content for each byte of a file: of blocks of one byte, repeated. */
#define MOST_OF_BYTE (BLOCK_CONTENT / (BLOCK_HEADER + 1))
/* Bytes of the dictionary's ID, by the last two bits of the descriptor. */
static const unsigned id_bytes[] = {0, 1, 2, 4};
/* Bytes of the content's size, by the first two bits. */
static const unsigned size_bytes[] = {1, 2, 4, 8};
/* A frame of one segment: the window is the content. */
#define SINGLE 0x20
/* Of "Zstandard Seekable Format" 0.1.0, whose table is a frame that is skipped:
 * a header, rows of both lengths of a frame, and an end with their number. */
#define TABLE_MAGIC (SKIPPED | 0xeu)
#define TABLE_HEADER 8
#define ROW 8
#define ROW_WITH_CHECKSUM 12
#define TABLE_END 9
#define TABLE_END_MAGIC 0x8f92eab1u
#define MAX_ROWS 0x8000000u
#define ROWS ((size_t)8192)

struct zstd {
	ZSTD_DStream *stream;
	uint64_t memory;
	uint64_t window;
};

/* An old libzstd also reads formats before RFC 8878, which this refuses. */
static bool
zstd_begins(const unsigned char *head, size_t length)
{
	return length >= 4 &&
	       (image_le32(head) == MAGIC ||
		       (image_le32(head) & SKIPPED_MASK) == SKIPPED);
}

/* Returns the window of a frame with this head, or 0 for a skipped one. */
static uint64_t
window_of(const unsigned char *head)
{
	if (image_le32(head) != MAGIC)
		return 0;
	unsigned char descriptor = head[4];
	if (!(descriptor & SINGLE)) {
		uint64_t base = (uint64_t)1 << (10 + (head[5] >> 3));
		return base + (base >> 3) * (head[5] & 7);
	}
	return ZSTD_getFrameContentSize(head, IMAGE_MEMBER_HEAD);
}

static size_t
first_block(const unsigned char *in)
{
	unsigned kind = in[4] >> 6;
	bool single = in[4] & SINGLE;

	return 5 + !single + id_bytes[in[4] & 3] +
	       (kind || single ? size_bytes[kind] : 0);
}

/*
 * Set *most to the most content of a whole frame of n bytes, by the headers of
 * its blocks: ZSTD_decompressBound() takes each block for a full one.
 *
 * Returns false if a block may have more content than the format allows: the
 * window or BLOCK_CONTENT, whichever is less. A compressed block does not show
 * its content, which is not more than that of the frame.
 */
static bool
measure_blocks(
	const unsigned char *in, size_t n, uint64_t known, uint64_t *most)
{
	uint64_t window = window_of(in);
	uint64_t limit = window < BLOCK_CONTENT ? window : BLOCK_CONTENT;
	size_t at = first_block(in);
	uint32_t block = 0;
	bool fit = true;

	*most = 0;
	while (!(block & 1) && at + BLOCK_HEADER <= n) {
		block = (uint32_t)in[at] | (uint32_t)in[at + 1] << 8 |
			(uint32_t)in[at + 2] << 16;
		uint32_t kind = block >> 1 & 3, size = block >> 3;
		at += BLOCK_HEADER + (kind == BLOCK_RLE ? 1 : size);
		if (kind == BLOCK_COMPRESSED)
			size = BLOCK_CONTENT;
		*most += size;
		fit = fit && (size <= limit || known <= limit);
	}
	return fit;
}

static size_t
zstd_whole(const unsigned char *in, size_t length, size_t *content)
{
	/* of ZSTD_FRAMEHEADERSIZE_MAX, which is not in the stable part */
	if (length < IMAGE_MEMBER_HEAD)
		return IMAGE_MEMBER_HEAD;
	unsigned long long known = ZSTD_getFrameContentSize(in, length);
	bool unknown = known == ZSTD_CONTENTSIZE_UNKNOWN;
	if (!unknown && known > *content)
		return 0;
	size_t n = ZSTD_findFrameCompressedSize(in, length);
	if (!ZSTD_isError(n)) {
		uint64_t most = 0;
		/* libzstd 1.5.4 refuses a block that is too long, but not in a
		 * frame of known content that is unpacked at once, as threads
		 * do it. */
		if (image_le32(in) == MAGIC &&
			!measure_blocks(in, n, known, &most) && !unknown)
			return 0;
		if (!unknown)
			most = known;
		if (most < *content)
			*content = (size_t)most;
		return n;
	}
	return ZSTD_getErrorCode(n) == ZSTD_error_srcSize_wrong ? length + 1
								: 0;
}

/* Add up both columns of the rows from `at` to `end`. */
static int
sum_rows(struct image_store *store, uint64_t at, uint64_t end, size_t row,
	uint64_t sums[2], struct image_error *err)
{
	unsigned char *rows = malloc(ROWS * ROW_WITH_CHECKSUM);
	size_t n;
	int rc = 0;

	if (!rows)
		return image_no_memory(err);
	for (; rc == 0 && at < end; at += n) {
		n = end - at < ROWS * row ? (size_t)(end - at) : ROWS * row;
		rc = image_store_read(store, at, rows, n, err);
		for (size_t i = 0; rc == 0 && i < n; i += row) {
			sums[0] += image_le32(rows + i);
			sums[1] += image_le32(rows + i + 4);
		}
	}
	free(rows);
	return rc;
}

/* The table is used only if its frames are all that is in front of it, and may
 * have as much content. The size is compared with what came. */
static int
zstd_size(struct image_store *store, uint64_t memory, uint64_t *size,
	struct image_error *err)
{
	unsigned char header[TABLE_HEADER], end[TABLE_END];
	uint64_t sums[2] = {0, 0};

	*size = IMAGE_SIZE_UNKNOWN;
	if (store->size < TABLE_HEADER + TABLE_END)
		return 0;
	uint64_t last = store->size - TABLE_END;
	int rc = image_store_read(store, last, end, TABLE_END, err);
	if (rc < 0)
		return rc;
	uint64_t count = image_le32(end);
	size_t row = end[4] & 0x80 ? ROW_WITH_CHECKSUM : ROW;
	if (image_le32(end + 5) != TABLE_END_MAGIC || (end[4] & 0x7c) != 0 ||
		count > MAX_ROWS || count * row > memory ||
		count * row > last - TABLE_HEADER)
		return 0;
	uint64_t rows = last - count * row, begin = rows - TABLE_HEADER;
	rc = image_store_read(store, begin, header, TABLE_HEADER, err);
	if (rc < 0 || image_le32(header) != TABLE_MAGIC ||
		image_le32(header + 4) != count * row + TABLE_END)
		return rc;
	rc = sum_rows(store, rows, last, row, sums, err);
	if (rc == 0 && sums[0] == begin && sums[1] / MOST_OF_BYTE <= begin)
		*size = sums[1];
	return rc;
}

static void *
zstd_open(uint64_t memory, unsigned threads)
{
	struct zstd *zstd = calloc(1, sizeof(*zstd));
	ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
	int bits = bounds.lowerBound;

	(void)threads;
	if (zstd)
		zstd->stream = ZSTD_createDStream();
	if (!zstd || !zstd->stream) {
		free(zstd);
		return NULL;
	}
	while (bits < bounds.upperBound && (uint64_t)2 << bits <= memory)
		bits++;
	ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, bits);
	zstd->memory = (uint64_t)1 << bits;
	return zstd;
}

static int
zstd_begin(void *state, const unsigned char *head, size_t length)
{
	/* Zeros follow a frame that is shorter. */
	unsigned char whole[IMAGE_MEMBER_HEAD] = {0};
	struct zstd *zstd = state;

	memcpy(whole, head,
		length < IMAGE_MEMBER_HEAD ? length : IMAGE_MEMBER_HEAD);
	zstd->window = window_of(whole);
	ZSTD_DCtx_reset(zstd->stream, ZSTD_reset_session_only);
	return 0;
}

static int
zstd_decode(void *state, struct image_decode *io)
{
	struct zstd *zstd = state;
	ZSTD_inBuffer in = {io->in, io->in_left, 0};
	ZSTD_outBuffer out = {io->out, io->out_left, 0};

	size_t rc = ZSTD_decompressStream(zstd->stream, &out, &in);
	io->in += in.pos;
	io->in_left -= in.pos;
	io->out += out.pos;
	io->out_left -= out.pos;
	io->end = rc == 0;
	if (!ZSTD_isError(rc))
		return 0;
	ZSTD_ErrorCode code = ZSTD_getErrorCode(rc);
	/* libzstd uses the buffer of a frame before, in which a block that is
	 * too long may fit. */
	if (code == ZSTD_error_dstSize_tooSmall)
		code = ZSTD_error_corruption_detected;
	switch (code) {
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge:
		snprintf(io->why, sizeof(io->why),
			"needs a window of %" PRIu64
			" bytes, and its share of --memory is %" PRIu64,
			zstd->window, zstd->memory);
		return -E2BIG;
	default:
		/* libzstd takes no input then. The damage is somewhere in it.
		 */
		io->in += io->in_left;
		io->in_left = 0;
		snprintf(io->why, sizeof(io->why), "%s",
			ZSTD_getErrorString(code));
		return -EINVAL;
	}
}

static void
zstd_close(void *state)
{
	struct zstd *zstd = state;

	ZSTD_freeDStream(zstd->stream);
	free(zstd);
}

const struct image_decoder image_decoder_zstd = {
	.version = ZSTD_versionString,
	.begins = zstd_begins,
	.whole = zstd_whole,
	.zeros = image_zero_frame_find,
	.size = zstd_size,
	.size_claim = " by the table at its end; --trailing-data reads it "
		      "without the table",
	.open = zstd_open,
	.begin = zstd_begin,
	.decode = zstd_decode,
	.close = zstd_close,
};
