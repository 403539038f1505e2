/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_SPACE_H
#define HONE_IMAGE_QCOW2_SPACE_H
/*
 * Allocates the clusters of a new file in ascending order, and counts them in
 * refcount blocks. The first cluster lies after the header and the offsets of
 * signatures. Complete blocks are collected and written together, so that
 * memory does not grow with the file. Only the refcount table in memory grows,
 * by 8 bytes for each block.
 */
#include "format/qcow2/layout.h"
#include "store/store.h"

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

#endif
