/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_LAYOUT_H
#define HONE_IMAGE_QCOW2_LAYOUT_H
/*
 * Arithmetic of the qcow2 format, version 3: which tables an image needs and
 * where they lie. Nothing here reads or writes. The format is that of QEMU's
 * docs/interop/qcow2.rst.
 */
#include "image.h"

#define QCOW2_MAGIC 0x514649fbu
#define QCOW2_MIN_CLUSTER_BITS 9
#define QCOW2_MAX_CLUSTER_BITS 21
#define QCOW2_DEFAULT_CLUSTER_BITS 16

/* Sizes of virtual disks are multiples of a sector. */
#define QCOW2_SECTOR 512

/* In L1 and L2 entries: the cluster has a reference count of exactly one. */
#define QCOW2_COPIED (UINT64_C(1) << 63)

/* Reference counts of 16 bits, as QEMU makes them. */
#define QCOW2_REFCOUNT_ORDER 4
#define QCOW2_REFCOUNT_BYTES 2

/* The virtual disk and its L1 table. */
struct qcow2_geometry {
	unsigned cluster_bits;
	/* entries of an L2 table, as a power of two */
	unsigned l2_bits;
	/* rounded up to QCOW2_SECTOR */
	uint64_t size;
	uint64_t l1_entries;
};

/*
 * Where everything lies, in clusters from the start of the file: the header,
 * the data, and then the tables in this order without gaps.
 */
struct qcow2_layout {
	uint64_t l2;
	uint64_t refcount_blocks;
	uint64_t refcount_table;
	uint64_t l1;
	/* clusters in all; each has a reference count of one */
	uint64_t end;
};

/* Returns 0, or -EFBIG with the cluster size that would do in the sentence. */
int qcow2_geometry(struct qcow2_geometry *geometry, uint64_t size,
	unsigned cluster_bits, struct image_error *err);

/* Returns 0, or -EFBIG if a limit of the format or of QEMU is passed. */
int qcow2_layout(struct qcow2_layout *layout,
	const struct qcow2_geometry *geometry, uint64_t data_clusters,
	uint64_t l2_tables, struct image_error *err);

#endif
