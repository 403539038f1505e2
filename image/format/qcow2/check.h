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
#include "format/qcow2/check_refs.h"
#include "format/qcow2/source.h"
#include "format/verdict.h"

/* image_format.check */
int qcow2_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err);

enum qcow2_test {
#define QCOW2_TEST(id, name, passed) QCOW2_TEST_##id,
#include "format/qcow2/check_tests.def"
#undef QCOW2_TEST
	QCOW2_TESTS
};

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
 * check_faults.c: note a fault of a test; the text of the first fault is kept.
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
 * check_tables.c: read `count` words of a table in the order of the file, and
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

/* Count the tables that the header and the snapshot table refer to. */
int qcow2_check_tables(struct qcow2_check *check, struct image_error *err);

/* check_clusters.c: count the L2 tables, then their clusters. */
int qcow2_check_l2_tables(struct qcow2_check *check, struct image_error *err);
int qcow2_check_clusters(struct qcow2_check *check, struct image_error *err);

/* check_bitmaps.c: the bitmaps extension. */
int qcow2_check_bitmaps(struct qcow2_check *check, struct image_error *err);

/* check_counts.c: read the reference counts; compare them with the map. */
int qcow2_check_read_counts(struct qcow2_check *check, struct image_error *err);
int qcow2_check_compare_counts(
	struct qcow2_check *check, struct image_error *err);

#endif
