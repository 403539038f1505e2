/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables that the header names: those that lie outside the file are
 * refused, the L1 table and the snapshot table are read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/qcow2/qcow2.h"

int
qcow2_refuse_outside(const struct image_store *store,
	const struct qcow2_header *h, const char *what, uint64_t offset,
	uint64_t bytes, struct image_error *err)
{
	uint64_t cluster_size = UINT64_C(1) << h->cluster_bits;
	uint64_t end;

	if (offset % cluster_size != 0)
		return image_damaged(err, store->name, -EINVAL,
			"%s offset 0x%" PRIx64 " is not a multiple of the "
			"cluster size %" PRIu64,
			what, offset, cluster_size);
	if (bytes == 0 && offset <= INT64_MAX)
		return 0;
	if (offset == 0)
		return image_damaged(err, store->name, -EINVAL,
			"%s offset is 0, the offset of the header", what);
	if (__builtin_add_overflow(offset, bytes, &end) || end > store->size)
		return image_damaged(err, store->name, -EINVAL,
			"%s at 0x%" PRIx64
			" with %s lies past the end of the file (%" PRIu64
			" bytes)",
			what, offset, IMAGE_COUNT(bytes, "byte"), store->size);
	return 0;
}

int
qcow2_refuse_tables_outside(const struct image_store *store,
	const struct qcow2_header *h, struct image_error *err)
{
	if (h->incompatible & ~QCOW2_KNOWN_INCOMPATIBLE)
		return 0;
	int rc = qcow2_refuse_outside(store, h, "L1 table", h->l1_offset,
		(uint64_t)h->l1_entries * 8, err);
	if (rc == 0)
		rc = qcow2_refuse_outside(store, h, "refcount table",
			h->refcount_table_offset, h->refcount_table_bytes, err);
	/* Entries have no fixed length: check_end() has their end. */
	if (rc == 0)
		rc = qcow2_refuse_outside(store, h, "snapshot table",
			h->snapshots_offset,
			(uint64_t)h->n_snapshots * QCOW2_SNAPSHOT_BYTES, err);
	return rc;
}

int
qcow2_parse_l1_entry(const struct qcow2_source *q, const char *what,
	uint64_t index, uint64_t entry, uint64_t *table,
	struct image_error *err)
{
	const struct image_store *store = q->base.store;
	uint64_t cluster_size = UINT64_C(1) << q->header.cluster_bits;
	uint64_t offset = entry & QCOW2_ENTRY_OFFSET;

	const char *why = NULL;

	if (entry & ~(QCOW2_ENTRY_COPIED | QCOW2_ENTRY_OFFSET))
		why = "has reserved bits set";
	else if (offset % cluster_size != 0)
		return image_damaged(err, store->name, -EINVAL,
			"%s entry %" PRIu64 ", 0x%016" PRIx64
			", is not a multiple of the cluster size %" PRIu64,
			what, index, entry, cluster_size);
	else if (offset == 0 && entry != 0)
		why = "points at the header";
	if (why)
		return image_damaged(err, store->name, -EINVAL,
			"%s entry %" PRIu64 ", 0x%016" PRIx64 ", %s", what,
			index, entry, why);
	*table = offset;
	if (offset == 0)
		return 0;
	if (offset > store->size || store->size - offset < cluster_size)
		return image_damaged(err, store->name, -EINVAL,
			"L2 table at 0x%" PRIx64 " of %s entry %" PRIu64
			" lies past the end of the file (%" PRIu64 " bytes)",
			offset, what, index, store->size);
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
	uint64_t needed = qcow2_l1_entries(
		q->base.size, q->header.cluster_bits, q->extended);

	if (entries < needed)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"%s has %s, less than the %" PRIu64
			" that a disk of %s needs",
			what, IMAGE_COUNT(entries, "entry"), needed,
			IMAGE_COUNT(q->base.size, "byte"));
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

/* QEMU refuses more extra data in an entry. */
#define MAX_EXTRA 1024

/* An entry's ID and name have lengths of 16 bits. */
#define MAX_TAIL (MAX_EXTRA + 2 * 65535)

/* Fail if `length` bytes at `offset`, of entry `index`, end outside the table
 * or the file. The offset lies in the file, so that sums do not overflow. */
static int
check_end(const struct qcow2_source *q, uint32_t index, uint64_t offset,
	uint64_t length, struct image_error *err)
{
	const struct image_store *store = q->base.store;
	uint64_t used = offset + length - q->header.snapshots_offset;

	if (used > QCOW2_MAX_SNAPSHOT_TABLE_BYTES)
		return image_damaged(err, store->name, -EINVAL,
			"snapshot table has at least %" PRIu64 " bytes, which "
			"is more than 64 MiB",
			used);
	if (offset + length > store->size)
		return image_damaged(err, store->name, -EINVAL,
			"snapshot table entry %u at 0x%" PRIx64
			" extends past the end of the file (%" PRIu64 " bytes)",
			index, offset, store->size);
	return 0;
}

