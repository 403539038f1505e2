/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>
#include <hone/zero.h>
#include "format/format.h"
#include "pipeline/pieces.h"

bool
image_extent_continues(
	const struct image_extent *a, const struct image_extent *b)
{
	if (a->kind != b->kind || a->compressed != b->compressed ||
		a->zero_cluster != b->zero_cluster || a->depth != b->depth ||
		image_extent_end(a) != b->offset)
		return false;
	if (a->host == IMAGE_NO_HOST || b->host == IMAGE_NO_HOST)
		return a->host == b->host;
	return a->host + a->length == b->host;
}

struct image_extent
image_extent_part(
	const struct image_extent *extent, uint64_t offset, uint64_t end)
{
	struct image_extent part = *extent;

	if (offset > part.offset) {
		uint64_t gone = offset - part.offset;
		part.offset = offset;
		part.length -= gone;
		if (part.host != IMAGE_NO_HOST)
			part.host += gone;
	}
	if (image_extent_end(&part) > end)
		part.length = end - part.offset;
	return part;
}

void
image_pieces_add(struct image_pieces *pieces, const struct image_extent *piece)
{
	struct image_extent *last =
		pieces->count ? &pieces->list[pieces->count - 1] : NULL;

	assert(pieces->room > 0);
	if (last && image_extent_continues(last, piece)) {
		last->length += piece->length;
	} else if (pieces->count < pieces->room) {
		pieces->list[pieces->count++] = *piece;
	} else {
		last->length += piece->length;
		last->kind = IMAGE_DATA;
		/* The merged piece has several places in the file. */
		image_extent_plain(last);
	}
}

static int
pieces_reach(void *visit, struct image_chunk *chunk, struct image_error *err)
{
	struct image_source *source = *(struct image_source **)visit;
	uint64_t reached;

	int rc = image_store_reach(source->store, chunk->offset,
		(size_t)chunk->length, &reached, err);
	/* A disk of known size may be longer than the stream: patch.c. */
	if (rc == 0 && image_source_is_unsized(source))
		chunk->length = reached;
	/* What passed may have holes. */
	if (rc == 0 && chunk->length)
		rc = source->ops->extent(source, chunk->offset, chunk->length,
			&chunk->first, err);
	return rc;
}

image_reach
image_pieces_reach(const struct image_source *source)
{
	/* The holes of the disk, and maybe its end, are known only when its
	 * bytes have come: a raw disk in a stream. */
	return source->store->forward && source->format == &image_format_raw
		       ? pieces_reach
		       : NULL;
}

int
image_pieces_end(
	struct image_source *source, bool whole, struct image_error *err)
{
	const struct image_open how = {
		.format = source->format, .vhd_size = source->vhd_size};
	int rc = source->check_last ? image_check_last(source->store, &how, err)
				    : 0;

	if (rc == 0 && whole && source->ops->ended)
		rc = source->ops->ended(source, err);
	if (rc == 0)
		rc = image_source_unchanged(source, err);
	if (rc == 0 && image_source_is_unsized(source))
		rc = image_store_reach(source->store, 0, IMAGE_SIZE_UNKNOWN,
			&source->size, err);
	return rc;
}

int
image_pieces_cut(void *visit, uint64_t offset, struct image_extent *extent,
	struct image_error *err)
{
	struct image_source *source = *(struct image_source **)visit;
	return source->ops->extent(
		source, offset, source->size - offset, extent, err);
}

int
image_pieces_list(struct image_pieces *pieces, struct image_source *source,
	const struct image_chunk *chunk, bool plain, struct image_error *err)
{
	uint64_t offset = chunk->offset;
	uint64_t end = chunk->offset + chunk->length;
	struct image_extent extent = chunk->first;

	pieces->count = 0;
	while (offset < end) {
		int rc = offset == chunk->offset
				 ? 0
				 : source->ops->extent(source, offset,
					   end - offset, &extent, err);
		if (rc < 0)
			return rc;
		struct image_extent part =
			image_extent_part(&extent, offset, end);
		if (plain)
			image_extent_plain(&part);
		image_pieces_add(pieces, &part);
		offset += part.length;
	}
	return 0;
}

int
image_pieces_read(const struct image_pieces *listed,
	struct image_source *source, struct image_scratch *scratch,
	const struct image_chunk *chunk, struct image_error *err)
{
	for (size_t i = 0; i < listed->count; i++) {
		uint64_t offset = listed->list[i].offset;
		uint64_t end = offset;
		while (i < listed->count && listed->list[i].kind == IMAGE_DATA)
			end = image_extent_end(&listed->list[i++]);
		if (end == offset)
			continue;
		int rc = source->ops->read(source, scratch, offset,
			chunk->data + (offset - chunk->offset),
			(size_t)(end - offset), err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
image_pieces_clear(
	const struct image_pieces *listed, const struct image_chunk *chunk)
{
	for (size_t i = 0; i < listed->count; i++) {
		const struct image_extent *e = &listed->list[i];
		if (e->kind == IMAGE_HOLE)
			memset(chunk->data + (e->offset - chunk->offset), 0,
				(size_t)e->length);
	}
}

int
image_pieces_load(struct image_pieces *listed, struct image_source *source,
	struct image_scratch *scratch, const struct image_chunk *chunk,
	struct image_error *err)
{
	int rc = image_pieces_list(listed, source, chunk, true, err);

	if (rc == 0)
		rc = image_pieces_read(listed, source, scratch, chunk, err);
	if (rc == 0)
		image_pieces_clear(listed, chunk);
	return rc;
}

/* The first block begins at the beginning of the range. */
static void
scan(struct image_pieces *found, const struct image_extent *range,
	const unsigned char *bytes, size_t block)
{
	struct hone_zero_walk walk;
	struct hone_zero_extent run;

	hone_zero_walk_init(&walk, bytes, (size_t)range->length, block);
	while (hone_zero_walk_next(&walk, &run)) {
		uint64_t offset = range->offset + run.offset;
		struct image_extent piece =
			image_extent_part(range, offset, offset + run.length);
		piece.kind = run.zero ? IMAGE_ZERO : IMAGE_DATA;
		image_pieces_add(found, &piece);
	}
}

void
image_pieces_scan(struct image_pieces *found, const struct image_pieces *listed,
	const struct image_chunk *chunk, size_t block)
{
	found->count = 0;
	for (size_t i = 0; i < listed->count; i++) {
		const struct image_extent *e = &listed->list[i];
		if (e->kind == IMAGE_HOLE) {
			image_pieces_add(found, e);
			continue;
		}
		/* The end of a block that began before this extent is a
		 * separate range. */
		uint64_t aligned =
			(e->offset + block - 1) & ~((uint64_t)block - 1);
		uint64_t ends[2] = {aligned, image_extent_end(e)};
		uint64_t from = e->offset;
		for (int k = 0; k < 2; k++) {
			uint64_t to = ends[k] < ends[1] ? ends[k] : ends[1];
			if (to == from)
				continue;
			struct image_extent range =
				image_extent_part(e, from, to);
			scan(found, &range,
				chunk->data + (from - chunk->offset), block);
			from = to;
		}
	}
}
