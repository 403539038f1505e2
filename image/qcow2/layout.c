/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include "engine/file.h"
#include "qcow2/layout.h"

/* QEMU opens no image whose L1 or refcount table is larger. */
#define MAX_L1_BYTES ((uint64_t)32 << 20)
#define MAX_REFCOUNT_TABLE_BYTES ((uint64_t)8 << 20)

/* Bits 9 to 55 of a table entry are the offset. */
#define MAX_FILE_BYTES (UINT64_C(1) << 56)

static uint64_t
divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

static uint64_t
l1_entries(uint64_t size, unsigned cluster_bits)
{
	/* 2^bits bytes a cluster, 2^(bits - 3) of them behind an L2 table */
	uint64_t entries =
		divide_up(size, UINT64_C(1) << (2 * cluster_bits - 3));
	/* An empty disk has a table too, so that its offset means something. */
	return entries ? entries : 1;
}

static bool
l1_fits(uint64_t size, unsigned cluster_bits)
{
	return l1_entries(size, cluster_bits) <= MAX_L1_BYTES / 8;
}

int
qcow2_geometry(struct qcow2_geometry *geometry, uint64_t size,
	unsigned cluster_bits, struct image_error *err)
{
	uint64_t rounded;

	assert(cluster_bits >= QCOW2_MIN_CLUSTER_BITS &&
		cluster_bits <= QCOW2_MAX_CLUSTER_BITS);
	if (__builtin_add_overflow(size, QCOW2_SECTOR - 1, &rounded) ||
		rounded > INT64_MAX)
		return image_fail(err, -EFBIG,
			"size %" PRIu64 " is more than qcow2 can hold", size);
	rounded -= rounded % QCOW2_SECTOR;

	if (!l1_fits(rounded, cluster_bits)) {
		unsigned bits = cluster_bits;
		while (bits <= QCOW2_MAX_CLUSTER_BITS &&
			!l1_fits(rounded, bits))
			bits++;
		if (bits > QCOW2_MAX_CLUSTER_BITS)
			return image_fail(err, -EFBIG,
				"size %" PRIu64
				" needs an L1 table of more than 32 MiB",
				size);
		return image_fail(err, -EFBIG,
			"size %" PRIu64 " needs an L1 table of more than "
			"32 MiB with cluster_size=%u; cluster_size=%u would do",
			size, 1u << cluster_bits, 1u << bits);
	}
	*geometry = (struct qcow2_geometry){cluster_bits, cluster_bits - 3,
		rounded, l1_entries(rounded, cluster_bits)};
	return 0;
}

/*
 * The refcount blocks count themselves and their table, so their number is
 * the least one that covers everything: more blocks never need fewer.
 */
static bool
place_refcounts(
	struct qcow2_layout *layout, uint64_t counted, uint64_t cluster_size)
{
	uint64_t per_block = cluster_size / QCOW2_REFCOUNT_BYTES;
	uint64_t blocks = 0;
	uint64_t table = 0;

	for (;;) {
		uint64_t total;
		if (__builtin_add_overflow(counted, blocks + table, &total))
			return false;
		uint64_t need = divide_up(total, per_block);
		if (need == blocks)
			break;
		blocks = need;
		table = divide_up(blocks, cluster_size / 8);
	}
	layout->refcount_table = layout->refcount_blocks + blocks;
	layout->l1 = layout->refcount_table + table;
	return true;
}

int
qcow2_layout(struct qcow2_layout *layout, const struct qcow2_geometry *geometry,
	uint64_t data_clusters, uint64_t l2_tables, struct image_error *err)
{
	uint64_t cluster_size = UINT64_C(1) << geometry->cluster_bits;
	uint64_t l1 = divide_up(geometry->l1_entries, cluster_size / 8);
	uint64_t counted, bytes;

	bool overflow =
		__builtin_add_overflow(data_clusters, 1, &layout->l2) ||
		__builtin_add_overflow(
			layout->l2, l2_tables, &layout->refcount_blocks) ||
		__builtin_add_overflow(layout->refcount_blocks, l1, &counted) ||
		!place_refcounts(layout, counted, cluster_size) ||
		__builtin_add_overflow(layout->l1, l1, &layout->end) ||
		__builtin_mul_overflow(layout->end, cluster_size, &bytes);
	if (overflow || bytes > MAX_FILE_BYTES)
		return image_fail(err, -EFBIG,
			"its file would be larger than qcow2 allows");

	uint64_t table = layout->l1 - layout->refcount_table;
	if (table > MAX_REFCOUNT_TABLE_BYTES / cluster_size)
		return image_fail(err, -EFBIG,
			"%" PRIu64 " data clusters need a refcount table of "
			"more than 8 MiB; a larger cluster_size would do",
			data_clusters);
	return 0;
}
