/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_HEADER_H
#define HONE_IMAGE_QCOW2_HEADER_H
/*
 * The checked header of a qcow2 image, and its extensions. The specification of
 * the format is QEMU's docs/interop/qcow2.rst.
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
 * Check that a table, such as "L1 table", is aligned to a cluster, lies after
 * the header and ends in the file. An empty table may lie anywhere.
 */
int qcow2_check_table(const struct image_store *store,
	const struct qcow2_header *header, const char *what, uint64_t offset,
	uint64_t bytes, struct image_error *err);

/*
 * The same for the tables of the header. Returns 0 for an image with unknown
 * features, which may change the meaning of the fields.
 */
int qcow2_check_header_tables(const struct image_store *store,
	const struct qcow2_header *header, struct image_error *err);

/* Entries of an L1 table that a disk of this size needs. */
uint64_t qcow2_l1_entries(const struct qcow2_header *header, uint64_t size);

/*
 * extensions.c: read the header's extensions and the name of the backing file
 * from the first `length` bytes of the file, at most one cluster.
 */
int qcow2_parse_extensions(const unsigned char *raw, size_t length,
	const char *name, struct qcow2_header *header, struct image_error *err);

#endif
