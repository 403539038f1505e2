/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_SLICES_H
#define HONE_IMAGE_SLICES_H
/*
 * A bounded cache of tables of image files, in slices: the L2 tables of a
 * backing chain, or grain tables. Any thread may call image_slices_get() and
 * image_slices_put().
 */
#include <sys/queue.h>
#include "store/store.h"

struct image_slices;

struct image_slice {
	/* the key */
	struct image_store *store;
	uint64_t offset;
	/* bytes of words[] */
	size_t length;
	/* threads that use the slice; the cache's mutex guards this and the
	 * lists */
	unsigned users;
	LIST_ENTRY(image_slice) in_bucket;
	TAILQ_ENTRY(image_slice) in_order;
	/* every word is 0 */
	bool zero;
	/* the table's entries as in the file */
	uint64_t words[];
};

/* bytes: of cached slices at most; slices in use may exceed the limit. Returns
 * NULL if there is not enough memory. */
struct image_slices *image_slices_create(size_t bytes);
/* No slice may be in use. NULL is allowed. */
void image_slices_destroy(struct image_slices *cache);

/*
 * Set *out to the slice at offset of the store; read the slice if it is not
 * cached. The slice is constant, and valid until image_slices_put(). The length
 * is a multiple of 8 and always the same for an offset.
 */
int image_slices_get(struct image_slices *cache, struct image_store *store,
	uint64_t offset, size_t length, struct image_slice **out,
	struct image_error *err);
void image_slices_put(struct image_slices *cache, struct image_slice *slice);

#endif
