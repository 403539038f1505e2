/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of internal snapshots. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/qcow2/source.h"

/* QEMU refuses more extra data in an entry. */
#define MAX_EXTRA 1024

/* An entry's ID and name have lengths of 16 bits. */
#define MAX_TAIL (MAX_EXTRA + 2 * 65535)

/* The place of an entry, and the lengths of its variable parts. */
struct entry {
	uint32_t index;
	uint64_t offset;
	uint32_t extra;
	uint32_t id;
	uint32_t name;
};

static uint64_t
tail_length(const struct entry *e)
{
	return (uint64_t)e->extra + e->id + e->name;
}

static int
check_end(const struct qcow2_source *q, const struct entry *e, uint64_t length,
	struct image_error *err)
{
	const struct image_store *store = q->base.store;
	uint64_t used = e->offset + length - q->header.snapshots_offset;

	if (used > QCOW2_MAX_SNAPSHOT_TABLE_BYTES)
		return image_damaged(err, store->name, -EINVAL,
			"snapshot table has at least %" PRIu64 " bytes, which "
			"is more than 64 MiB",
			used);
	if (e->offset + length > store->size)
		return image_damaged(err, store->name, -EINVAL,
			"snapshot table entry %" PRIu32 " at 0x%" PRIx64
			" extends past the end of the file (%" PRIu64 " bytes)",
			e->index, e->offset, store->size);
	return 0;
}

/* The fixed part. Its offset lies in the file, so that sums do not overflow. */
static int
parse_fixed(const struct qcow2_source *q, const unsigned char *raw,
	struct entry *e, struct qcow2_snapshot *s, struct image_error *err)
{
	s->l1_offset = image_be64(raw);
	s->l1_entries = image_be32(raw + 8);
	e->id = image_be16(raw + 12);
	e->name = image_be16(raw + 14);
	s->date = image_be32(raw + 16);
	s->vm_state_size = image_be32(raw + 32);
	e->extra = image_be32(raw + 36);
	if (e->extra > MAX_EXTRA)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"snapshot table entry %" PRIu32 " has %" PRIu32
			" bytes of extra data, which is more than 1024",
			e->index, e->extra);
	return check_end(q, e, QCOW2_SNAPSHOT_BYTES + tail_length(e), err);
}

static int
check_l1(const struct qcow2_source *q, const struct entry *e,
	const struct qcow2_snapshot *s, struct image_error *err)
{
	char what[48];

	snprintf(what, sizeof(what), "L1 table of snapshot %" PRIu32, e->index);
	if (s->l1_entries > QCOW2_MAX_L1_BYTES / 8)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"%s has %" PRIu32 " entries, which need more than "
			"32 MiB",
			what, s->l1_entries);
	if (s->disk_size > INT64_MAX)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"disk size %" PRIu64 " of snapshot %" PRIu32
			" is larger than any file",
			s->disk_size, e->index);
	return qcow2_check_table(q->base.store, &q->header, what, s->l1_offset,
		(uint64_t)s->l1_entries * 8, err);
}

/* The extra data, the ID and the name. */
static int
parse_tail(const struct qcow2_source *q, const unsigned char *raw,
	const struct entry *e, struct qcow2_snapshot *s,
	struct image_error *err)
{
	if (e->extra >= 8)
		s->vm_state_size = image_be64(raw);
	/* An entry of version 2 may lack the disk size. QEMU then uses the size
	 * in the header too. */
	s->disk_size = e->extra >= 16 ? image_be64(raw + 8) : q->header.size;
	raw += e->extra;
	s->id = strndup((const char *)raw, e->id);
	s->name = strndup((const char *)raw + e->id, e->name);
	if (!s->id || !s->name)
		return image_no_memory(err);
	return check_l1(q, e, s, err);
}

static int
load_entry(const struct qcow2_source *q, struct entry *e, unsigned char *buffer,
	struct qcow2_snapshot *s, struct image_error *err)
{
	struct image_store *store = q->base.store;

	int rc = check_end(q, e, QCOW2_SNAPSHOT_BYTES, err);
	if (rc == 0)
		rc = image_store_read(
			store, e->offset, buffer, QCOW2_SNAPSHOT_BYTES, err);
	if (rc == 0)
		rc = parse_fixed(q, buffer, e, s, err);
	if (rc == 0)
		rc = image_store_read(store, e->offset + QCOW2_SNAPSHOT_BYTES,
			buffer, (size_t)tail_length(e), err);
	if (rc == 0)
		rc = parse_tail(q, buffer, e, s, err);
	return rc;
}

int
qcow2_load_snapshots(struct qcow2_source *q, struct image_error *err)
{
	struct entry e = {.offset = q->header.snapshots_offset};
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
	while (rc == 0 && e.index < n) {
		q->n_snapshots = e.index + 1;
		rc = load_entry(q, &e, buffer, &q->snapshots[e.index], err);
		uint64_t length = QCOW2_SNAPSHOT_BYTES + tail_length(&e);
		q->snapshots_bytes =
			e.offset + length - q->header.snapshots_offset;
		e.offset += (length + 7) & ~UINT64_C(7);
		e.index++;
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
		if (strcmp(q->snapshots[i].id, wanted) == 0) {
			*out = &q->snapshots[i];
			return 0;
		}
	}
	for (uint32_t i = 0; i < q->n_snapshots; i++) {
		if (strcmp(q->snapshots[i].name, wanted) == 0) {
			*out = &q->snapshots[i];
			named++;
		}
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
