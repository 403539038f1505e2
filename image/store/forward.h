/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FORWARD_H
#define HONE_IMAGE_FORWARD_H
/*
 * Streams as stores, and stores as streams.
 *
 * A forward store reads a stream once, and serves reads at any offset. The
 * bytes that came are kept in blocks in memory. The oldest blocks that were
 * released by image_store_release() are used again. If memory is full of blocks
 * that were not released, the oldest of them moves to a temporary file without
 * a name.
 */
#include "store/store.h"
#include "store/stream.h"

/* The default of image_forward_open(). */
#define IMAGE_FORWARD_MEMORY ((uint64_t)64 << 20)

/*
 * A store of the bytes of a stream, with forward = true. It owns the stream,
 * also after a failure. memory: most bytes that are kept in memory; 0: the
 * default.
 */
int image_forward_open(struct image_stream *stream, uint64_t memory,
	struct image_store **out, struct image_error *err);

/*
 * Set where bytes go for which there is no memory. No effect on other kinds of
 * stores. spill stays valid until the store is closed. Without the call, or
 * with NULL, the store fails instead.
 */
void image_forward_spill(
	struct image_store *store, const struct image_spill *spill);

/* Where signatures are looked for: a zip archive has 65,557 bytes at its end.
 */
#define IMAGE_FORWARD_END ((uint64_t)128 << 10)

/*
 * Keep the first 64 KiB and the last 128 KiB, though they are released: who
 * looks for signatures reads them again. No effect on other kinds of stores.
 */
void image_forward_keep_ends(struct image_store *store);

/*
 * Read the rest of the stream and forget it. The stream's own checks, such as
 * those of checksums, are at its end. ops->unchanged of the store does the
 * same.
 */
int image_forward_drain(struct image_store *store, struct image_error *err);

/*
 * A stream of the bytes of a store, which the stream owns, also after a
 * failure.
 */
int image_stream_of_store(struct image_store *store, struct image_stream **out,
	struct image_error *err);

#endif
