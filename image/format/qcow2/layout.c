/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of the tables of a new image, and its header. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "format/qcow2/sink.h"

/* Entries of the largest refcount table that QEMU opens, as a power of two. */
#define MAX_REFCOUNT_TABLE_ENTRIES_BITS 20
_Static_assert(UINT64_C(8) << MAX_REFCOUNT_TABLE_ENTRIES_BITS ==
		       QCOW2_MAX_REFCOUNT_TABLE_BYTES,
	"entries have 8 bytes");

static uint64_t
l1_entries(uint64_t size, unsigned cluster_bits, bool extended_l2)
{
	uint64_t entries = qcow2_l1_entries(size, cluster_bits, extended_l2);
	/* An empty disk has a table too, so that the header has a valid
	 * offset. */
	return entries ? entries : 1;
}

static int
l1_too_large(const struct qcow2_geometry *g, const char *name,
	struct image_error *err)
{
	unsigned bits = g->cluster_bits;
	char hint[80] = "";

	while (bits <= QCOW2_MAX_CLUSTER_BITS &&
		l1_entries(g->size, bits, g->extended_l2) >
			QCOW2_MAX_L1_BYTES / 8)
		bits++;
	if (bits <= QCOW2_MAX_CLUSTER_BITS)
		snprintf(hint, sizeof(hint),
			" with cluster_size=%u; use cluster_size=%u",
			1u << g->cluster_bits, 1u << bits);
	return image_fail(err, name, -EFBIG,
		"size %" PRIu64 " needs an L1 table of more than 32 MiB%s",
		g->size, hint);
}

int
qcow2_geometry(struct qcow2_geometry *g, const struct image_create *create,
	const char *name, struct image_error *err)
{
	uint64_t rounded;
	unsigned bits = create->cluster_size ? (unsigned)__builtin_ctzll(
						       create->cluster_size)
					     : QCOW2_DEFAULT_CLUSTER_BITS;

	assert(bits >= QCOW2_MIN_CLUSTER_BITS &&
		bits <= QCOW2_MAX_CLUSTER_BITS);
	rounded = IMAGE_SIZE_UNKNOWN;
	if (!create->unsized && (__builtin_add_overflow(create->size,
					 QCOW2_SECTOR - 1, &rounded) ||
					rounded > INT64_MAX))
		return image_fail(err, name, -EFBIG,
			"size %" PRIu64 " is more than qcow2 can hold",
			create->size);
	*g = (struct qcow2_geometry){
		.cluster_bits = bits,
		.refcount_order =
			(unsigned)__builtin_ctz(create->refcount_bits),
		.extended_l2 = create->extended_l2,
		.size = rounded - rounded % QCOW2_SECTOR,
		.l2_bits = qcow2_l2_bits(bits, create->extended_l2),
	};
	if (create->unsized)
		return 0;
	g->l1_entries = l1_entries(g->size, bits, g->extended_l2);
	return g->l1_entries > QCOW2_MAX_L1_BYTES / 8
		       ? l1_too_large(g, name, err)
		       : 0;
}

bool
qcow2_refcount_table_fits(uint64_t entries)
{
	return entries <= UINT64_C(1) << MAX_REFCOUNT_TABLE_ENTRIES_BITS;
}

static bool
whole_disk_fits(const struct qcow2_geometry *g, unsigned cluster_bits)
{
	/* Bytes of the file that the largest refcount table counts, as a power
	 * of two: entries of the table, entries of a block, bytes of a cluster.
	 */
	unsigned bits = MAX_REFCOUNT_TABLE_ENTRIES_BITS + cluster_bits + 3 -
			g->refcount_order + cluster_bits;
	/* At most an entry of 8 bytes and a count of 8 bytes for each 512
	 * bytes of data, and the two tables. */
	uint64_t metadata = g->size / 16 + ((uint64_t)64 << 20);

	if (bits > QCOW2_OFFSET_BITS)
		bits = QCOW2_OFFSET_BITS;
	return g->size <= UINT64_C(1) << bits &&
	       metadata <= (UINT64_C(1) << bits) - g->size;
}

bool
qcow2_whole_disk_fits(const struct qcow2_geometry *g)
{
	return whole_disk_fits(g, g->cluster_bits);
}

int
qcow2_refcount_table_too_large(const struct qcow2_geometry *g, const char *name,
	struct image_error *err)
{
	unsigned bits = g->cluster_bits + 1;
	char hint[64] = "";

	while (bits <= QCOW2_MAX_CLUSTER_BITS && !whole_disk_fits(g, bits))
		bits++;
	if (bits <= QCOW2_MAX_CLUSTER_BITS)
		snprintf(hint, sizeof(hint), "; use cluster_size=%u",
			1u << bits);
	return image_fail(err, name, -EFBIG,
		"its data needs a refcount table of more than 8 MiB with "
		"cluster_size=%u and refcount_bits=%u%s",
		1u << g->cluster_bits, 1u << g->refcount_order, hint);
}

void
qcow2_count_refcounts(const struct qcow2_geometry *g, uint64_t used,
	uint64_t written, uint64_t *blocks, uint64_t *table)
{
	uint64_t per_block = UINT64_C(1)
			     << (g->cluster_bits + 3 - g->refcount_order);
	uint64_t words = UINT64_C(1) << (g->cluster_bits - 3);
	uint64_t need = written, clusters = 1;

	/* The blocks count themselves and the table. */
	do {
		*blocks = need;
		*table = clusters;
		uint64_t end = used + *table + *blocks - written;
		if (need < qcow2_divide_up(end, per_block))
			need = qcow2_divide_up(end, per_block);
		clusters = qcow2_divide_up(need, words);
	} while (need != *blocks || clusters != *table);
}

/* Bytes of the header of version 3 without and with compression_type. */
#define PLAIN_LENGTH 104
#define LONG_LENGTH 112

#define COMPRESSION_ZSTD 1

int
qcow2_header_write(struct image_store *store,
	const struct qcow2_header_out *header, struct image_error *err)
{
	const struct qcow2_geometry *g = header->geometry;
	/* Zeros end the header's extensions. */
	unsigned char raw[QCOW2_SECTOR] = {0};

	image_put_be32(raw, QCOW2_MAGIC);
	image_put_be32(raw + 4, header->version);
	image_put_be32(raw + 20, g->cluster_bits);
	image_put_be64(raw + 24, g->size);
	image_put_be32(raw + 36, (uint32_t)g->l1_entries);
	image_put_be64(raw + 40, header->l1_cluster << g->cluster_bits);
	image_put_be64(raw + 48, header->refcount_cluster << g->cluster_bits);
	image_put_be32(raw + 56, (uint32_t)header->refcount_clusters);
	if (header->version >= 3) {
		/* The bit of the type has to be clear for zlib. */
		image_put_be64(raw + 72,
			(g->extended_l2 ? QCOW2_EXTENDED_L2 : 0) |
				(header->zstd ? QCOW2_COMPRESSION_TYPE : 0));
		image_put_be32(raw + 96, g->refcount_order);
		image_put_be32(
			raw + 100, header->zstd ? LONG_LENGTH : PLAIN_LENGTH);
		raw[PLAIN_LENGTH] = header->zstd ? COMPRESSION_ZSTD : 0;
	}
	return image_store_write(store, 0, raw, sizeof(raw), err);
}
