/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads tables, and notes the use of each cluster of the file. */
#include <errno.h>
#include <inttypes.h>
#include <hone/zero.h>
#include "format/qcow2/check.h"

/* Set *length to the length of the hole or the data at offset, at least 16. */
static int
find_extent(struct qcow2_check *k, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole, struct image_error *err)
{
	struct image_store *store = k->q.base.store;

	/* up to the end of the file, for the next tables */
	int rc = image_store_extent(
		store, offset, store->size - offset, length, hole, err);
	if (rc < 0)
		return rc;
	if (*length >= limit) {
		*length = limit;
		return 0;
	}
	/* An entry that is only partly in a hole is data. */
	*length &= ~(uint64_t)15;
	if (*length == 0) {
		*length = limit < 16 ? limit : 16;
		*hole = false;
	}
	return 0;
}

int
qcow2_check_words(struct qcow2_check *k, uint64_t offset, uint64_t count,
	qcow2_visit_fn visit, void *opaque, struct image_error *err)
{
	uint64_t bytes = count * 8;
	int rc = 0;

	for (uint64_t done = 0, length; rc == 0 && done < bytes;
		done += length) {
		bool hole;
		rc = find_extent(
			k, offset + done, bytes - done, &length, &hole, err);
		if (rc < 0 || hole)
			continue;
		if (length > QCOW2_CHECK_BYTES)
			length = QCOW2_CHECK_BYTES;
		rc = image_store_read(k->q.base.store, offset + done, k->words,
			(size_t)length, err);
		if (rc < 0 || hone_buffer_is_zero(k->words, (size_t)length))
			continue;
		size_t n = (size_t)length / 8;
		for (size_t i = 0; i < n; i++)
			k->words[i] = be64toh(k->words[i]);
		rc = visit(k, opaque, done / 8, k->words, n, err);
	}
	return rc;
}

/* Returns the name of a use for messages about overlaps. */
static const char *
name_of(enum qcow2_use use)
{
	static const char *const names[] = {
		[QCOW2_USE_HEADER] = "header",
		[QCOW2_USE_REFCOUNT_TABLE] = "refcount table",
		[QCOW2_USE_REFCOUNT_BLOCK] = "refcount block",
		[QCOW2_USE_L1] = "L1 table",
		[QCOW2_USE_L2] = "L2 table",
		[QCOW2_USE_SNAPSHOTS] = "snapshot table",
		[QCOW2_USE_ENCRYPTION] = "encryption header",
		[QCOW2_USE_DIRECTORY] = "bitmap directory",
		[QCOW2_USE_BITMAP_TABLE] = "bitmap table",
		[QCOW2_USE_BITMAP] = "cluster of a bitmap",
		[QCOW2_USE_DATA] = "data cluster",
		[QCOW2_USE_COMPRESSED] = "compressed cluster",
	};
	return names[use];
}

/* Clusters that several states of the disk, or several compressed clusters,
 * may share. */
static bool
may_be_shared(enum qcow2_use use)
{
	return use == QCOW2_USE_L2 || use == QCOW2_USE_DATA ||
	       use == QCOW2_USE_COMPRESSED;
}

/*
 * Returns true, and notes a fault, if the new use of the cluster conflicts with
 * its present use.
 */
static bool
overlaps(struct qcow2_check *k, uint32_t entry, enum qcow2_use use,
	uint64_t offset, bool active)
{
	enum qcow2_use other = qcow2_refs_use(entry);

	if (other == QCOW2_USE_NONE)
		return false;
	if (other != use || !may_be_shared(use)) {
		qcow2_fault(k, QCOW2_TEST_OVERLAPS,
			"%s at 0x%" PRIx64 " overlaps %s %s", name_of(use),
			offset, *name_of(other) == 'L' ? "an" : "a",
			name_of(other));
		return true;
	}
	if (active && (entry & QCOW2_REFS_ACTIVE) &&
		use != QCOW2_USE_COMPRESSED) {
		qcow2_fault(k, QCOW2_TEST_OVERLAPS,
			"%s at 0x%" PRIx64 " is used twice by the disk",
			name_of(use), offset);
		return true;
	}
	return false;
}

