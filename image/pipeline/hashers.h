/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HASHERS_H
#define HONE_IMAGE_HASHERS_H
/*
 * Hash a disk by several algorithms at once. Each algorithm needs its bytes in
 * order, so it cannot be split; but the algorithms run beside each other, and
 * beside the caller.
 */
#include "pipeline/patch.h"
#include "pipeline/pieces.h"

struct image_hashers;

/*
 * Begin the digests of a disk, of the bytes that it had before the patches
 * (NULL: none), which are those of the last read of their range. Every
 * algorithm gets a thread. With fewer threads than that, because the system
 * refuses more or by a flag, the thread of image_hashers_write() hashes the
 * rest.
 *
 * Calls run->progress, which may be NULL, as the first algorithm goes on.
 */
int image_hashers_create(struct image_hashers **out,
	const struct image_digests *digests, const struct image_run *run,
	const struct image_patches *patches, unsigned flags,
	struct image_error *err);
/* One thread less. */
#define IMAGE_HASHERS_JOIN 1u
/* Chunks have the bytes of their data alone, piece behind piece; otherwise each
 * piece has its place in the chunk. */
#define IMAGE_HASHERS_COMPACT 2u
/* NULL is allowed. */
void image_hashers_destroy(struct image_hashers *hashers);

/* image_plan.write */
typedef int (*image_write_stage)(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err);
/*
 * Hash the pieces of data of a chunk beside write(), the write stage of a plan
 * with one writer, or NULL. What lies between the last chunk and this one, and
 * between the pieces, is zero. Returns the first error.
 */
int image_hashers_write(struct image_hashers *hashers,
	const struct image_pieces *pieces, image_write_stage write,
	void *opaque, struct image_scratch *scratch, struct image_chunk *chunk,
	struct image_error *err);
/*
 * The digests are no longer needed: a chunk that is being hashed is left early.
 * Any thread.
 */
void image_hashers_stop(struct image_hashers *hashers);

/* Hash zeros up to size, the end of the disk, and set the digests. */
int image_hashers_finish(struct image_hashers *hashers, uint64_t size,
	struct image_digests *digests, struct image_error *err);

#endif
