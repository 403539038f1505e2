/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_LAYOUT_H
#define HONE_IMAGE_QCOW2_LAYOUT_H
/*
 * Arithmetic of a new qcow2 image: how large its tables are, and which limits
 * they keep. Nothing here reads or writes. The format is that of QEMU's
 * docs/interop/qcow2.rst.
 */
#include "format/qcow2/header.h"

#define QCOW2_DEFAULT_CLUSTER_BITS 16
/* extended_l2 wants larger ones */
#define QCOW2_MIN_EXTENDED_BITS 14

/* Sizes of virtual disks are multiples of a sector, compressed lengths too. */
#define QCOW2_SECTOR_BITS 9
#define QCOW2_SECTOR (1u << QCOW2_SECTOR_BITS)

/* A cluster has that many subclusters with extended_l2. */
#define QCOW2_SUBCLUSTER_BITS 5

/* In L1 and L2 entries: the cluster has a reference count of exactly one. */
#define QCOW2_ENTRY_COPIED (UINT64_C(1) << 63)
/* In L2 entries. */
#define QCOW2_ENTRY_COMPRESSED (UINT64_C(1) << 62)

/* Bits 9 to 55 of a table entry are the offset. */
#define QCOW2_OFFSET_BITS 56

/* The widest reference count has 64 bits. */
#define QCOW2_MAX_REFCOUNT_ORDER 6

/* The virtual disk and the shape of its tables. */
struct qcow2_geometry {
	unsigned cluster_bits;
	/* reference counts have 1 << refcount_order bits */
	unsigned refcount_order;
	bool extended_l2;
	/* rounded up to QCOW2_SECTOR */
	uint64_t size;
	/* entries of an L2 table, as a power of two */
	unsigned l2_bits;
	uint64_t l1_entries;
};

/* Returns -EFBIG with the cluster size that would do in the sentence if the
 * disk needs a larger L1 table than QEMU opens. */
int qcow2_geometry(struct qcow2_geometry *geometry,
	const struct image_create *create, const char *name,
	struct image_error *err);

/* Returns whether a refcount table of that many entries is one that QEMU
 * opens. */
bool qcow2_refcount_table_fits(uint64_t entries);

/* Returns whether every cluster of the disk can have data. */
bool qcow2_whole_disk_fits(const struct qcow2_geometry *geometry);

/* The sentence for a refcount table that does not fit. */
int qcow2_refcount_table_too_large(const struct qcow2_geometry *geometry,
	const char *name, struct image_error *err);

static inline uint64_t
qcow2_divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

#endif
