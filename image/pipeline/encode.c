/* SPDX-License-Identifier: BSD-3-Clause */
/* The work stage of a copy that compresses: whole units of the sink. */
#include <errno.h>
#include <string.h>
#include <hone/zero.h>
#include "pipeline/copy.h"

/* The second half of the buffer holds the compressed units without gaps. */
struct encoder {
	struct image_copy *copy;
	struct image_scratch *scratch;
	struct image_copy_own *own;
	unsigned char *out;
	size_t used;
};

/*
 * Store a unit compressed, or uncompressed if compression saves no bytes. The
 * last unit of the disk is padded with zeros, because readers expect a whole
 * unit.
 */
static int
encode_unit(struct encoder *e, uint64_t guest, unsigned char *bytes,
	size_t length, struct image_error *err)
{
	const struct image_sink *sink = e->copy->sink;
	size_t unit = (size_t)sink->unit;
	struct image_put put = {
		.place = {.guest = guest, .length = length, .stored = length},
		.bytes = bytes};

	memset(bytes + length, 0, unit - length);
	unsigned char *to = e->out + e->used;
	int64_t n = sink->ops->encode ? sink->ops->encode(sink, e->scratch,
						guest, bytes, to)
				      : image_compress(&sink->codec, e->scratch,
						bytes, unit, to, unit - 1);
	if (n < 0)
		return image_no_memory(err);
	if (n > 0) {
		put.place.compressed = true;
		put.place.stored = (uint64_t)n;
		put.bytes = to;
		e->used += (size_t)n;
		e->own->copied.compressed_from += length;
		e->own->copied.compressed_to += (uint64_t)n;
	}
	e->own->puts[e->own->n_puts++] = put;
	return 0;
}

/*
 * Returns the bytes of listed holes in [from, to). *at is the first piece to
 * visit.
 */
static uint64_t
holes_between(const struct image_pieces *listed, size_t *at, uint64_t from,
	uint64_t to)
{
	uint64_t bytes = 0;

	for (size_t i = *at; i < listed->count; i++) {
		const struct image_extent *e = &listed->list[i];
		uint64_t end = e->offset + e->length;
		uint64_t begin = e->offset > from ? e->offset : from;
		if (e->offset >= to)
			break;
		if (e->kind == IMAGE_HOLE && end > begin)
			bytes += (end < to ? end : to) - begin;
		if (end <= to)
			*at = i + 1;
	}
	return bytes;
}

int
image_copy_encode(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct image_copy_own *own = chunk->own;
	struct encoder e = {copy, scratch, own, chunk->data + copy->chunk, 0};
	/* A compressed unit is exactly one unit of the sink. */
	size_t unit = (size_t)copy->sink->unit;
	size_t piece = 0;

	int rc = image_pieces_load(
		&own->listed, copy->source, scratch, chunk, err);
	for (size_t at = 0; rc == 0 && at < chunk->length; at += unit) {
		uint64_t left = chunk->length - at;
		size_t length = left < unit ? (size_t)left : unit;
		uint64_t guest = chunk->offset + at;
		uint64_t holes = holes_between(
			&own->listed, &piece, guest, guest + length);
		bool zero = holes == length ||
			    hone_buffer_is_zero(chunk->data + at, length);
		own->copied.hole += holes;
		if (zero)
			own->copied.zero += length - holes;
		else
			own->copied.data += length - holes;
		if (!zero)
			rc = encode_unit(
				&e, guest, chunk->data + at, length, err);
	}
	return rc;
}
