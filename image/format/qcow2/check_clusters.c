/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the L2 tables of the active state and of snapshots, their clusters,
 * and the bitmaps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/qcow2/check.h"

/* The L1 table of a state that is being visited. */
struct state {
	char name[48];
	/* of the active state */
	bool active;
	/* called for each L2 table */
	int (*visit)(struct qcow2_check *k, const struct state *state,
		uint64_t index, uint64_t entry, uint64_t table,
		struct image_error *err);
};

/* An L2 table that is being visited. */
struct table {
	/* offset in the disk that its first entry describes */
	uint64_t guest;
	/* L1 tables that refer to it */
	uint32_t times;
	bool active;
};

/* Note a fault if bit 63 of an active entry contradicts the reference count. */
static int
check_copied(struct qcow2_check *k, const char *what, uint64_t entry,
	uint64_t offset, struct image_error *err)
{
	uint32_t *refs;
	int rc = qcow2_refs_get(
		&k->refs, offset >> k->q.header.cluster_bits, &refs, err);

	if (rc < 0)
		return rc;
	bool copied = entry & QCOW2_ENTRY_COPIED;
	bool one = *refs & QCOW2_REFS_ONE;
	if (copied != one)
		qcow2_fault(k, QCOW2_TEST_COPIED,
			"bit 63 of the entry of the %s at 0x%" PRIx64
			" is %d, but its reference count is %s",
			what, offset, copied, one ? "1" : "not 1");
	return 0;
}

static int
visit_l1(struct qcow2_check *k, void *opaque, uint64_t index, uint64_t *words,
	size_t n, struct image_error *err)
{
	const struct state *state = opaque;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		uint64_t table;
		if (words[i] == 0)
			continue;
		rc = qcow2_parse_l1_entry(
			&k->q, state->name, index + i, words[i], &table, err);
		if (rc == 0)
			rc = state->visit(
				k, state, index + i, words[i], table, err);
		else
			rc = qcow2_note(k, QCOW2_TEST_WELL_FORMED, rc, err);
	}
	return rc;
}

/* Visit the L1 tables of all states. */
static int
each_state(struct qcow2_check *k,
	int (*visit)(struct qcow2_check *k, const struct state *state,
		uint64_t index, uint64_t entry, uint64_t table,
		struct image_error *err),
	struct image_error *err)
{
	const struct qcow2_source *q = &k->q;
	struct state state = {"L1 table", true, visit};
	int rc = 0;

	if (!k->bad_l1[0])
		rc = qcow2_check_words(k, q->header.l1_offset,
			q->header.l1_entries, visit_l1, &state, err);
	state.active = false;
	for (uint32_t i = 0; rc == 0 && i < q->n_snapshots; i++) {
		if (k->bad_l1[i + 1])
			continue;
		snprintf(state.name, sizeof(state.name),
			"L1 table of snapshot %" PRIu32, i);
		rc = qcow2_check_words(k, q->snapshots[i].l1_offset,
			q->snapshots[i].l1_entries, visit_l1, &state, err);
	}
	return rc;
}

static int
use_l2(struct qcow2_check *k, const struct state *state, uint64_t index,
	uint64_t entry, uint64_t table, struct image_error *err)
{
	(void)index;
	int rc = qcow2_check_use(k, QCOW2_USE_L2, table, k->q.base.unit, 1,
		state->active, NULL, err);
	if (rc == 0 && state->active)
		rc = check_copied(k, "L2 table", entry, table, err);
	return rc;
}

int
qcow2_check_l2_tables(struct qcow2_check *k, struct image_error *err)
{
	return each_state(k, use_l2, err);
}

/* Count a cluster that lies in the image itself. */
static int
use_cluster(struct qcow2_check *k, const struct table *table, uint64_t entry,
	uint64_t guest, const struct qcow2_cluster *c, struct image_error *err)
{
	if (c->compressed) {
		k->n_compressed++;
		return qcow2_check_use(k, QCOW2_USE_COMPRESSED, c->host,
			c->stored, table->times, table->active, NULL, err);
	}
	if (c->host == 0)
		return 0;
	k->n_data++;
	/* A cluster that is not read may be the first one past the end of the
	 * file: QEMU writes such entries. */
	if (c->host >> k->q.header.cluster_bits > k->refs.clusters) {
		qcow2_fault(k, QCOW2_TEST_WELL_FORMED,
			"data cluster of guest offset 0x%" PRIx64
			" at 0x%" PRIx64 " lies past the end of the file "
			"(%" PRIu64 " bytes)",
			guest, c->host, k->q.base.store->size);
		return 0;
	}
	int rc = qcow2_check_use(k, QCOW2_USE_DATA, c->host, k->q.base.unit,
		table->times, table->active, NULL, err);
	if (rc == 0 && table->active)
		rc = check_copied(k, "data cluster", entry, c->host, err);
	return rc;
}

