/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of zstd (RFC 8878) that are read alone, and behind them the table of
 * contrib/seekable_format of zstd, "Zstandard Seekable Format" 0.1.0: a frame
 * that is skipped, with both lengths of each frame.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "codec/zero_frame.h"
#include "format/bytes.h"
#include "format/packed/packed.h"

/* zstd -3; frames of 8 MiB are as small as those of zstd -T0 */
#define LEVEL 3
#define PART ((size_t)8 << 20)

/* ZSTD_SEEKABLE_MAXFRAMES: 1 GiB of rows. A piece of the disk of 8 MiB has two
 * rows at most, so a disk of 1 TiB takes 2 MiB. */
#define MAX_FRAMES 0x8000000u
/* Of the table: a header, the rows, the end. */
#define SKIPPED_MAGIC 0x184d2a5eu
#define SEEKABLE_MAGIC 0x8f92eab1u
#define TABLE_HEADER 8
#define ROW 8
#define TABLE_END 9

struct table {
	/* the table, without its header and its end */
	unsigned char *rows;
	size_t count;
	uint64_t room;
};

static int
zstd_open(struct packed_sink *s)
{
	s->state = calloc(1, sizeof(struct table));
	return s->state ? 0 : -ENOMEM;
}

static void
zstd_close(void *state)
{
	struct table *t = state;

	if (t)
		free(t->rows);
	free(t);
}

/* Make room for more rows. A disk that has too many is refused first. */
static int
reserve(struct packed_sink *s, uint64_t frames, struct image_error *err)
{
	struct table *t = s->state;

	if (frames > MAX_FRAMES - t->count)
		return image_fail(err, s->base.store->name, -EFBIG,
			"would have more than %u frames, which is the limit of "
			"the table behind them",
			MAX_FRAMES);
	return image_grow(&t->rows, &t->room, t->count + frames, ROW, err);
}

/* Add a row, for which there is room. */
static void
add_row(struct table *t, uint64_t stored, uint64_t content)
{
	unsigned char *row = t->rows + t->count++ * ROW;

	image_put_le32(row, (uint32_t)stored);
	image_put_le32(row + 4, (uint32_t)content);
}

static uint64_t
zstd_measure(const struct packed_sink *s, uint64_t zeros)
{
	uint64_t rest = zeros % IMAGE_ZERO_FRAME;

	(void)s;
	return zeros / IMAGE_ZERO_FRAME *
		       image_zero_frame_size(IMAGE_ZERO_FRAME) +
	       (rest ? image_zero_frame_size(rest) : 0);
}

static int
zstd_note(struct packed_sink *s, uint64_t zeros,
	const struct image_packed *part, struct image_error *err)
{
	struct table *t = s->state;
	uint64_t frames = (zeros + IMAGE_ZERO_FRAME - 1) / IMAGE_ZERO_FRAME;

	int rc = reserve(s, frames + (part != NULL), err);
	if (rc < 0)
		return rc;
	for (uint64_t left = zeros, n; left; left -= n) {
		n = left < IMAGE_ZERO_FRAME ? left : IMAGE_ZERO_FRAME;
		add_row(t, image_zero_frame_size(n), n);
	}
	if (part)
		add_row(t, part->stored, part->length);
	return 0;
}

static int
zstd_fill(const struct packed_sink *s, uint64_t host, uint64_t zeros,
	struct image_error *err)
{
	unsigned char *frame = malloc(image_zero_frame_size(IMAGE_ZERO_FRAME));
	int rc = 0;

	if (!frame)
		return image_no_memory(err);
	for (uint64_t left = zeros, n; rc == 0 && left; left -= n) {
		n = left < IMAGE_ZERO_FRAME ? left : IMAGE_ZERO_FRAME;
		size_t length = image_zero_frame_size(n);
		/* All but the last are the same. */
		if (left == zeros || n < IMAGE_ZERO_FRAME)
			image_zero_frame_put(frame, n);
		rc = packed_write(s, host, frame, length, err);
		host += length;
	}
	free(frame);
	return rc;
}

/* A disk without a byte has one frame, so that the file does not begin with
 * the table. */
static int
put_empty_frame(struct packed_sink *s, struct image_error *err)
{
	/* one segment without content, and its last block, which is raw */
	static const unsigned char frame[9] = {
		0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0};

	int rc = reserve(s, 1, err);
	if (rc < 0)
		return rc;
	add_row(s->state, sizeof(frame), 0);
	s->position = sizeof(frame);
	return packed_write(s, 0, frame, sizeof(frame), err);
}

static int
zstd_end(struct packed_sink *s, struct image_error *err)
{
	struct table *t = s->state;
	unsigned char header[TABLE_HEADER], end[TABLE_END] = {0};
	int rc = t->count ? 0 : put_empty_frame(s, err);
	size_t length = t->count * ROW;
	uint64_t at = s->position;

	image_put_le32(header, SKIPPED_MAGIC);
	image_put_le32(header + 4, (uint32_t)(length + TABLE_END));
	image_put_le32(end, (uint32_t)t->count);
	/* The descriptor is 0: the rows have no checksums. */
	image_put_le32(end + 5, SEEKABLE_MAGIC);
	if (rc == 0)
		rc = packed_write(s, at, header, TABLE_HEADER, err);
	at += TABLE_HEADER;
	if (rc == 0)
		rc = packed_write(s, at, t->rows, length, err);
	if (rc == 0)
		rc = packed_write(s, at + length, end, TABLE_END, err);
	return rc;
}

const struct packed_kind packed_zstd = {
	.codec = {.id = IMAGE_CODEC_ZSTD, .level = LEVEL, .checksum = true},
	.part = PART,
	.open = zstd_open,
	.close = zstd_close,
	.measure = zstd_measure,
	.note = zstd_note,
	.fill = zstd_fill,
	.end = zstd_end,
};
