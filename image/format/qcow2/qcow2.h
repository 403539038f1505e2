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
 *	check.c		 the tests of hone check
 *	refs.c		 counts the references to each cluster
 *	sink.c		 writes a new image; its options
 *	forward_sink.c	 writes to a pipe: all tables come first
 *	layout.c	 sizes of the tables of a new image; its header
 *	space.c		 places of new clusters, their counts, L1 and L2 tables
 */
#include <endian.h>
#include <string.h>
#include "format/bytes.h"
#include "format/format.h"
#include "format/source.h"
#include "format/slices.h"

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

/* An L2 table is one cluster of entries of 8 bytes, or 16 if they are extended.
 * Returns how many it has, as a power of two. */
static inline unsigned
qcow2_l2_bits(unsigned cluster_bits, bool extended)
{
	return cluster_bits - (extended ? 4 : 3);
}

/* Returns how many entries of an L1 table a disk of this size needs. */
static inline uint64_t
qcow2_l1_entries(uint64_t size, unsigned cluster_bits, bool extended)
{
	unsigned bits = cluster_bits + qcow2_l2_bits(cluster_bits, extended);
	return (size >> bits) + ((size & ((UINT64_C(1) << bits) - 1)) != 0);
}

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

/* The source of a qcow2 image, for the files that implement it. */

/* An entry of the snapshot table. */
struct qcow2_snapshot {
	uint64_t l1_offset;
	uint32_t l1_entries;
	char *id;
	char *name;
	/* seconds since the Epoch */
	uint32_t date;
	/* bytes of the virtual disk at that time */
	uint64_t disk_size;
	uint64_t vm_state_size;
};

/* Constant after open, except for the cache. */
struct qcow2_source {
	struct image_source base;
	struct qcow2_header header;
	/* bits of an index into an L2 table; entries have 8 or 16 bytes */
	unsigned l2_bits;
	bool extended;
	/* smallest unit that is allocated: a cluster or a subcluster */
	unsigned subcluster_bits;
	/* offsets of the L2 tables of the disk, 0 where there is none */
	uint64_t *l1;
	uint64_t l1_entries;
	/* the L1 table that was read */
	uint64_t l1_offset;
	uint64_t l1_bytes;
	/* NULL if there is none, or if base.refused */
	struct image_source *backing;
	/* belongs to the first image of the chain */
	struct image_slices *cache;
	bool owns_cache;
	struct qcow2_snapshot *snapshots;
	uint32_t n_snapshots;
	/* bytes of the snapshot table */
	uint64_t snapshots_bytes;
	/* for image_source.doubt */
	char doubt[IMAGE_NAME_SHOWN + 256];
};

static inline struct qcow2_source *
qcow2_source(struct image_source *source)
{
	return (struct qcow2_source *)source;
}

/* qcow2.c: set the members that follow from the header. */
void qcow2_set_geometry(struct qcow2_source *q);

/*
 * tables.c: check an entry of the L1 table that `what` names. Sets *table to
 * the offset of the L2 table, or 0.
 */
int qcow2_parse_l1_entry(const struct qcow2_source *q, const char *what,
	uint64_t index, uint64_t entry, uint64_t *table,
	struct image_error *err);

/* tables.c: read and check the L1 table; sets l1 and l1_entries. */
int qcow2_load_l1(struct qcow2_source *q, const char *what, uint64_t offset,
	uint32_t entries, struct image_error *err);

/* tables.c: read and check the snapshot table; sets snapshots. */
int qcow2_load_snapshots(struct qcow2_source *q, struct image_error *err);
void qcow2_free_snapshots(struct qcow2_source *q);
/* Find the snapshot with that ID, or else with that name. */
int qcow2_find_snapshot(const struct qcow2_source *q, const char *wanted,
	const struct qcow2_snapshot **out, struct image_error *err);

/* One cluster, as its entry in an L2 table describes it. */
struct qcow2_cluster {
	bool compressed;
	/* 0 if the cluster is not allocated; also a valid offset of an external
	 * data file */
	uint64_t host;
	/* bytes to read from host on; 0: none */
	uint32_t stored;
	/* bit n: subcluster n is allocated, or reads as zeros; bit 0 is the
	 * cluster if there are no subclusters */
	uint32_t allocated;
	uint32_t zero;
};

/*
 * read.c: check an entry of an L2 table and, with extended L2 entries, the
 * bitmap that follows it. guest is the offset of its cluster. The cluster may
 * lie on a table of the image.
 */
int qcow2_parse_cluster(const struct qcow2_source *q, uint64_t entry,
	uint64_t bitmap, uint64_t guest, struct qcow2_cluster *cluster,
	struct image_error *err);

/* read.c: as image_source_ops.extent. */
int qcow2_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err);

/* read.c: as image_source_ops.read. */
int qcow2_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err);

#endif
