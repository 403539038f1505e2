/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_CHECK_REFS_H
#define HONE_IMAGE_QCOW2_CHECK_REFS_H
/*
 * A sparse map of the references and the use of each cluster of a file. A map
 * belongs to one thread.
 */
#include "error.h"

/* The use of a cluster. */
enum qcow2_use {
	QCOW2_USE_NONE,
	QCOW2_USE_HEADER,
	QCOW2_USE_REFCOUNT_TABLE,
	QCOW2_USE_REFCOUNT_BLOCK,
	QCOW2_USE_L1,
	QCOW2_USE_L2,
	QCOW2_USE_SNAPSHOTS,
	QCOW2_USE_ENCRYPTION,
	QCOW2_USE_DIRECTORY,
	QCOW2_USE_BITMAP_TABLE,
	QCOW2_USE_BITMAP,
	QCOW2_USE_DATA,
	QCOW2_USE_COMPRESSED
};

/* One cluster: references, at most QCOW2_REFS_MAX, its use, and flags. */
#define QCOW2_REFS_MAX UINT32_C(0x00ffffff)
#define QCOW2_REFS_USE_SHIFT 24
/* the active state uses it */
#define QCOW2_REFS_ACTIVE (UINT32_C(1) << 28)
/* its reference count in the file is 1 */
#define QCOW2_REFS_ONE (UINT32_C(1) << 29)
/* an L2 table that was visited, a refcount block that was read */
#define QCOW2_REFS_VISITED (UINT32_C(1) << 30)
/* its reference count was compared */
#define QCOW2_REFS_COMPARED (UINT32_C(1) << 31)

#define QCOW2_REFS_PAGE 512

/* Most bytes of a map: 16 GiB of clusters of 64 KiB take 1 MiB. */
#define QCOW2_REFS_BYTES ((size_t)512 << 20)

struct qcow2_refs_page {
	/* of the first cluster, counted in pages */
	uint64_t index;
	struct qcow2_refs_page *next;
	uint32_t clusters[QCOW2_REFS_PAGE];
};

struct qcow2_refs {
	/* clusters of the file, the last of which may be cut */
	uint64_t clusters;
	struct qcow2_refs_page **buckets;
	/* a power of two */
	size_t n_buckets;
	size_t n_pages;
	/* the page of the last lookup */
	struct qcow2_refs_page *last;
};

/* On failure, as on success, qcow2_refs_destroy() frees it. */
int qcow2_refs_init(
	struct qcow2_refs *refs, uint64_t clusters, struct image_error *err);
void qcow2_refs_destroy(struct qcow2_refs *refs);

/*
 * Set *out to the entry of a cluster, which is valid as long as the map.
 * Returns -ENOMEM or -E2BIG if the map becomes too large.
 */
int qcow2_refs_get(struct qcow2_refs *refs, uint64_t cluster, uint32_t **out,
	struct image_error *err);

/* The pages in ascending order, for free(); NULL if there is no memory. */
struct qcow2_refs_page **qcow2_refs_sorted(const struct qcow2_refs *refs);

static inline uint32_t
qcow2_refs_count(uint32_t entry)
{
	return entry & QCOW2_REFS_MAX;
}

static inline enum qcow2_use
qcow2_refs_use(uint32_t entry)
{
	return (enum qcow2_use)(entry >> QCOW2_REFS_USE_SHIFT & 15);
}

#endif
