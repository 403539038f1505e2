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
 * Returns the offset in refcount blocks of count number `index`, and in *bit
 * what makes it 1 if it is 0. Narrow counts begin at the least significant bit
 * of a byte, wide ones are big-endian.
 */
static inline uint64_t
qcow2_first_bit(unsigned order, uint64_t index, unsigned char *bit)
{
	*bit = (unsigned char)(order < 3 ? 1u << (index << order & 7) : 1);
	return order < 3 ? index << order >> 3
			 : ((index + 1) << (order - 3)) - 1;
}

/*
 * layout.c: set the number of refcount blocks, and of clusters of their table,
 * if `used` clusters are in use and these are added. `written` blocks are among
 * the used clusters already.
 */
void qcow2_count_refcounts(const struct qcow2_geometry *geometry, uint64_t used,
	uint64_t written, uint64_t *blocks, uint64_t *table);

/*
 * Allocates the clusters of a new file in ascending order, and has its tables.
 * The first cluster lies after the header and the offsets of signatures.
 *
 * Clusters are counted in refcount blocks. Complete blocks are collected and
 * written together.
 *
 * The L1 table has its place in front of the data, and each L2 table in front
 * of the first data of its range, so that a stream of the image can be read.
 * Small L2 tables have their places in groups. Only the L1 table and the
 * refcount table in memory grow, by 8 bytes for each table or block.
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
	/* as in the file; has room for l1_room entries */
	uint64_t *l1;
	uint64_t l1_room;
	/* 0: it has no place yet, because its size is not known */
	uint64_t l1_cluster;
	/* as in the file: l2_used tables of one group, the first of which is
	 * for entry l2_first of the L1 table and lies in l2_cluster; 0 tables
	 * before the first group */
	unsigned char *l2;
	unsigned group_bits;
	uint64_t l2_first;
	uint64_t l2_used;
	uint64_t l2_cluster;
};

/*
 * Cluster 0 is taken for the header. The geometry must live as long as the
 * space. A geometry with 0 l1_entries has a disk of unknown size.
 * qcow2_space_destroy() frees the space, also after a failure.
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
 * Begin to fill the L2 table of a guest cluster. Tables are opened in ascending
 * order. May allocate clusters.
 */
int qcow2_space_open_table(struct qcow2_space *space, uint64_t guest_cluster,
	struct image_error *err);

/* The entry of a cluster in the table being filled, in the file's byte order:
 * one word, or two with extended_l2. */
uint64_t *qcow2_space_entry(struct qcow2_space *space, uint64_t guest_cluster);

/*
 * Write the remaining tables, and set their places in the header. The size is
 * known now. After that every cluster before `next` is counted.
 */
int qcow2_space_finish(struct qcow2_space *space,
	struct qcow2_header_out *header, struct image_error *err);

#endif
