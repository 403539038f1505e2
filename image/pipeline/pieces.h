/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PIECES_H
#define HONE_IMAGE_PIECES_H
/*
 * The pieces of a chunk. Each piece has one kind; all pieces, in order, cover
 * the chunk.
 */
#include "format/format.h"
#include "pipeline/pipeline.h"

struct image_pieces {
	size_t count;
	size_t room;
	struct image_extent *list;
};

/*
 * Bytes of a chunk of a source. A chunk stays in the second-level CPU cache
 * between its stages. A chunk has whole units, because a unit in two chunks
 * would be decompressed twice.
 */
static inline size_t
image_chunk_size(const struct image_source *source)
{
	size_t chunk = (size_t)1 << 20;
	return source->unit > chunk ? (size_t)source->unit : chunk;
}

/* Least bytes of a piece: extents may end at any sector. */
#define IMAGE_PIECE_MIN 512

static inline size_t
image_pieces_room(size_t chunk)
{
	return chunk / IMAGE_PIECE_MIN + 2;
}

/*
 * Append a piece. The piece extends the last one if image_extent_continues(),
 * or if there is no more room. Without room the result is data, which is
 * correct for any bytes.
 */
void image_pieces_add(
	struct image_pieces *pieces, const struct image_extent *piece);

/*
 * Returns whether b has the kind of a, and continues a in the disk and in the
 * file.
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

/* Remove the properties of the file, so that adjacent extents can be merged. */
static inline void
image_extent_plain(struct image_extent *extent)
{
	extent->compressed = extent->zero_cluster = false;
	extent->depth = 0;
	extent->host = IMAGE_NO_HOST;
}

/*
 * The member cut of an image_plan that visits one source: visit, the plan's
 * opaque, is a struct whose first member is a pointer to the source.
 */
int image_pieces_cut(void *visit, uint64_t offset, struct image_extent *extent,
	struct image_error *err);

/* The member reach of such a plan: NULL if all extents are known before. */
typedef int (*image_reach)(
	void *visit, struct image_chunk *chunk, struct image_error *err);
image_reach image_pieces_reach(const struct image_source *source);

/*
 * After the visit: the check of an untrusted stream, source->ops->ended() if
 * the visit was whole, and image_source_unchanged(). Then sets the size of the
 * source if it was not known.
 */
int image_pieces_end(
	struct image_source *source, bool whole, struct image_error *err);

/*
 * List the extents of a chunk as the source describes them: data and holes.
 * With plain, each goes through image_extent_plain() first.
 */
int image_pieces_list(struct image_pieces *pieces, struct image_source *source,
	const struct image_chunk *chunk, bool plain, struct image_error *err);

/*
 * Read the listed pieces of data into chunk->data, adjacent ones in one call.
 * The bytes of holes are not changed.
 */
int image_pieces_read(const struct image_pieces *listed,
	struct image_source *source, struct image_scratch *scratch,
	const struct image_chunk *chunk, struct image_error *err);

/* Set the bytes of listed holes in chunk->data to zero. */
void image_pieces_clear(
	const struct image_pieces *listed, const struct image_chunk *chunk);

/* List the extents of a chunk, plain, and set chunk->data to its bytes. */
int image_pieces_load(struct image_pieces *listed, struct image_source *source,
	struct image_scratch *scratch, const struct image_chunk *chunk,
	struct image_error *err);

/*
 * Set found to the listed pieces, with data split into data and zeros. The data
 * has been read. Zeros are found in blocks aligned in the disk.
 */
void image_pieces_scan(struct image_pieces *found,
	const struct image_pieces *listed, const struct image_chunk *chunk,
	size_t block);

#endif
