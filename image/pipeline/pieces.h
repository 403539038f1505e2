/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PIECES_H
#define HONE_IMAGE_PIECES_H
/* What a chunk holds: pieces of one kind each, in order, that cover it. */
#include "format/format.h"
#include "pipeline/pipeline.h"

struct image_pieces {
	size_t count;
	size_t room;
	struct image_extent *list;
};

/*
 * Bytes of a chunk of a source. A chunk stays in the second-level cache between
 * its stages. A unit that two chunks shared would be decompressed twice.
 */
static inline size_t
image_chunk_size(const struct image_source *source)
{
	size_t chunk = (size_t)1 << 20;
	return source->unit > chunk ? (size_t)source->unit : chunk;
}

/* Pieces that a chunk can have: extents may end at any sector. */
#define IMAGE_PIECE_MIN 512

static inline size_t
image_pieces_room(size_t chunk)
{
	return chunk / IMAGE_PIECE_MIN + 2;
}

/*
 * Append a piece. It becomes part of the last one if the two are alike and
 * neighbours, or if there is no more room: then as data, which is always true.
 */
void image_pieces_add(
	struct image_pieces *pieces, const struct image_extent *piece);

/* Whether b goes on where a ends, in the disk and in the file, and is like a.
 */
bool image_extent_continues(
	const struct image_extent *a, const struct image_extent *b);

static inline uint64_t
image_extent_end(const struct image_extent *extent)
{
	return extent->offset + extent->length;
}

/* The part of an extent that lies in [offset, end). */
struct image_extent image_extent_part(
	const struct image_extent *extent, uint64_t offset, uint64_t end);

/* Make an extent say nothing of the file, so that neighbours merge. */
static inline void
image_extent_plain(struct image_extent *extent)
{
	extent->compressed = extent->zero_cluster = false;
	extent->depth = 0;
	extent->host = IMAGE_NO_HOST;
}

/*
 * List the extents of a chunk as the source describes them: data and holes.
 * With plain, each goes through image_extent_plain() first.
 */
int image_pieces_list(struct image_pieces *pieces, struct image_source *source,
	const struct image_chunk *chunk, bool plain, struct image_error *err);

/*
 * Read the data among the pieces listed into chunk->data, neighbours in one
 * call. What is a hole is left as it is there.
 */
int image_pieces_read(const struct image_pieces *listed,
	struct image_source *source, struct image_scratch *scratch,
	const struct image_chunk *chunk, struct image_error *err);

/*
 * Make found the pieces listed, with the data, which has been read, told apart
 * into data and zeros. Zeros are found in blocks aligned in the disk.
 */
void image_pieces_scan(struct image_pieces *found,
	const struct image_pieces *listed, const struct image_chunk *chunk,
	size_t block);

#endif
