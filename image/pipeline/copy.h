/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_COPY_H
#define HONE_IMAGE_COPY_H
/* What the files of image_copy() share. */
#include "pipeline/pieces.h"

struct image_copy {
	struct image_source *source;
	struct image_sink *sink;
	/* bytes: zeros are looked for in blocks of this size */
	size_t block;
	/* bytes of the disk that a chunk has at most */
	size_t chunk;
	/* pieces that a chunk has at most */
	size_t room;
	/* blocks are shared with the source where they lie right. Atomic:
	 * cleared once the file system refuses. */
	int share;
	/* used by the order stage alone, but for `shared`, which is atomic */
	struct image_copied *copied;
};

/* Bytes that go to one place of the file. */
struct image_put {
	struct image_place place;
	/* NULL: shared with the source, at this offset of its file */
	const unsigned char *bytes;
	uint64_t from;
};

/* What a chunk carries from stage to stage. */
struct image_copy_own {
	struct image_pieces listed;
	struct image_pieces found;
	/* in the order of the disk */
	struct image_put *puts;
	size_t n_puts;
	size_t max_puts;
	struct image_copied copied;
};

/* encode.c: the work stage of a sink that compresses. */
int image_copy_encode(struct image_copy *copy, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err);

/* share.c */
/* Share the whole file if both sides are raw and the file system can. Returns
 * 1 if that was done, 0 if not. */
int image_copy_share_all(struct image_copy *copy, struct image_error *err);
/* Set copy->share if the file system shares blocks of the source with the sink.
 * The sink reads as zeros after that. */
int image_copy_try_share(struct image_copy *copy, struct image_error *err);

#endif
