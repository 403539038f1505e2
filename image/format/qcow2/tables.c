/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/qcow2/tables.h"

/*
 * Bytes of the disk, as a power of two, between places of L2 tables. A table of
 * 512 bytes has entries for 32 KiB: each write of data would end there.
 */
#define GROUP_RANGE_BITS 18

/* The tables that have their places together, as a power of two. */
static unsigned
group_bits(const struct qcow2_geometry *g)
{
	unsigned table = g->cluster_bits + g->l2_bits;

	/* Tables after the end of the disk would have no entry. */
	if (g->l1_entries == 0 || table >= GROUP_RANGE_BITS)
		return 0;
	return GROUP_RANGE_BITS - table;
}

static uint64_t
l1_clusters(const struct qcow2_geometry *g)
{
	return qcow2_divide_up(
		g->l1_entries, UINT64_C(1) << (g->cluster_bits - 3));
}

/* Make room for that many entries. */
static int
grow_l1(struct qcow2_tables *t, uint64_t entries, struct image_error *err)
{
	uint64_t room = t->l1_room ? t->l1_room : entries;

	if (entries <= t->l1_room)
		return 0;
	while (room < entries)
		room *= 2;
	uint64_t *l1 = realloc(t->l1, (size_t)room * sizeof(*l1));
	if (!l1)
		return image_no_memory(err);
	memset(l1 + t->l1_room, 0, (size_t)(room - t->l1_room) * sizeof(*l1));
	t->l1 = l1;
	t->l1_room = room;
	return 0;
}

int
qcow2_tables_init(struct qcow2_tables *t, struct qcow2_space *space,
	struct image_error *err)
{
	const struct qcow2_geometry *g = space->geometry;

	*t = (struct qcow2_tables){
		.space = space, .geometry = g, .group_bits = group_bits(g)};
	t->l2 = malloc((size_t)1 << (t->group_bits + g->cluster_bits));
	if (!t->l2)
		return image_no_memory(err);
	if (g->l1_entries == 0)
		return 0;
	int rc = grow_l1(t, g->l1_entries, err);
	return rc == 0 ? qcow2_space_take(
				 space, l1_clusters(g), &t->l1_cluster, err)
		       : rc;
}

void
qcow2_tables_destroy(struct qcow2_tables *t)
{
	free(t->l1);
	free(t->l2);
}

static int
write_l2(struct qcow2_tables *t, struct image_error *err)
{
	unsigned bits = t->geometry->cluster_bits;

	if (t->used == 0)
		return 0;
	return qcow2_write_sparse(t->space->store, t->cluster << bits, t->l2,
		(size_t)t->used << bits, err);
}

/* Take places for the group of the table with that index. */
static int
begin_group(struct qcow2_tables *t, uint64_t index, struct image_error *err)
{
	const struct qcow2_geometry *g = t->geometry;
	uint64_t used = UINT64_C(1) << t->group_bits;

	t->first = index & ~(used - 1);
	if (g->l1_entries && used > g->l1_entries - t->first)
		used = g->l1_entries - t->first;
	t->used = 0;
	int rc = qcow2_space_take(t->space, used, &t->cluster, err);
	if (rc < 0)
		return rc;
	t->used = used;
	memset(t->l2, 0, (size_t)used << g->cluster_bits);
	for (uint64_t i = 0; i < used; i++)
		t->l1[t->first + i] =
			htobe64((t->cluster + i) << g->cluster_bits |
				QCOW2_ENTRY_COPIED);
	return 0;
}

int
qcow2_tables_open(
	struct qcow2_tables *t, uint64_t guest_cluster, struct image_error *err)
{
	const struct qcow2_geometry *g = t->geometry;
	uint64_t index = guest_cluster >> g->l2_bits;

	if (t->used > 0 && index - t->first < t->used)
		return 0;
	assert(index < g->l1_entries || g->l1_entries == 0);
	assert(t->used == 0 || t->first < index);
	if (index >= QCOW2_MAX_L1_BYTES / 8)
		return image_fail(err, t->space->store->name, -EFBIG,
			"its disk needs an L1 table of more than 32 MiB with "
			"cluster_size=%u",
			1u << g->cluster_bits);
	int rc = write_l2(t, err);
	if (rc == 0)
		rc = grow_l1(t, index + 1, err);
	return rc == 0 ? begin_group(t, index, err) : rc;
}

uint64_t *
qcow2_tables_entry(struct qcow2_tables *t, uint64_t guest_cluster)
{
	const struct qcow2_geometry *g = t->geometry;
	uint64_t entry = guest_cluster & ((UINT64_C(1) << g->l2_bits) - 1);
	uint64_t table = (guest_cluster >> g->l2_bits) - t->first;

	assert(table < t->used);
	return (uint64_t *)(t->l2 + (table << g->cluster_bits)) +
	       entry * (g->extended_l2 ? 2 : 1);
}

int
qcow2_tables_finish(
	struct qcow2_tables *t, uint64_t *l1_cluster, struct image_error *err)
{
	const struct qcow2_geometry *g = t->geometry;

	int rc = write_l2(t, err);
	if (rc == 0)
		rc = grow_l1(t, g->l1_entries, err);
	if (rc == 0 && t->l1_cluster == 0)
		rc = qcow2_space_take(
			t->space, l1_clusters(g), &t->l1_cluster, err);
	if (rc < 0)
		return rc;
	*l1_cluster = t->l1_cluster;
	return qcow2_write_sparse(t->space->store,
		*l1_cluster << g->cluster_bits, t->l1,
		(size_t)g->l1_entries * sizeof(*t->l1), err);
}
