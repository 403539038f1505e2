/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_LAYOUT_H
#define HONE_IMAGE_QCOW2_LAYOUT_H
/*
 * The sizes of the tables of a new qcow2 image, and their limits. These
 * functions do no I/O. The specification of the format is QEMU's
 * docs/interop/qcow2.rst.
 */
#include "format/qcow2/header.h"

#define QCOW2_DEFAULT_CLUSTER_BITS 16
/* extended_l2 needs larger clusters */
#define QCOW2_MIN_EXTENDED_BITS 14

/* Sizes of virtual disks and compressed lengths are multiples of a sector. */
#define QCOW2_SECTOR_BITS 9
#define QCOW2_SECTOR (1u << QCOW2_SECTOR_BITS)

/* With extended_l2, a cluster has 2^5 subclusters. */
#define QCOW2_SUBCLUSTER_BITS 5

/* In L1 and L2 entries: the reference count of the cluster is exactly one. */
#define QCOW2_ENTRY_COPIED (UINT64_C(1) << 63)
/* In L2 entries. */
#define QCOW2_ENTRY_COMPRESSED (UINT64_C(1) << 62)

/* Bits 9 to 55 of a table entry are the offset. */
#define QCOW2_OFFSET_BITS 56

/* The virtual disk and the shape of its tables. */
struct qcow2_geometry {
	unsigned cluster_bits;
	/* reference counts have 1 << refcount_order bits */
	unsigned refcount_order;
	bool extended_l2;
	/* rounded up to QCOW2_SECTOR; a limit if the size is not known */
	uint64_t size;
	/* entries of an L2 table, as a power of two */
	unsigned l2_bits;
	/* 0 if the size is not known */
	uint64_t l1_entries;
};

/*
 * With create->unsized, l1_entries is 0.
 * Returns -EFBIG if the disk needs a larger L1 table than QEMU opens; the
 * message then has a sufficient cluster size.
 */
int qcow2_geometry(struct qcow2_geometry *geometry,
	const struct image_create *create, const char *name,
	struct image_error *err);

/* Returns whether QEMU opens a refcount table of that many entries. */
bool qcow2_refcount_table_fits(uint64_t entries);

/* Returns whether every cluster of the disk can have data. */
bool qcow2_whole_disk_fits(const struct qcow2_geometry *geometry);

/* Fail with a message about a refcount table that is too large. */
int qcow2_refcount_table_too_large(const struct qcow2_geometry *geometry,
	const char *name, struct image_error *err);

static inline uint64_t
qcow2_divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

#endif
