/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_COPY_H
#define HONE_IMAGE_COPY_H
/* Declarations for the files of image_copy(). */
#include "codec/join.h"
#include "pipeline/hashers.h"

struct image_copy {
	/* first: image_pieces_cut() */
	struct image_source *source;
	struct image_sink *sink;
	/* bytes of the blocks that are searched for zeros */
	size_t block;
	/* most bytes of the disk in a chunk */
	size_t chunk;
	/* most pieces of a chunk, and most puts */
	size_t room;
	size_t max_puts;
	/* share aligned blocks with the source. Atomic: cleared when the file
	 * system refuses. */
	int share;
	/* NULL: no digests */
	struct image_hashers *hashers;
	/* image_run.max_written */
	uint64_t max_written;
	/* used by the order stage alone, except for `shared`, which is
	 * atomic */
	struct image_copied *copied;
};

/* Returns a failure if more data is to be written than the limit, 0: none. */
static inline int
image_copy_limit(const struct image_sink *sink,
	const struct image_copied *copied, uint64_t limit,
	struct image_error *err)
{
	return limit == 0 || copied->data <= limit
		       ? 0
		       : image_too_large(err, sink->store->name,
				 "would get more data than", limit);
}

static inline void
image_copy_count(struct image_copied *copied, const struct image_extent *piece)
{
	if (piece->kind == IMAGE_DATA)
		copied->data += piece->length;
	else if (piece->kind == IMAGE_ZERO)
		copied->zero += piece->length;
	else
		copied->hole += piece->length;
}

/* Bytes for one place of the file. */
struct image_put {
	struct image_place place;
	/* NULL: zeros, or shared with the source, at this offset of its
	 * file */
	const unsigned char *bytes;
	uint64_t from;
	bool zeros;
};

/* The data of a chunk that the stages share. */
struct image_copy_own {
	struct image_pieces listed;
	struct image_pieces found;
	/* in the order of the disk */
	struct image_put *puts;
	size_t n_puts;
	size_t max_puts;
	struct image_copied copied;
	/* the only put, if the sink has append */
	struct image_packed packed;
};

/* encode.c: the work stage of a sink that compresses. */
int image_copy_encode(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err);

/* pack.c: the work stage of a sink with append, without image_sink.part and
 * with it. */
int image_copy_pack(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err);
int image_copy_pack_disk(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err);

#endif