static int
visit_l2(struct qcow2_check *k, void *opaque, uint64_t index, uint64_t *words,
	size_t n, struct image_error *err)
{
	const struct table *table = opaque;
	size_t step = k->q.extended ? 2 : 1;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i += step) {
		uint64_t bitmap = k->q.extended ? words[i + 1] : 0;
		uint64_t guest =
			table->guest +
			(((index + i) / step) << k->q.header.cluster_bits);
		struct qcow2_cluster c = {0};
		if (words[i] == 0 && bitmap == 0)
			continue;
		rc = qcow2_parse_cluster(
			&k->q, words[i], bitmap, guest, &c, err);
		if (rc < 0)
			rc = qcow2_note(k, QCOW2_TEST_WELL_FORMED, rc, err);
		else if (!(k->q.header.incompatible & QCOW2_DATA_FILE))
			rc = use_cluster(k, table, words[i], guest, &c, err);
		else
			k->n_data += c.allocated != 0;
	}
	return rc;
}

/* Visit each table once for all states that refer to the table. */
static int
use_clusters(struct qcow2_check *k, const struct state *state, uint64_t index,
	uint64_t entry, uint64_t offset, struct image_error *err)
{
	unsigned bits = k->q.header.cluster_bits;
	uint32_t *refs;

	(void)state;
	(void)entry;
	int rc = qcow2_refs_get(&k->refs, offset >> bits, &refs, err);
	if (rc < 0)
		return rc;
	if (qcow2_refs_use(*refs) != QCOW2_USE_L2 ||
		(*refs & QCOW2_REFS_VISITED))
		return 0;
	*refs |= QCOW2_REFS_VISITED;
	k->n_l2++;
	struct table table = {
		.guest = index << (bits + k->q.l2_bits),
		.times = qcow2_refs_count(*refs),
		.active = *refs & QCOW2_REFS_ACTIVE,
	};
	/* The first half of the buffer has the words of the L1 table, which is
	 * still visited. */
	uint64_t *words = k->words;
	k->words = words + QCOW2_CHECK_BYTES / 8;
	rc = qcow2_check_words(
		k, offset, k->q.base.unit / 8, visit_l2, &table, err);
	k->words = words;
	return rc;
}

int
qcow2_check_clusters(struct qcow2_check *k, struct image_error *err)
{
	return each_state(k, use_clusters, err);
}

/* The bitmaps extension: its directory, tables and clusters. */

/* The extension with its head. */
#define EXTENSION_BYTES 24

/* QEMU refuses more. */
#define MAX_BITMAPS 65535
#define MAX_NAME 1023
#define MAX_DIRECTORY_BYTES ((uint64_t)64 << 20)

/* The fixed part of an entry of the directory. */
#define ENTRY_BYTES 24

/* in_use, auto, extra_data_compatible */
#define KNOWN_FLAGS 7u
#define DIRTY_TRACKING 1
#define MIN_GRANULARITY_BITS 9
#define MAX_GRANULARITY_BITS 31

/* an entry without an offset, for bits that are all set */
#define ALL_ONES UINT64_C(1)

