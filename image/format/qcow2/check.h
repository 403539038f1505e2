/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_CHECK_H
#define HONE_IMAGE_QCOW2_CHECK_H
#include "format/qcow2/qcow2.h"

/* check.c: image_format.check */
int qcow2_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err);

/*
 * refs.c: a sparse map with a word for each cluster of a file, at first 0. A
 * map belongs to one thread, and is empty if all its bytes are 0.
 */

#define QCOW2_REFS_PAGE 512

/* Most bytes of a map: 16 GiB of clusters of 64 KiB take 1 MiB. */
#define QCOW2_REFS_BYTES ((size_t)512 << 20)

/* As many buckets as pages at most. The kernel makes those that are used: the
 * map is in memory of calloc(). */
#define QCOW2_REFS_BUCKET_BITS 18

struct qcow2_refs_page {
	/* of the first cluster, counted in pages */
	uint64_t index;
	/* in the bucket */
	struct qcow2_refs_page *next;
	struct qcow2_refs_page *older;
	uint32_t clusters[QCOW2_REFS_PAGE];
};

struct qcow2_refs {
	struct qcow2_refs_page *buckets[1 << QCOW2_REFS_BUCKET_BITS];
	struct qcow2_refs_page *newest;
	size_t n_pages;
	/* the page of the last lookup */
	struct qcow2_refs_page *last;
	/* of the hash; odd, and 0 before the first lookup */
	uint64_t factor;
};

void qcow2_refs_destroy(struct qcow2_refs *refs);

/* Set refs->last to the page of this index. */
int qcow2_refs_find(
	struct qcow2_refs *refs, uint64_t index, struct image_error *err);

/*
 * Set *out to the word of a cluster, which is valid as long as the map.
 * Returns -ENOMEM or -E2BIG if the map becomes too large.
 */
static inline int
qcow2_refs_get(struct qcow2_refs *refs, uint64_t cluster, uint32_t **out,
	struct image_error *err)
{
	uint64_t index = cluster / QCOW2_REFS_PAGE;
	int rc = 0;

	if (!refs->last || refs->last->index != index)
		rc = qcow2_refs_find(refs, index, err);
	if (rc == 0)
		*out = &refs->last->clusters[cluster % QCOW2_REFS_PAGE];
	return rc;
}

/* The pages in ascending order, for free(); NULL if there is no memory. */
struct qcow2_refs_page **qcow2_refs_sorted(const struct qcow2_refs *refs);

#endif
