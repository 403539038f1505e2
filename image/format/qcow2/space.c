/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The places of the clusters of a new image and their reference counts, and its
 * L1 and L2 tables.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "format/formats.h"
#include "format/qcow2/sink.h"

/*
 * Bytes of refcount blocks that are written together, for few system calls and
 * little memory. A multiple of every cluster size but the largest.
 */
#define COLLECTED ((size_t)1 << 20)

/* A block of most file systems. */
#define HOLE_BYTES 4096

static size_t
cluster_size(const struct qcow2_space *s)
{
	return (size_t)1 << s->geometry->cluster_bits;
}

/* Reference counts in a block, as a power of two. */
static unsigned
per_block_bits(const struct qcow2_space *s)
{
	return s->geometry->cluster_bits + 3 - s->geometry->refcount_order;
}

static uint64_t
first_in_memory(const struct qcow2_space *s)
{
	return s->first << per_block_bits(s);
}

static uint64_t
get_count(const struct qcow2_space *s, uint64_t cluster)
{
	uint64_t index = cluster - first_in_memory(s);
	unsigned order = s->geometry->refcount_order;
	const unsigned char *at = s->blocks + (index << order >> 3);
	uint64_t count = 0;

	if (order < 3) {
		unsigned shift = (unsigned)(index << order & 7);
		return *at >> shift & ((1u << (1u << order)) - 1);
	}
	for (unsigned i = 0; i < 1u << (order - 3); i++)
		count = count << 8 | at[i];
	return count;
}

/* Narrow counts begin at the least significant bit of a byte, wide ones are
 * big-endian. */
static void
set_count(struct qcow2_space *s, uint64_t cluster, uint64_t count)
{
	uint64_t index = cluster - first_in_memory(s);
	unsigned order = s->geometry->refcount_order;
	unsigned char *at = s->blocks + (index << order >> 3);

	if (order < 3) {
		unsigned shift = (unsigned)(index << order & 7);
		unsigned mask = (1u << (1u << order)) - 1;
		*at = (unsigned char)((*at & ~(mask << shift)) |
				      (unsigned)count << shift);
		return;
	}
	for (unsigned i = 1u << (order - 3); i-- > 0; count >>= 8)
		at[i] = (unsigned char)count;
}

void
qcow2_space_destroy(struct qcow2_space *s)
{
	free(s->blocks);
	free(s->table);
}

/* Entries without a cluster are zero. */
static int
grow_zeros(uint64_t **list, uint64_t *room, uint64_t wanted,
	struct image_error *err)
{
	uint64_t old = *room;

	int rc = image_grow(list, room, wanted, sizeof(**list), err);
	if (*room > old)
		memset(*list + old, 0, (size_t)(*room - old) * sizeof(**list));
	return rc;
}

static int
grow_table(struct qcow2_space *s, uint64_t entries, struct image_error *err)
{
	if (!qcow2_refcount_table_fits(entries))
		return qcow2_refcount_table_too_large(
			s->geometry, s->store->name, err);
	return grow_zeros(
		&s->table, &s->table_room, entries < 512 ? 512 : entries, err);
}

static int
allocate(struct qcow2_space *s, uint64_t count, uint64_t *cluster,
	struct image_error *err)
{
	uint64_t limit = UINT64_C(1)
			 << (QCOW2_OFFSET_BITS - s->geometry->cluster_bits);

	if (count > limit - s->next)
		return image_fail(err, s->store->name, -EFBIG,
			"its file would be larger than qcow2 allows");
	*cluster = s->next;
	s->next += count;
	return 0;
}

/* Count the clusters before `next` that the blocks in memory can count. */
static void
count_in_memory(struct qcow2_space *s)
{
	unsigned order = s->geometry->refcount_order;
	uint64_t first = first_in_memory(s);
	/* The end of the clusters that the blocks in memory can count. */
	uint64_t end = (s->first + s->room) << per_block_bits(s);

	if (end > s->next)
		end = s->next;
	/* Each count is 0 before, so that one bit makes it 1. */
	for (; s->counted < end; s->counted++) {
		uint64_t index = s->counted - first;
		if (order < 3)
			s->blocks[index << order >> 3] |=
				(unsigned char)(1u << (index << order & 7));
		else
			s->blocks[((index + 1) << (order - 3)) - 1] = 1;
	}
}

int
qcow2_space_init(struct qcow2_space *s, struct image_store *store,
	const struct qcow2_geometry *geometry, struct image_error *err)
{
	*s = (struct qcow2_space){.store = store, .geometry = geometry};
	s->room = cluster_size(s) < COLLECTED ? COLLECTED / cluster_size(s) : 1;
	s->blocks = calloc((size_t)s->room, cluster_size(s));
	if (!s->blocks)
		return image_no_memory(err);
	s->next = 1;
	count_in_memory(s);
	/* No data of the disk may lie at the offset of a signature: a guest
	 * could store the signature of another format there. The skipped range
	 * is a hole. */
	uint64_t begin = IMAGE_SIGNATURES_END >> geometry->cluster_bits;
	if (s->next < begin)
		s->counted = s->next = begin;
	return 0;
}

