/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the L1 table once, and checks every entry. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "format/qcow2/source.h"

/* Bits of an L1 entry. */
#define COPIED (UINT64_C(1) << 63)
#define OFFSET UINT64_C(0x00fffffffffffe00)

int
qcow2_parse_l1_entry(const struct qcow2_source *q, const char *what,
	uint64_t index, uint64_t entry, uint64_t *table,
	struct image_error *err)
{
	const struct image_store *store = q->base.store;
	uint64_t cluster_size = UINT64_C(1) << q->header.cluster_bits;
	uint64_t offset = entry & OFFSET;

	if (entry & ~(COPIED | OFFSET))
		return image_damaged(err, store->name, -EINVAL,
			"%s entry %" PRIu64 ", 0x%016" PRIx64
			", has reserved bits set",
			what, index, entry);
	if (offset % cluster_size != 0)
		return image_damaged(err, store->name, -EINVAL,
			"%s entry %" PRIu64 ", 0x%016" PRIx64
			", is not a multiple of the cluster size %" PRIu64,
			what, index, entry, cluster_size);
	if (offset == 0 && entry != 0)
		return image_damaged(err, store->name, -EINVAL,
			"%s entry %" PRIu64 ", 0x%016" PRIx64
			", points at the header",
			what, index, entry);
	if (offset > store->size || store->size - offset < cluster_size)
		if (offset)
			return image_damaged(err, store->name, -EINVAL,
				"L2 table at 0x%" PRIx64 " of %s entry "
				"%" PRIu64 " lies past the end of the file "
				"(%" PRIu64 " bytes)",
				offset, what, index, store->size);
	*table = offset;
	return 0;
}

static int
compare_offsets(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/*
 * Fail if two entries have the same L2 table: no program writes such entries,
 * and a small file could describe a huge disk full of data by them.
 */
static int
check_unique(
	const struct qcow2_source *q, const char *what, struct image_error *err)
{
	uint64_t n = 0;
	uint64_t *sorted = malloc((size_t)q->l1_entries * sizeof(*sorted) + 1);
	if (!sorted)
		return image_no_memory(err);
	for (uint64_t i = 0; i < q->l1_entries; i++)
		if (q->l1[i])
			sorted[n++] = q->l1[i];
	qsort(sorted, (size_t)n, sizeof(*sorted), compare_offsets);
	uint64_t twice = 0;
	for (uint64_t i = 1; i < n && !twice; i++)
		if (sorted[i] == sorted[i - 1])
			twice = sorted[i];
	free(sorted);
	if (twice)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"two entries of the %s have the same L2 table at "
			"0x%" PRIx64,
			what, twice);
	return 0;
}

/* Entries past the end of the disk describe VM states, and are ignored. */
int
qcow2_load_l1(struct qcow2_source *q, const char *what, uint64_t offset,
	uint32_t entries, struct image_error *err)
{
	uint64_t needed = qcow2_l1_entries(&q->header, q->base.size);

	if (entries < needed)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"%s has %" PRIu32 " %s, less than the %" PRIu64
			" that a disk of %" PRIu64 " %s needs",
			what, entries,
			image_plural(entries, "entry", "entries"), needed,
			q->base.size,
			image_plural(q->base.size, "byte", "bytes"));
	q->l1_offset = offset;
	q->l1_bytes = (uint64_t)entries * 8;
	q->l1_entries = needed;
	q->l1 = malloc((size_t)needed * sizeof(*q->l1) + 1);
	if (!q->l1)
		return image_no_memory(err);
	int rc = image_store_read(
		q->base.store, offset, q->l1, (size_t)needed * 8, err);
	for (uint64_t i = 0; rc == 0 && i < needed; i++)
		rc = qcow2_parse_l1_entry(
			q, what, i, be64toh(q->l1[i]), &q->l1[i], err);
	if (rc == 0)
		rc = check_unique(q, what, err);
	return rc;
}
