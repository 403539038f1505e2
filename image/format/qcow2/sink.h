/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_SINK_H
#define HONE_IMAGE_QCOW2_SINK_H
/* A new qcow2 image. */
#include "format/qcow2/qcow2.h"

/* image_format.options, .set and .create */
extern const struct image_option qcow2_options[];
int qcow2_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err);
int qcow2_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err);

/* forward_sink.c: the same for a store that is forward, without -c. */
int qcow2_create_forward(struct image_store *store,
	const struct image_create *create, struct image_sink **out,
	struct image_error *err);

/* layout.c: the header of a new image. */
struct qcow2_header_out {
	const struct qcow2_geometry *geometry;
	/* 2 or 3 */
	unsigned version;
	bool zstd;
	uint64_t l1_cluster;
	uint64_t refcount_cluster;
	uint64_t refcount_clusters;
};

int qcow2_header_write(struct image_store *store,
	const struct qcow2_header_out *header, struct image_error *err);

/*
 * Allocates the clusters of a new file in ascending order, and counts them in
 * refcount blocks. The first cluster lies after the header and the offsets of
 * signatures. Complete blocks are collected and written together, so that
 * memory does not grow with the file. Only the refcount table in memory grows,
 * by 8 bytes for each block.
 */
struct qcow2_space {
	struct image_store *store;
	const struct qcow2_geometry *geometry;
	/* the first free cluster; every later one is free too */
	uint64_t next;
	/* clusters before this one are counted */
	uint64_t counted;
	/* as in the file: `room` blocks, beginning with block number `first`;
	 * earlier blocks are written */
	unsigned char *blocks;
	uint64_t room;
	uint64_t first;
	/* offsets of the blocks written, as in the file; has room for
	 * table_room entries */
	uint64_t *table;
	uint64_t table_room;
};

/*
 * Cluster 0 is taken for the header. The geometry must live as long as the
 * space. qcow2_space_destroy() frees the space, also after a failure.
 */
int qcow2_space_init(struct qcow2_space *space, struct image_store *store,
	const struct qcow2_geometry *geometry, struct image_error *err);
void qcow2_space_destroy(struct qcow2_space *space);

/*
 * Allocate count contiguous clusters, each with a reference count of 1. Sets
 * *cluster to the number of the first.
 */
int qcow2_space_take(struct qcow2_space *space, uint64_t count,
	uint64_t *cluster, struct image_error *err);

/*
 * Count one more reference to a cluster. Returns false without a change if the
 * count has its largest value or is already written.
 */
bool qcow2_space_share(struct qcow2_space *space, uint64_t cluster);

/*
 * Write the remaining blocks and the table. After that every cluster before
 * `next` is counted.
 */
int qcow2_space_finish(struct qcow2_space *space, uint64_t *table_cluster,
	uint64_t *table_clusters, struct image_error *err);

/*
 * Write length bytes except for blocks of 4096 zeros, which stay holes of the
 * new file.
 */
int qcow2_write_sparse(struct image_store *store, uint64_t offset,
	const void *bytes, size_t length, struct image_error *err);

/*
 * The L1 table and the L2 tables of a new image, filled in ascending order.
 * The L1 table has its place in front of the data, and each L2 table in front
 * of the first data of its range, so that a stream of the image can be read.
 * Small L2 tables have their places in groups. Only the L1 table in memory
 * grows with the disk.
 */
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
