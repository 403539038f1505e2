/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <stddef.h>
#include "format/qcow2/header_out.h"

/* The layout in the file; every number is big-endian. */
struct raw_header {
	uint32_t magic;
	uint32_t version;
	uint64_t backing_offset;
	uint32_t backing_size;
	uint32_t cluster_bits;
	uint64_t size;
	uint32_t crypt_method;
	uint32_t l1_size;
	uint64_t l1_offset;
	uint64_t refcount_table_offset;
	uint32_t refcount_table_clusters;
	uint32_t nb_snapshots;
	uint64_t snapshots_offset;
	/* version 2 ends here */
	uint64_t incompatible;
	uint64_t compatible;
	uint64_t autoclear;
	uint32_t refcount_order;
	uint32_t header_length;
	/* the header ends here if it has no compression_type */
	uint8_t compression_type;
	uint8_t padding[7];
	/* zeros, which end the header's extensions and fill the smallest
	 * cluster */
	uint8_t rest[400];
};

#define PLAIN_LENGTH offsetof(struct raw_header, compression_type)
#define LONG_LENGTH offsetof(struct raw_header, rest)

_Static_assert(PLAIN_LENGTH == 104, "header without padding");
_Static_assert(LONG_LENGTH == 112, "header without padding");
_Static_assert(
	sizeof(struct raw_header) == QCOW2_SECTOR, "the smallest cluster");

#define COMPRESSION_ZSTD 1

/* Set the fields that version 2 does not have. */
static void
set_version_3(struct raw_header *raw, const struct qcow2_header_out *header)
{
	uint64_t incompatible = 0;
	uint32_t length = PLAIN_LENGTH;

	if (header->geometry->extended_l2)
		incompatible |= QCOW2_EXTENDED_L2;
	if (header->zstd) {
		/* The bit has to be clear for zlib. */
		incompatible |= QCOW2_COMPRESSION_TYPE;
		length = LONG_LENGTH;
		raw->compression_type = COMPRESSION_ZSTD;
	}
	raw->incompatible = htobe64(incompatible);
	raw->refcount_order = htobe32(header->geometry->refcount_order);
	raw->header_length = htobe32(length);
}

int
qcow2_header_write(struct image_store *store,
	const struct qcow2_header_out *header, struct image_error *err)
{
	const struct qcow2_geometry *g = header->geometry;
	struct raw_header raw = {
		.magic = htobe32(QCOW2_MAGIC),
		.version = htobe32(header->version),
		.cluster_bits = htobe32(g->cluster_bits),
		.size = htobe64(g->size),
		.l1_size = htobe32((uint32_t)g->l1_entries),
		.l1_offset = htobe64(header->l1_cluster << g->cluster_bits),
		.refcount_table_offset =
			htobe64(header->refcount_cluster << g->cluster_bits),
		.refcount_table_clusters =
			htobe32((uint32_t)header->refcount_clusters),
	};

	if (header->version >= 3)
		set_version_3(&raw, header);
	return image_store_write(store, 0, &raw, sizeof(raw), err);
}