/*
 * Write the first n blocks in memory, which include all blocks in use. The
 * blocks take clusters of the file too. The blocks in memory count as many of
 * these clusters as they can before the write.
 */
static int
write_blocks(struct qcow2_space *s, uint64_t n, struct image_error *err)
{
	uint64_t cluster = 0;

	int rc = grow_table(s, s->first + n, err);
	if (rc == 0)
		rc = allocate(s, n, &cluster, err);
	if (rc < 0)
		return rc;
	count_in_memory(s);
	/* Beyond the n blocks, counting begins again in the next ones. */
	uint64_t end = (s->first + n) << per_block_bits(s);
	if (s->counted > end)
		s->counted = end;
	for (uint64_t i = 0; i < n; i++)
		s->table[s->first + i] =
			htobe64((cluster + i) << s->geometry->cluster_bits);
	size_t bytes = (size_t)n << s->geometry->cluster_bits;
	rc = qcow2_write_sparse(s->store, cluster << s->geometry->cluster_bits,
		s->blocks, bytes, err);
	memset(s->blocks, 0, (size_t)s->room << s->geometry->cluster_bits);
	s->first += n;
	return rc;
}

static int
count_all(struct qcow2_space *s, struct image_error *err)
{
	for (;;) {
		count_in_memory(s);
		if (s->counted == s->next)
			return 0;
		int rc = write_blocks(s, s->room, err);
		if (rc < 0)
			return rc;
	}
}

int
qcow2_space_take(struct qcow2_space *s, uint64_t count, uint64_t *cluster,
	struct image_error *err)
{
	int rc = allocate(s, count, cluster, err);
	return rc < 0 ? rc : count_all(s, err);
}

bool
qcow2_space_share(struct qcow2_space *s, uint64_t cluster)
{
	unsigned bits = 1u << s->geometry->refcount_order;
	uint64_t most = UINT64_MAX >> (64 - bits);

	assert(cluster < s->counted);
	if (cluster < first_in_memory(s))
		return false;
	uint64_t count = get_count(s, cluster);
	if (count == most)
		return false;
	set_count(s, cluster, count + 1);
	return true;
}

/*
 * Returns the final number of blocks if clusters up to `used` are in use and
 * only blocks take more clusters.
 */
static uint64_t
final_blocks(const struct qcow2_space *s, uint64_t used)
{
	uint64_t per_block = UINT64_C(1) << per_block_bits(s);
	uint64_t blocks = s->first;

	for (;;) {
		uint64_t need = qcow2_divide_up(used, per_block);
		if (need <= blocks)
			return blocks;
		used += need - blocks;
		blocks = need;
	}
}

/* The table needs entries for its own clusters too. */
static uint64_t
table_clusters_needed(const struct qcow2_space *s)
{
	uint64_t clusters = 1;

	for (;;) {
		uint64_t blocks = final_blocks(s, s->next + clusters);
		uint64_t need = qcow2_divide_up(blocks, cluster_size(s) / 8);
		if (need <= clusters)
			return clusters;
		clusters = need;
	}
}

int
qcow2_space_finish(struct qcow2_space *s, uint64_t *table_cluster,
	uint64_t *table_clusters, struct image_error *err)
{
	unsigned bits = s->geometry->cluster_bits;

	*table_clusters = table_clusters_needed(s);
	uint64_t entries = *table_clusters << (bits - 3);
	int rc = qcow2_space_take(s, *table_clusters, table_cluster, err);
	/* Each iteration leaves at most 1/64 of the blocks: those that count
	 * the blocks of the previous iteration. */
	while (rc == 0) {
		uint64_t end = qcow2_divide_up(
			s->next, UINT64_C(1) << per_block_bits(s));
		if (end <= s->first)
			break;
		rc = write_blocks(s, end - s->first, err);
		if (rc == 0)
			rc = count_all(s, err);
	}
	if (rc == 0)
		rc = grow_table(s, entries, err);
	if (rc < 0)
		return rc;
	assert(s->first <= entries);
	return qcow2_write_sparse(s->store, *table_cluster << bits, s->table,
		(size_t)entries * sizeof(*s->table), err);
}

int
qcow2_write_sparse(struct image_store *store, uint64_t offset,
	const void *bytes, size_t length, struct image_error *err)
{
	const unsigned char *at = bytes;
	size_t from = 0;
	int rc = 0;

	/* Blocks are aligned in the file; the first and the last may be
	 * partial. */
	for (size_t done = 0; done < length;) {
		size_t n = HOLE_BYTES - (size_t)((offset + done) % HOLE_BYTES);
		if (n > length - done)
			n = length - done;
		if (n == HOLE_BYTES && hone_buffer_is_zero(at + done, n)) {
			rc = image_store_write(store, offset + from, at + from,
				done - from, err);
			if (rc < 0)
				return rc;
			from = done + n;
		}
		done += n;
	}
	return image_store_write(
		store, offset + from, at + from, length - from, err);
}

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
	int rc = grow_zeros(&t->l1, &t->l1_room, g->l1_entries, err);
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
		rc = grow_zeros(&t->l1, &t->l1_room, index + 1, err);
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
		rc = grow_zeros(&t->l1, &t->l1_room, g->l1_entries, err);
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
