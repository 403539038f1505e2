/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_TABLES_H
#define HONE_IMAGE_QCOW2_TABLES_H
/*
 * The L1 table and the L2 tables of a new image, filled in ascending order.
 * The L1 table has its place in front of the data, and each L2 table in front
 * of the first data of its range, so that a stream of the image can be read.
 * Small L2 tables have their places in groups. Only the L1 table in memory
 * grows with the disk.
 */
#include "format/qcow2/space.h"

struct qcow2_tables {
	struct qcow2_space *space;
	const struct qcow2_geometry *geometry;
	/* as in the file; has room for l1_room entries */
	uint64_t *l1;
	uint64_t l1_room;
	/* 0: it has no place yet, because its size is not known */
	uint64_t l1_cluster;
	/* as in the file: the tables of one group, the first of which is for
	 * entry `first` of the L1 table and lies in `cluster`; 0 tables before
	 * the first group */
	unsigned char *l2;
	unsigned group_bits;
	uint64_t first;
	uint64_t used;
	uint64_t cluster;
};

/*
 * The space and its geometry must live as long as the tables. A geometry with
 * 0 l1_entries has a disk of unknown size. qcow2_tables_destroy() frees the
 * tables, also after a failure.
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

/* Write the remaining L2 tables and the L1 table. The size is known now. */
int qcow2_tables_finish(struct qcow2_tables *tables, uint64_t *l1_cluster,
	struct image_error *err);

#endif
