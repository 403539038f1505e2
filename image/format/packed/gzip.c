/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One member of gzip (RFC 1952) without a name and a time. What stands for 1,
 * 2, 4 and so on up to a MiB of zeros is made once, and each number of zeros is
 * a sum of these.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/bytes.h"
#include "format/packed/packed.h"

#define HEADER 10
/* Files are as small as those of pigz -6: docs/design/image.md, "Measured". */
#define LEVEL 5
/* the most input of image_pack() */
#define PART ((size_t)2 << 20)

/* Powers of two up to a MiB. */
#define POWERS 21
#define LARGEST ((size_t)1 << (POWERS - 1))
/* A MiB of zeros takes 1 KiB, and libdeflate's room is larger. */
#define ROOM IMAGE_PACK_ROOM(LARGEST)
/* MiB of zeros that one write has. */
#define REPEATS 64

struct zeros {
	/* what stands for 1 << i zeros, and its length */
	unsigned char *bytes[POWERS];
	size_t stored[POWERS];
	/* the last one, many times */
	unsigned char *repeated;
	/* of a zero */
	uint32_t crc;
	/* of what has a place */
	uint32_t all_crc;
	uint64_t all_length;
};

static int
make_powers(struct zeros *z)
{
	const struct image_codec codec = {
		.id = IMAGE_CODEC_ZLIB, .level = LEVEL};
	struct image_scratch scratch = {0};
	struct image_error err;
	unsigned char *from = calloc(1, LARGEST), *to = malloc(ROOM);
	int rc = from && to ? 0 : -ENOMEM;

	for (unsigned i = 0; rc == 0 && i < POWERS; i++) {
		struct image_packed packed = {.length = (uint64_t)1 << i};
		rc = image_pack(
			&codec, &scratch, from, to, ROOM, &packed, &err);
		z->stored[i] = (size_t)packed.stored;
		z->bytes[i] = rc == 0 ? malloc(z->stored[i]) : NULL;
		if (z->bytes[i])
			memcpy(z->bytes[i], to, z->stored[i]);
		else
			rc = -ENOMEM;
	}
	z->crc = from ? image_crc32(from, 1) : 0;
	image_scratch_destroy(&scratch);
	free(from);
	free(to);
	return rc;
}

static int
gzip_open(struct packed_sink *s)
{
	struct zeros *z = calloc(1, sizeof(*z));

	s->state = z;
	if (!z || make_powers(z) < 0)
		return -ENOMEM;
	size_t length = z->stored[POWERS - 1];
	z->repeated = malloc(REPEATS * length);
	if (!z->repeated)
		return -ENOMEM;
	for (size_t i = 0; i < REPEATS; i++)
		memcpy(z->repeated + i * length, z->bytes[POWERS - 1], length);
	return 0;
}

static void
gzip_close(void *state)
{
	struct zeros *z = state;

	for (unsigned i = 0; z && i < POWERS; i++)
		free(z->bytes[i]);
	if (z)
		free(z->repeated);
	free(z);
}

static int
gzip_begin(struct packed_sink *s, struct image_error *err)
{
	static const unsigned char header[HEADER] = {
		0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

	s->position = HEADER;
	return packed_write(s, 0, header, HEADER, err);
}

static uint64_t
gzip_measure(const struct packed_sink *s, uint64_t zeros)
{
	const struct zeros *z = s->state;
	uint64_t size = zeros / LARGEST * z->stored[POWERS - 1];

	for (unsigned i = 0; i < POWERS - 1; i++)
		if (zeros >> i & 1)
			size += z->stored[i];
	return size;
}

static void
add(struct zeros *z, uint32_t crc, uint64_t length)
{
	z->all_crc = image_crc32_join(z->all_crc, crc, length);
	z->all_length += length;
}

static int
gzip_note(struct packed_sink *s, uint64_t zeros,
	const struct image_packed *part, struct image_error *err)
{
	struct zeros *z = s->state;
	uint32_t crc = z->crc;

	(void)err;
	for (unsigned i = 0; zeros >> i; i++) {
		uint64_t power = (uint64_t)1 << i;
		if (zeros & power)
			add(z, crc, power);
		crc = image_crc32_join(crc, crc, power);
	}
	if (part)
		add(z, part->crc, part->length);
	return 0;
}

static int
gzip_fill(const struct packed_sink *s, uint64_t host, uint64_t zeros,
	struct image_error *err)
{
	const struct zeros *z = s->state;
	int rc = 0;

	for (uint64_t left = zeros / LARGEST, n; rc == 0 && left; left -= n) {
		n = left < REPEATS ? left : REPEATS;
		size_t length = (size_t)n * z->stored[POWERS - 1];
		rc = packed_write(s, host, z->repeated, length, err);
		host += length;
	}
	for (unsigned i = 0; rc == 0 && i < POWERS - 1; i++) {
		if (!(zeros >> i & 1))
			continue;
		rc = packed_write(s, host, z->bytes[i], z->stored[i], err);
		host += z->stored[i];
	}
	return rc;
}

static int
gzip_end(struct packed_sink *s, struct image_error *err)
{
	const struct zeros *z = s->state;
	/* An empty block, which is the last one: RFC 1951, 3.2.4. */
	unsigned char end[13] = {1, 0, 0, 0xff, 0xff};

	image_put_le32(end + 5, z->all_crc);
	image_put_le32(end + 9, (uint32_t)z->all_length);
	return packed_write(s, s->position, end, sizeof(end), err);
}

const struct packed_kind packed_gzip = {
	.codec = {.id = IMAGE_CODEC_ZLIB, .level = LEVEL},
	.part = PART,
	.open = gzip_open,
	.close = gzip_close,
	.begin = gzip_begin,
	.measure = gzip_measure,
	.note = gzip_note,
	.fill = gzip_fill,
	.end = gzip_end,
};
