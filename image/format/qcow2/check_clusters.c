/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the L2 tables of the active state and of snapshots, and their
 * clusters.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "format/qcow2/check.h"

#define COPIED (UINT64_C(1) << 63)

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
	bool copied = entry & COPIED;
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
