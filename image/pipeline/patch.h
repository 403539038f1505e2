/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PATCH_H
#define HONE_IMAGE_PATCH_H
/*
 * A source with other bytes in a few ranges of its disk, and maybe a larger
 * disk. Who visits the disk sees these bytes. Digests of image_copy() are those
 * of the disk as it was.
 */
#include "format/format.h"

struct image_patch {
	uint64_t offset;
	size_t length;
	/* the bytes that the disk has now */
	unsigned char *now;
	/* those that it had: valid when the range was read, zeros before */
	unsigned char *was;
};

/* The first sectors, each part of the old backup GPT in two, the new one. */
#define IMAGE_PATCHES 6

struct image_patches {
	/* bytes of the disk as it was */
	uint64_t size;
	/* no range overlaps another one */
	size_t count;
	struct image_patch list[IMAGE_PATCHES];
};

/*
 * Returns the patch that has the byte at `at`, or NULL. Reduces *end, which is
 * larger, to where the patch ends or the next one begins.
 */
const struct image_patch *image_patch_at(
	const struct image_patches *patches, uint64_t at, uint64_t *end);

/* A source of `inner`, which it owns when it is closed by image_close(). */
struct image_patched {
	struct image_source base;
	struct image_source *inner;
	struct image_source_ops ops;
	struct image_patches patches;
	/* the first bytes of inner, which are not read from it again: a stream
	 * has them once, and a server may have changed them */
	unsigned char *head;
	size_t head_length;
};

/*
 * Make a source with a disk of at least `size` bytes: zeros follow those of
 * inner. Reads the first bytes of inner, `head` or a little more if the disk
 * has them.
 */
int image_patched_create(struct image_source *inner, uint64_t size, size_t head,
	struct image_patched **out, struct image_error *err);
/* Free what image_patched_create() made, but not inner. NULL is allowed. */
void image_patched_destroy(struct image_patched *patched);
/* Add a patch; bytes NULL: zeros. */
int image_patched_add(struct image_patched *patched, uint64_t offset,
	size_t length, const unsigned char *bytes, struct image_error *err);

#endif