int
qcow2_check_use(struct qcow2_check *k, enum qcow2_use use, uint64_t offset,
	uint64_t bytes, uint32_t times, bool active, bool *clash,
	struct image_error *err)
{
	unsigned bits = k->q.header.cluster_bits;
	uint64_t end = bytes ? ((offset + bytes - 1) >> bits) + 1 : 0;

	for (uint64_t i = offset >> bits; i < end; i++) {
		uint32_t *entry;
		int rc = qcow2_refs_get(&k->refs, i, &entry, err);
		if (rc < 0)
			return rc;
		uint32_t count = qcow2_refs_count(*entry);
		if (overlaps(k, *entry, use, i << bits, active)) {
			if (clash)
				*clash = true;
		} else {
			*entry |= (uint32_t)use << QCOW2_REFS_USE_SHIFT |
				  (active ? QCOW2_REFS_ACTIVE : 0);
		}
		if (times > QCOW2_REFS_MAX - count)
			return image_fail(err, k->q.base.store->name, -E2BIG,
				"cluster at 0x%" PRIx64 " is used more than "
				"16777215 times",
				i << bits);
		*entry += times;
	}
	return 0;
}

static int
use_encryption_header(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_header *h = &k->q.header;

	if (!h->encryption_header)
		return 0;
	int rc = qcow2_check_table(k->q.base.store, h, "encryption header",
		h->encryption_offset, h->encryption_bytes, err);
	if (rc < 0)
		return qcow2_note(k, QCOW2_TEST_WELL_FORMED, rc, err);
	return qcow2_check_use(k, QCOW2_USE_ENCRYPTION, h->encryption_offset,
		h->encryption_bytes, 1, false, NULL, err);
}

static int
use_snapshots(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_source *q = &k->q;
	int rc = qcow2_check_use(k, QCOW2_USE_SNAPSHOTS,
		q->header.snapshots_offset, q->snapshots_bytes, 1, false, NULL,
		err);

	for (uint32_t i = 0; rc == 0 && i < q->n_snapshots; i++) {
		const struct qcow2_snapshot *s = &q->snapshots[i];
		if (s->l1_entries < qcow2_l1_entries(&q->header, s->disk_size))
			qcow2_fault(k, QCOW2_TEST_SNAPSHOTS,
				"L1 table of snapshot %" PRIu32 " has %" PRIu32
				" %s, too few for a disk of %" PRIu64 " %s",
				i, s->l1_entries,
				image_plural(s->l1_entries, "entry", "entries"),
				s->disk_size,
				image_plural(s->disk_size, "byte", "bytes"));
		rc = qcow2_check_use(k, QCOW2_USE_L1, s->l1_offset,
			(uint64_t)s->l1_entries * 8, 1, false,
			&k->bad_l1[i + 1], err);
	}
	return rc;
}

int
qcow2_check_tables(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_header *h = &k->q.header;

	int rc = qcow2_check_use(k, QCOW2_USE_HEADER, 0,
		UINT64_C(1) << h->cluster_bits, 1, false, NULL, err);
	if (rc == 0)
		rc = qcow2_check_use(k, QCOW2_USE_REFCOUNT_TABLE,
			h->refcount_table_offset, h->refcount_table_bytes, 1,
			false, NULL, err);
	if (rc == 0)
		rc = qcow2_check_use(k, QCOW2_USE_L1, h->l1_offset,
			(uint64_t)h->l1_entries * 8, 1, true, &k->bad_l1[0],
			err);
	if (rc == 0)
		rc = use_snapshots(k, err);
	if (rc == 0)
		rc = use_encryption_header(k, err);
	return rc;
}