static int
check_l1(const struct qcow2_source *q, uint32_t index,
	const struct qcow2_snapshot *s, struct image_error *err)
{
	char what[48];

	snprintf(what, sizeof(what), "L1 table of snapshot %u", index);
	if (s->l1_entries > QCOW2_MAX_L1_BYTES / 8)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"%s has %u entries, which need more than 32 MiB", what,
			s->l1_entries);
	if (s->disk_size > INT64_MAX)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"disk size %" PRIu64 " of snapshot %u is larger than "
			"any file",
			s->disk_size, index);
	return qcow2_refuse_outside(q->base.store, &q->header, what,
		s->l1_offset, (uint64_t)s->l1_entries * 8, err);
}

/* Load entry `index` at *offset, and move *offset to its end. */
static int
load_entry(const struct qcow2_source *q, uint32_t index, uint64_t *offset,
	unsigned char *raw, struct image_error *err)
{
	struct image_store *store = q->base.store;
	struct qcow2_snapshot *s = &q->snapshots[index];
	uint64_t at = *offset;

	int rc = check_end(q, index, at, QCOW2_SNAPSHOT_BYTES, err);
	if (rc == 0)
		rc = image_store_read(
			store, at, raw, QCOW2_SNAPSHOT_BYTES, err);
	if (rc < 0)
		return rc;
	uint32_t id = image_be16(raw + 12), name = image_be16(raw + 14);
	uint32_t extra = image_be32(raw + 36);
	s->l1_offset = image_be64(raw);
	s->l1_entries = image_be32(raw + 8);
	s->date = image_be32(raw + 16);
	s->vm_state_size = image_be32(raw + 32);
	if (extra > MAX_EXTRA)
		return image_damaged(err, store->name, -EINVAL,
			"snapshot table entry %u has %u bytes of extra data, "
			"which is more than 1024",
			index, extra);
	uint32_t tail = extra + id + name;
	*offset = at + QCOW2_SNAPSHOT_BYTES + tail;
	rc = check_end(q, index, at, QCOW2_SNAPSHOT_BYTES + tail, err);
	if (rc == 0)
		rc = image_store_read(
			store, at + QCOW2_SNAPSHOT_BYTES, raw, tail, err);
	if (rc < 0)
		return rc;
	if (extra >= 8)
		s->vm_state_size = image_be64(raw);
	/* An entry of version 2 may lack the disk size. QEMU then uses the size
	 * in the header too. */
	s->disk_size = extra >= 16 ? image_be64(raw + 8) : q->header.size;
	s->id = strndup((const char *)raw + extra, id);
	s->name = strndup((const char *)raw + extra + id, name);
	return s->id && s->name ? check_l1(q, index, s, err)
				: image_no_memory(err);
}

int
qcow2_load_snapshots(struct qcow2_source *q, struct image_error *err)
{
	uint64_t offset = q->header.snapshots_offset;
	uint32_t n = q->header.n_snapshots;
	int rc = 0;

	if (n == 0)
		return 0;
	q->snapshots = calloc(n, sizeof(*q->snapshots));
	unsigned char *buffer = malloc(MAX_TAIL);
	if (!q->snapshots || !buffer) {
		free(buffer);
		return image_no_memory(err);
	}
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		q->n_snapshots = i + 1;
		rc = load_entry(q, i, &offset, buffer, err);
		q->snapshots_bytes = offset - q->header.snapshots_offset;
		offset = q->header.snapshots_offset +
			 ((q->snapshots_bytes + 7) & ~UINT64_C(7));
	}
	free(buffer);
	return rc;
}

void
qcow2_free_snapshots(struct qcow2_source *q)
{
	for (uint32_t i = 0; i < q->n_snapshots; i++) {
		free(q->snapshots[i].id);
		free(q->snapshots[i].name);
	}
	free(q->snapshots);
}

/* An ID is unique; a name need not be. */
int
qcow2_find_snapshot(const struct qcow2_source *q, const char *wanted,
	const struct qcow2_snapshot **out, struct image_error *err)
{
	unsigned named = 0;

	for (uint32_t i = 0; i < q->n_snapshots; i++) {
		const struct qcow2_snapshot *s = &q->snapshots[i];
		bool found = strcmp(s->id, wanted) == 0;
		if (found || strcmp(s->name, wanted) == 0)
			*out = s;
		if (found)
			return 0;
		named += strcmp(s->name, wanted) == 0;
	}
	if (named == 1)
		return 0;
	if (named > 1)
		return image_fail(err, q->base.store->name, -EPERM,
			"has %u snapshots of the name '%s'; select one by its "
			"ID",
			named, wanted);
	return image_fail(err, q->base.store->name, -ENOENT,
		"has no snapshot with the ID or name '%s'", wanted);
}
