/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_HEADER_OUT_H
#define HONE_IMAGE_QCOW2_HEADER_OUT_H
/* The header of a new image. */
#include "format/qcow2/layout.h"
#include "store/store.h"

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

#endif
