/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_BLOCKS_H
#define HONE_IMAGE_BLOCKS_H
/*
 * Stores whose bytes come from elsewhere and are kept in blocks: cache.h has
 * the picture.
 *
 * A store of a stream reads the stream once, and serves reads at any offset.
 * The oldest blocks that were released by image_store_release() are used again.
 * If memory is full of blocks that were not released, the oldest of them moves
 * to a temporary file without a name.
 */
#include "store/store.h"
#include "store/stream.h"

/* Sees every byte of a sequence once and in order: a digest. */
struct image_tap {
	/* Without bytes: the sequence has ended. */
	int (*see)(struct image_tap *tap, const void *bytes, size_t length,
		struct image_error *err);
	void (*close)(struct image_tap *tap);
};

/* A store of a stream, which it owns, also after a failure: forward = true. */
int image_blocks_open(struct image_stream *stream, uint64_t memory,
	struct image_store **out, struct image_error *err);

/*
 * Replace a store by one whose bytes come once and in order, with
 * forward = true. They pass the tap, which the store owns, also after a
 * failure; NULL: none. A store of blocks of which nothing has passed, not even
 * its end, stays. Closes the store on failure.
 */
int image_blocks_once(struct image_store **store, uint64_t memory,
	struct image_tap *tap, struct image_error *err);

/*
 * Who reads the store from now on is one stream, from its begin: the bytes come
 * once and in order, and none stays when it was released. No effect on other
 * kinds of stores.
 */
void image_blocks_pass(struct image_store *store);

/*
 * Set where bytes go for which there is no memory. No effect on other kinds of
 * stores. spill stays valid until the store is closed. Without the call, or
 * with NULL, the store fails instead.
 */
void image_blocks_spill(
	struct image_store *store, const struct image_spill *spill);

/* Where signatures are: a zip archive has 65,557 bytes at its end. */
#define IMAGE_BLOCKS_END ((uint64_t)128 << 10)

/*
 * Keep the first and the last 128 KiB, though they are released: who looks for
 * signatures reads them again. No effect on other kinds of stores.
 */
void image_blocks_keep_ends(struct image_store *store);

/*
 * Read the rest of the sequence. Its blocks are released as they pass; those of
 * image_blocks_keep_ends() are kept. The checks of a stream, such as those of
 * checksums, are at its end, and so is that of the tap. ops->unchanged of the
 * store does the same.
 */
int image_blocks_drain(struct image_store *store, struct image_error *err);

/* hash/expect.c: a tap that fails at the end, with err->refused, if the digest
 * of the bytes is not that expected. name: for messages; copied. */
int image_tap_expect(const struct image_expect *expect, const char *name,
	struct image_tap **out, struct image_error *err);

/* hash/expect.c: replace a store by one that is read from its first byte to its
 * last, by image_blocks_once() and such a tap. */
int image_blocks_expect(struct image_store **store,
	const struct image_expect *expect, uint64_t memory,
	struct image_error *err);

/* A stream of the bytes of a store. It owns the store, also after a failure. */
int image_stream_of_store(struct image_store *store, struct image_stream **out,
	struct image_error *err);
/* The same without ownership. */
int image_stream_borrow(struct image_store *store, struct image_stream **out,
	struct image_error *err);

#endif
