/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_SPACE_H
#define HONE_IMAGE_QCOW2_SPACE_H
/*
 * The clusters of a new file: handed out in ascending order, from the first one
 * beyond the header and the places of signatures on, and counted in refcount
 * blocks. Complete blocks are collected and written together, so that memory
 * does not grow with the file, but for the refcount table with 8 bytes for each
 * block.
 */
#include "format/qcow2/layout.h"
#include "store/store.h"

struct qcow2_space {
	struct image_store *store;
	const struct qcow2_geometry *geometry;
	/* the first cluster that is free, as is every later one */
	uint64_t next;
	/* clusters before this one are counted */
	uint64_t counted;
	/* as in the file: `room` blocks, of which block number `first` is the
	 * first; those before it are written */
	unsigned char *blocks;
	uint64_t room;
	uint64_t first;
	/* offsets of the blocks written, as in the file; has room for
	 * table_room entries */
	uint64_t *table;
	uint64_t table_room;
};

/* Cluster 0, the header's, is taken. The geometry lives as long as the space.
 * On failure, as on success, qcow2_space_destroy() frees it. */
int qcow2_space_init(struct qcow2_space *space, struct image_store *store,
	const struct qcow2_geometry *geometry, struct image_error *err);
void qcow2_space_destroy(struct qcow2_space *space);

/*
 * Take count clusters next to each other, each with a reference count of 1;
 * *cluster is the number of the first.
 */
int qcow2_space_take(struct qcow2_space *space, uint64_t count,
	uint64_t *cluster, struct image_error *err);

/*
 * Count one reference more to a cluster. Returns false, and does nothing, if
 * its count has no larger value, or is written already.
 */
bool qcow2_space_share(struct qcow2_space *space, uint64_t cluster);

/* Write what is left. After that every cluster before `next` is counted. */
int qcow2_space_finish(struct qcow2_space *space, uint64_t *table_cluster,
	uint64_t *table_clusters, struct image_error *err);

/*
 * Write length bytes, but for blocks of 4096 zeros, which stay holes of the new
 * file.
 */
int qcow2_write_sparse(struct image_store *store, uint64_t offset,
	const void *bytes, size_t length, struct image_error *err);

#endif
