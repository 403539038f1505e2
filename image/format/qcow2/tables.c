/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "format/qcow2/tables.h"

/* Bytes of L2 tables that are written together. */
#define COLLECTED ((size_t)1 << 20)

int
qcow2_tables_init(struct qcow2_tables *t, struct qcow2_space *space,
	struct image_error *err)
{
	const struct qcow2_geometry *g = space->geometry;
	size_t cluster_size = (size_t)1 << g->cluster_bits;

	*t = (struct qcow2_tables){.space = space, .geometry = g};
	t->room = cluster_size < COLLECTED ? COLLECTED / cluster_size : 1;
	t->l1 = calloc((size_t)g->l1_entries, sizeof(*t->l1));
	t->l2 = malloc(t->room << g->cluster_bits);
	t->index = malloc(t->room * sizeof(*t->index));
	return t->l1 && t->l2 && t->index ? 0 : image_no_memory(err);
}

void
qcow2_tables_destroy(struct qcow2_tables *t)
{
	free(t->l1);
	free(t->l2);
	free(t->index);
}

static int
write_l2(struct qcow2_tables *t, struct image_error *err)
{
	unsigned bits = t->geometry->cluster_bits;
	uint64_t cluster;

	if (t->used == 0)
		return 0;
	int rc = qcow2_space_take(t->space, t->used, &cluster, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < t->used; i++)
		t->l1[t->index[i]] =
			htobe64((cluster + i) << bits | QCOW2_ENTRY_COPIED);
	rc = qcow2_write_sparse(
		t->space->store, cluster << bits, t->l2, t->used << bits, err);
	t->used = 0;
	return rc;
}

int
qcow2_tables_open(
	struct qcow2_tables *t, uint64_t guest_cluster, struct image_error *err)
{
	uint64_t index = guest_cluster >> t->geometry->l2_bits;

	if (t->used > 0 && t->index[t->used - 1] == index)
		return 0;
	assert(index < t->geometry->l1_entries);
	assert(t->used == 0 || t->index[t->used - 1] < index);
	if (t->used == t->room) {
		int rc = write_l2(t, err);
		if (rc < 0)
			return rc;
	}
	memset(t->l2 + (t->used << t->geometry->cluster_bits), 0,
		(size_t)1 << t->geometry->cluster_bits);
	t->index[t->used++] = index;
	return 0;
}

uint64_t *
qcow2_tables_entry(struct qcow2_tables *t, uint64_t guest_cluster)
{
	const struct qcow2_geometry *g = t->geometry;
	uint64_t entry = guest_cluster & ((UINT64_C(1) << g->l2_bits) - 1);
	uint64_t *table =
		(uint64_t *)(t->l2 + ((t->used - 1) << g->cluster_bits));

	assert(t->index[t->used - 1] == guest_cluster >> g->l2_bits);
	return table + entry * (g->extended_l2 ? 2 : 1);
}

int
qcow2_tables_finish(
	struct qcow2_tables *t, uint64_t *l1_cluster, struct image_error *err)
{
	unsigned bits = t->geometry->cluster_bits;
	uint64_t entries = t->geometry->l1_entries;
	uint64_t clusters = qcow2_divide_up(entries, UINT64_C(1) << (bits - 3));

	int rc = write_l2(t, err);
	if (rc == 0)
		rc = qcow2_space_take(t->space, clusters, l1_cluster, err);
	if (rc < 0)
		return rc;
	return qcow2_write_sparse(t->space->store, *l1_cluster << bits, t->l1,
		(size_t)entries * sizeof(*t->l1), err);
}
