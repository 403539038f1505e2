/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_CACHE_H
#define HONE_IMAGE_QCOW2_CACHE_H
/*
 * A bounded cache of L2 tables, in slices, for all images of a backing chain.
 * Any thread may call qcow2_cache_get() and qcow2_cache_put().
 */
#include "store/store.h"

/* Most bytes of cached slices. Slices in use may exceed the limit. */
#define QCOW2_CACHE_BYTES ((size_t)16 << 20)

/* Longest slice: a larger L2 table is read in parts. */
#define QCOW2_SLICE_BYTES ((size_t)64 << 10)

struct qcow2_cache;

struct qcow2_slice {
	/* the key */
	struct image_store *store;
	uint64_t offset;
	/* bytes of words[] */
	size_t length;
	/* threads that use the slice; the cache's mutex guards this and the
	 * lists */
	unsigned users;
	struct qcow2_slice *next_in_bucket;
	/* from the most to the least recently used */
	struct qcow2_slice *newer;
	struct qcow2_slice *older;
	/* every word is 0 */
	bool zero;
	/* the table's entries in the byte order of the host */
	uint64_t words[];
};

/* Returns NULL if there is not enough memory. */
struct qcow2_cache *qcow2_cache_create(size_t bytes);
/* No slice may be in use. NULL is allowed. */
void qcow2_cache_destroy(struct qcow2_cache *cache);

/*
 * Set *out to the slice at offset of the store; read the slice if it is not
 * cached. The slice is constant, and valid until qcow2_cache_put(). The length
 * is a multiple of 8 and always the same for an offset.
 */
int qcow2_cache_get(struct qcow2_cache *cache, struct image_store *store,
	uint64_t offset, size_t length, struct qcow2_slice **out,
	struct image_error *err);
void qcow2_cache_put(struct qcow2_cache *cache, struct qcow2_slice *slice);

#endif
