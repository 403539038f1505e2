/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_TABLES_H
#define HONE_IMAGE_QCOW2_TABLES_H
/*
 * The L2 tables of a new image, filled in ascending order. Complete tables are
 * collected and written together, so that only the L1 table in memory grows
 * with the disk.
 */
#include "format/qcow2/space.h"

struct qcow2_tables {
	struct qcow2_space *space;
	const struct qcow2_geometry *geometry;
	/* as in the file */
	uint64_t *l1;
	/* as in the file: `used` tables of at most `room`; the last one is
	 * being filled */
	unsigned char *l2;
	size_t room;
	size_t used;
	/* index in l1 of each of these tables */
	uint64_t *index;
};

/*
 * The space and its geometry must live as long as the tables.
 * qcow2_tables_destroy() frees the tables, also after a failure.
 */
int qcow2_tables_init(struct qcow2_tables *tables, struct qcow2_space *space,
	struct image_error *err);
void qcow2_tables_destroy(struct qcow2_tables *tables);

/*
 * Begin to fill the table of a guest cluster. Tables are opened in ascending
 * order. May allocate clusters of the space.
 */
int qcow2_tables_open(struct qcow2_tables *tables, uint64_t guest_cluster,
	struct image_error *err);

/* The entry of a cluster in the table being filled, in the file's byte order:
 * one word, or two with extended_l2. */
uint64_t *qcow2_tables_entry(
	struct qcow2_tables *tables, uint64_t guest_cluster);

/* Write the remaining L2 tables and the L1 table. */
int qcow2_tables_finish(struct qcow2_tables *tables, uint64_t *l1_cluster,
	struct image_error *err);

#endif
