/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_WALK_H
#define HONE_IMAGE_WALK_H
/* An image from its first byte to its last, in pieces of one kind each. */
#include <hone/zero.h>
#include "engine/reader.h"

struct image_piece {
	struct image_extent extent;
	/* for IMAGE_DATA: its bytes, until the next call on the walk */
	const unsigned char *bytes;
};

/* Its members are private. */
struct image_walk {
	struct image *img;
	size_t block;
	struct image_reader reader;
	/* where the next piece begins */
	uint64_t offset;
	/* the source's extent around it */
	struct image_extent extent;
	/* the chunk of that extent at hand */
	uint64_t chunk_offset;
	size_t chunk_length;
	const unsigned char *bytes;
	struct hone_zero_walk zero;
};

int image_walk_init(struct image_walk *walk, struct image *img,
	const struct image_run *run, struct image_error *err);
void image_walk_destroy(struct image_walk *walk);

/* Returns 1 for a piece, 0 at the end of the image, or a negative errno. */
int image_walk_next(struct image_walk *walk, struct image_piece *piece,
	struct image_error *err);

/*
 * The piece's bytes could not be touched: read them, or tell why not. The
 * piece is the last one returned.
 */
int image_walk_again(struct image_walk *walk, struct image_piece *piece,
	struct image_error *err);

#endif
