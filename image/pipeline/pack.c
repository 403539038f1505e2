/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work stage of a copy into a sink with append: compress the data of a
 * chunk as a part of a stream that has the data alone (-O gce) or the disk
 * (--pack).
 */
#include <string.h>
#include <hone/zero.h>
#include "format/source.h"
#include "pipeline/copy.h"

/* Read a range of whole sectors; zeros follow the disk. */
static int
read_region(struct image_source *source, struct image_scratch *scratch,
	uint64_t begin, uint64_t end, unsigned char *to,
	struct image_error *err)
{
	uint64_t stop = end < source->size ? end : source->size;

	memset(to + (stop - begin), 0, (size_t)(end - stop));
	return source->ops->read(
		source, scratch, begin, to, (size_t)(stop - begin), err);
}

/*
 * Returns how much of the disk's bytes from begin to end are blocks of zeros.
 * Blocks are aligned in the disk.
 */
static uint64_t
count_zeros(
	uint64_t begin, uint64_t end, const unsigned char *bytes, size_t block)
{
	uint64_t zero = 0;

	for (uint64_t at = begin, next; at < end; at = next) {
		next = (at | (block - 1)) + 1;
		if (next > end)
			next = end;
		if (hone_buffer_is_zero(bytes + (at - begin), next - at))
			zero += next - at;
	}
	return zero;
}

/* Count a range of the disk that was read, and list it for the digests. */
static void
add_region(const struct image_copy *copy, struct image_copy_own *own,
	uint64_t begin, uint64_t end, const unsigned char *bytes)
{
	struct image_copied *copied = &own->copied;
	uint64_t zero = count_zeros(begin, end, bytes, copy->block);

	copied->zero += zero;
	copied->data += end - begin - zero;
	copied->hole -= end - begin;
	copied->compressed_from += end - begin;
	if (copy->hashers)
		own->listed.list[own->listed.count++] =
			(struct image_extent){.kind = IMAGE_DATA,
				.offset = begin,
				.length = end - begin,
				.host = IMAGE_NO_HOST};
}

/* Compress the part that own->packed describes, and put it. */
static int
put_part(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, const unsigned char *from,
	struct image_error *err)
{
	const struct image_codec *codec = &copy->sink->codec;
	struct image_copy_own *own = chunk->own;
	struct image_packed *packed = &own->packed;
	unsigned char *to = chunk->data + copy->chunk;
	size_t room = IMAGE_PACK_ROOM(copy->chunk);
	int rc = 0;

	if (codec->id == IMAGE_CODEC_ZLIB) {
		rc = image_pack(codec, scratch, from, to, room, packed, err);
	} else {
		int64_t n = image_compress(
			codec, scratch, from, (size_t)packed->length, to, room);
		packed->stored = n < 0 ? 0 : (uint64_t)n;
		rc = n > 0 ? 0 : image_no_memory(err);
	}
	own->copied.compressed_to = packed->stored;
	own->puts[own->n_puts++] =
		(struct image_put){.place = {.guest = chunk->offset,
					   .length = chunk->length,
					   .stored = packed->stored},
			.bytes = to};
	return rc;
}

int
image_copy_pack(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct image_source *source = copy->source;
	struct image_copy_own *own = chunk->own;
	struct image_packed *packed = &own->packed;
	uint64_t end = chunk->offset + chunk->length;
	uint64_t stop =
		(end + IMAGE_SECTOR - 1) & ~(uint64_t)(IMAGE_SECTOR - 1);
	uint64_t at = chunk->offset;

	*packed = (struct image_packed){0};
	own->listed.count = 0;
	own->copied.hole = chunk->length;
	while (at < stop) {
		unsigned char *bytes = chunk->data + packed->length;
		uint64_t begin;
		int rc = image_region(source, at, stop, &begin, &at, err);
		if (rc == 0 && begin < at)
			rc = read_region(
				source, scratch, begin, at, bytes, err);
		if (rc < 0)
			return rc;
		if (begin == at)
			continue;
		add_region(copy, own, begin, at < end ? at : end, bytes);
		packed->length += at - begin;
	}
	return packed->length ? put_part(copy, scratch, chunk, chunk->data, err)
			      : 0;
}

/* The whole disk is packed, but for zeros at the ends of a chunk: the sink
 * joins these with their neighbours. */
int
image_copy_pack_disk(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct image_copy_own *own = chunk->own;
	size_t unit = (size_t)copy->sink->unit, length = (size_t)chunk->length;

	int rc = image_pieces_load(
		&own->listed, copy->source, scratch, chunk, err);
	if (rc < 0)
		return rc;
	image_pieces_scan(&own->found, &own->listed, chunk, copy->block);
	for (size_t i = 0; i < own->found.count; i++)
		image_copy_count(&own->copied, &own->found.list[i]);
	size_t begin = hone_find_nonzero(chunk->data, length);
	if (begin == length)
		return 0;
	begin &= ~(unit - 1);
	size_t end = (hone_rfind_nonzero(chunk->data, length) | (unit - 1)) + 1;
	if (end > length)
		end = length;
	own->packed = (struct image_packed){.guest = chunk->offset + begin,
		.bytes = chunk->data + begin,
		.length = end - begin};
	own->copied.compressed_from = own->packed.length;
	return put_part(copy, scratch, chunk, own->packed.bytes, err);
}