static int
visit_table(struct qcow2_check *k, void *opaque, uint64_t index,
	uint64_t *words, size_t n, struct image_error *err)
{
	uint64_t unit = k->q.base.unit;

	(void)opaque;
	for (size_t i = 0; i < n; i++) {
		uint64_t offset = words[i] & QCOW2_ENTRY_OFFSET;
		if (words[i] == 0 || words[i] == ALL_ONES)
			continue;
		if (words[i] != offset || offset % unit != 0 ||
			offset >> k->q.header.cluster_bits >=
				k->refs.clusters) {
			qcow2_fault(k, QCOW2_TEST_BITMAPS,
				"bitmap table entry %" PRIu64 ", 0x%016" PRIx64
				", is not the offset of a cluster of the file",
				index + i, words[i]);
			continue;
		}
		int rc = qcow2_check_use(
			k, QCOW2_USE_BITMAP, offset, unit, 1, false, NULL, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Note a fault of the fixed part. Returns true if there is none. */
static bool
parse_entry(struct qcow2_check *k, uint32_t index, const unsigned char *raw)
{
	const char *field;
	uint64_t value;

	if (image_be32(raw + 12) & ~KNOWN_FLAGS) {
		field = "flags";
		value = image_be32(raw + 12);
	} else if (raw[16] != DIRTY_TRACKING) {
		field = "type";
		value = raw[16];
	} else if (raw[17] < MIN_GRANULARITY_BITS ||
		   raw[17] > MAX_GRANULARITY_BITS) {
		field = "granularity_bits";
		value = raw[17];
	} else if (image_be16(raw + 18) == 0 ||
		   image_be16(raw + 18) > MAX_NAME) {
		field = "name_size";
		value = image_be16(raw + 18);
	} else {
		return true;
	}
	qcow2_fault(k, QCOW2_TEST_BITMAPS,
		"bitmap directory entry %" PRIu32 " has %s %" PRIu64
		", which is not valid",
		index, field, value);
	return false;
}

static int
check_entry(struct qcow2_check *k, uint32_t index, const unsigned char *raw,
	struct image_error *err)
{
	uint64_t offset = image_be64(raw);
	uint64_t entries = image_be32(raw + 8);
	bool clash = false;

	if (!parse_entry(k, index, raw))
		return 0;
	int rc = qcow2_refuse_outside(k->q.base.store, &k->q.header,
		"bitmap table", offset, entries * 8, err);
	if (rc < 0)
		return qcow2_note(k, QCOW2_TEST_BITMAPS, rc, err);
	rc = qcow2_check_use(k, QCOW2_USE_BITMAP_TABLE, offset, entries * 8, 1,
		false, &clash, err);
	if (rc == 0 && !clash)
		rc = qcow2_check_words(
			k, offset, entries, visit_table, NULL, err);
	return rc;
}

static int
check_directory(struct qcow2_check *k, const unsigned char *raw,
	struct image_error *err)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;
	uint64_t at = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		uint64_t left = b->directory_bytes - at;
		uint64_t length = ENTRY_BYTES;
		if (left >= ENTRY_BYTES)
			length += (uint64_t)image_be32(raw + at + 20) +
				  image_be16(raw + at + 18);
		length = (length + 7) & ~UINT64_C(7);
		if (length > left) {
			qcow2_fault(k, QCOW2_TEST_BITMAPS,
				"bitmap directory entry %" PRIu32
				" extends past the end of the directory, which "
				"has %s",
				i, IMAGE_COUNT(b->directory_bytes, "byte"));
			return 0;
		}
		int rc = check_entry(k, i, raw + at, err);
		if (rc < 0)
			return rc;
		at += length;
	}
	if (at != b->directory_bytes)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bitmap directory has %" PRIu64 " bytes, but its %s "
			"%s %" PRIu64,
			b->directory_bytes, IMAGE_COUNT(b->count, "entry"),
			b->count == 1 ? "has" : "have", at);
	return 0;
}

/* Note a fault of the extension. Returns true if there is none. */
static bool
parse_extension(struct qcow2_check *k)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;

	if (b->extensions == 0)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bit 0 of autoclear_features is set (bitmaps), but "
			"there is no bitmaps extension");
	else if (b->extensions > 1)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"header has %" PRIu32 " bitmaps extensions, but 1 is "
			"allowed",
			b->extensions);
	else if (b->length != EXTENSION_BYTES)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bitmaps extension has %s, which is not 24",
			IMAGE_COUNT(b->length, "byte"));
	else if (b->count == 0 || b->count > MAX_BITMAPS)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"nb_bitmaps %" PRIu32 " is not from 1 to 65535",
			b->count);
	else if (b->directory_bytes > MAX_DIRECTORY_BYTES)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bitmap_directory_size %" PRIu64 " is more than 64 MiB",
			b->directory_bytes);
	else
		return true;
	return false;
}

int
qcow2_check_bitmaps(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;
	struct image_store *store = k->q.base.store;

	/* By the specification, bitmaps without the bit are inconsistent. */
	if (!(k->q.header.autoclear & QCOW2_BITMAPS) || !parse_extension(k))
		return 0;
	int rc = qcow2_refuse_outside(store, &k->q.header, "bitmap directory",
		b->directory_offset, b->directory_bytes, err);
	if (rc < 0)
		return qcow2_note(k, QCOW2_TEST_BITMAPS, rc, err);
	rc = qcow2_check_use(k, QCOW2_USE_DIRECTORY, b->directory_offset,
		b->directory_bytes, 1, false, NULL, err);
	if (rc < 0)
		return rc;
	unsigned char *raw = malloc((size_t)b->directory_bytes + 1);
	if (!raw)
		return image_no_memory(err);
	rc = image_store_read(store, b->directory_offset, raw,
		(size_t)b->directory_bytes, err);
	if (rc == 0)
		rc = check_directory(k, raw, err);
	free(raw);
	return rc;
}
