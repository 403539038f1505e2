/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_CHECK_H
#define HONE_IMAGE_QCOW2_CHECK_H
/*
 * Checks the metadata of a qcow2 image. References are counted in a sparse map
 * of the file's clusters and compared with the reference counts of the file.
 *
 * Each table is read at most twice, however many entries refer to the table.
 * Holes of the file are not read. So the time grows with the allocated bytes of
 * the file.
 */
#include "format/qcow2/qcow2.h"
#include "format/format.h"

/* image_format.check */
int qcow2_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err);

/* In the order of the report. */
enum qcow2_test {
	QCOW2_TEST_WELL_FORMED,
	QCOW2_TEST_BACKING_FILE,
	QCOW2_TEST_DATA_FILE,
	QCOW2_TEST_UNKNOWN_FEATURES,
	QCOW2_TEST_ENCRYPTION,
	QCOW2_TEST_CORRUPT,
	QCOW2_TEST_SNAPSHOTS,
	QCOW2_TEST_BITMAPS,
	QCOW2_TEST_OVERLAPS,
	QCOW2_TEST_REFCOUNTS,
	QCOW2_TEST_COPIED,
	QCOW2_TEST_LEAKS,
	QCOW2_TESTS
};

/*
 * check_counts.c: a sparse map of the references and the use of each cluster of
 * a file. A map belongs to one thread.
 */

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

struct qcow2_check {
	/* with header, geometry and snapshots; the L1 table is not loaded */
	struct qcow2_source q;
	struct image_verdict *verdict;
	struct qcow2_refs refs;
	struct qcow2_finding {
		uint64_t faults;
		char text[256];
	} findings[QCOW2_TESTS];
	/* 0: the L1 table of the active state; n: of snapshot n - 1. True if
	 * the table overlaps other data, so that its entries are invalid */
	bool *bad_l1;
	/* one piece of a table */
	uint64_t *words;
	uint64_t n_l2;
	uint64_t n_data;
	uint64_t n_compressed;
	uint64_t leaked;
};

/* Bytes of qcow2_check.words. */
#define QCOW2_CHECK_BYTES ((size_t)64 << 10)

/*
 * check.c: note a fault of a test; the text of the first fault is kept.
 */
__attribute__((format(printf, 3, 4))) void qcow2_fault(
	struct qcow2_check *check, enum qcow2_test test, const char *format,
	...);

/*
 * Note a fault with the message of err if rc is -EINVAL.
 * Returns 0 if rc is -EINVAL, otherwise rc.
 */
int qcow2_note(struct qcow2_check *check, enum qcow2_test test, int rc,
	const struct image_error *err);

/*
 * check.c: read `count` words of a table in the order of the file, and
 * call visit with pieces of it in the byte order of the host. Pieces that are
 * all zero are left out. Pieces have an even number of words, unless the table
 * ends.
 */
typedef int (*qcow2_visit_fn)(struct qcow2_check *check, void *opaque,
	uint64_t index, uint64_t *words, size_t n, struct image_error *err);
int qcow2_check_words(struct qcow2_check *check, uint64_t offset,
	uint64_t count, qcow2_visit_fn visit, void *opaque,
	struct image_error *err);

/*
 * Count `times` references to each cluster of a range, and note overlaps.
 * *clash, which may be NULL, is set if there are any.
 */
int qcow2_check_use(struct qcow2_check *check, enum qcow2_use use,
	uint64_t offset, uint64_t bytes, uint32_t times, bool active,
	bool *clash, struct image_error *err);

/* check_clusters.c: count the L2 tables, then their clusters. */
int qcow2_check_l2_tables(struct qcow2_check *check, struct image_error *err);
int qcow2_check_clusters(struct qcow2_check *check, struct image_error *err);

/* check_clusters.c: the bitmaps extension. */
int qcow2_check_bitmaps(struct qcow2_check *check, struct image_error *err);

/* check_counts.c: read the reference counts; compare them with the map. */
int qcow2_check_read_counts(struct qcow2_check *check, struct image_error *err);
int qcow2_check_compare_counts(
	struct qcow2_check *check, struct image_error *err);

#endif
