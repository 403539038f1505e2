/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_H
#define HONE_IMAGE_QCOW2_H
/*
 * The qcow2 format, by QEMU's docs/interop/qcow2.rst. In the order of control:
 *
 *	qcow2.c		 opens an image and the files that it names; the table
 *			 of the format's functions
 *	header.c	 parses the header and its extensions
 *	tables.c	 parses the L1 table and the snapshot table; refuses
 *			 what lies past the end of the file
 *	read.c		 finds a range of the disk by the L2 tables, reads it
 *	check.c		 the tests of hone check; references to tables
 *	check_clusters.c references to L2 tables, clusters and bitmaps
 *	check_counts.c	 the reference counts of the file
 *	sink.c		 writes a new image; its options
 *	forward_sink.c	 writes to a pipe: all tables come first
 *	layout.c	 sizes of the tables of a new image; its header
 *	space.c		 places and reference counts of new clusters
 */
#include <endian.h>
#include <string.h>
#include "format/bytes.h"
#include "format/format.h"

#define QCOW2_MAGIC 0x514649fbu
#define QCOW2_MIN_CLUSTER_BITS 9
#define QCOW2_MAX_CLUSTER_BITS 21

/* Incompatible features. */
#define QCOW2_DIRTY (UINT64_C(1) << 0)
#define QCOW2_CORRUPT (UINT64_C(1) << 1)
#define QCOW2_DATA_FILE (UINT64_C(1) << 2)
#define QCOW2_COMPRESSION_TYPE (UINT64_C(1) << 3)
#define QCOW2_EXTENDED_L2 (UINT64_C(1) << 4)
#define QCOW2_KNOWN_INCOMPATIBLE ((UINT64_C(1) << 5) - 1)

/* Compatible features. */
#define QCOW2_LAZY_REFCOUNTS (UINT64_C(1) << 0)

/* Autoclear features. */
#define QCOW2_BITMAPS (UINT64_C(1) << 0)
#define QCOW2_DATA_FILE_RAW (UINT64_C(1) << 1)

/* QEMU refuses an image with larger tables. */
#define QCOW2_MAX_L1_BYTES ((uint64_t)32 << 20)
#define QCOW2_MAX_REFCOUNT_TABLE_BYTES ((uint64_t)8 << 20)
#define QCOW2_MAX_SNAPSHOTS 65536
#define QCOW2_MAX_SNAPSHOT_TABLE_BYTES ((uint64_t)64 << 20)

/* In L1 and L2 entries: the reference count of the cluster is exactly one. */
#define QCOW2_ENTRY_COPIED (UINT64_C(1) << 63)
/* In L2 entries. */
#define QCOW2_ENTRY_COMPRESSED (UINT64_C(1) << 62)
/* In L1 and L2 entries: bits 9 to 55. */
#define QCOW2_ENTRY_OFFSET UINT64_C(0x00fffffffffffe00)

/* The fixed part of an entry of the snapshot table. */
#define QCOW2_SNAPSHOT_BYTES 40

/* The longest name of another file that the format allows. */
#define QCOW2_MAX_NAME 1023
/* QEMU refuses a longer name of a backing file's format. */
#define QCOW2_MAX_FORMAT_NAME 15

/* Bytes of a name in the feature name table. */
#define QCOW2_FEATURE_NAME 46

struct qcow2_header {
	uint32_t version;
	unsigned cluster_bits;
	/* bytes of the virtual disk */
	uint64_t size;
	/* 0: none, 1: AES, 2: LUKS */
	uint32_t crypt_method;
	/* true if an extension has the place of the LUKS header; the place is
	 * as in the file */
	bool encryption_header;
	uint64_t encryption_offset;
	uint64_t encryption_bytes;
	uint32_t l1_entries;
	uint64_t l1_offset;
	uint64_t refcount_table_offset;
	uint64_t refcount_table_bytes;
	uint32_t n_snapshots;
	uint64_t snapshots_offset;
	uint64_t incompatible;
	uint64_t compatible;
	uint64_t autoclear;
	/* reference counts have 1 << refcount_order bits */
	unsigned refcount_order;
	uint32_t length;
	enum image_codec_id codec;
	/* NULL if there is none */
	char *backing_file;
	char *backing_format;
	/* the first bitmaps extension as in the file; extensions: how many
	 * the header has */
	struct qcow2_bitmaps {
		uint32_t extensions;
		uint32_t length;
		uint32_t count;
		uint64_t directory_bytes;
		uint64_t directory_offset;
	} bitmaps;
	char *data_file;
	/* names of incompatible features by bit; NULL without a feature name
	 * table; empty for a bit that the table does not have */
	char (*features)[QCOW2_FEATURE_NAME + 1];
};

/*
 * Read the header of the store and check every field. The tables may lie past
 * the end of the file: a truncated image has a header too. The caller frees the
 * header by qcow2_header_destroy(), also after a failure.
 */
int qcow2_header_read(struct image_store *store, struct qcow2_header *header,
	struct image_error *err);
void qcow2_header_destroy(struct qcow2_header *header);

/*
 * Returns 0 if the disk's bytes can be read from an image with this header.
 * Returns -ENOTSUP if the image is encrypted, marked corrupt, or uses unknown
 * features.
 */
int qcow2_header_supported(const struct qcow2_header *header, const char *name,
	struct image_error *err);

/*
 * Write the name of an incompatible feature, such as "'new layout' (bit 7)",
 * to text.
 */
void qcow2_feature_name(const struct qcow2_header *header, unsigned bit,
	char *text, size_t size);

/*
 * tables.c: check that a table, such as "L1 table", is aligned to a cluster,
 * lies behind the header and ends in the file. An empty table may lie anywhere.
 */
int qcow2_refuse_outside(const struct image_store *store,
	const struct qcow2_header *header, const char *what, uint64_t offset,
	uint64_t bytes, struct image_error *err);

/*
 * The same for the tables of the header. Returns 0 for an image with unknown
 * features, which may change the meaning of the fields.
 */
int qcow2_refuse_tables_outside(const struct image_store *store,
	const struct qcow2_header *header, struct image_error *err);

/* Entries of an L1 table that a disk of this size needs. */
uint64_t qcow2_l1_entries(const struct qcow2_header *header, uint64_t size);

#define QCOW2_DEFAULT_CLUSTER_BITS 16
/* extended_l2 needs larger clusters */
#define QCOW2_MIN_EXTENDED_BITS 14

/* Sizes of virtual disks and compressed lengths are multiples of a sector. */
#define QCOW2_SECTOR_BITS 9
#define QCOW2_SECTOR (1u << QCOW2_SECTOR_BITS)

/* With extended_l2, a cluster has 2^5 subclusters. */
#define QCOW2_SUBCLUSTER_BITS 5

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
