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

void
qcow2_space_destroy(struct qcow2_space *s)
{
	free(s->blocks);
	free(s->table);
	free(s->l1);
	free(s->l2);
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

/*
 * Write length bytes except for blocks of zeros, which stay holes of the new
 * file. Blocks are aligned in the file; the first and the last may be partial.
 */
static int
write_sparse(struct image_store *store, uint64_t offset, const void *bytes,
	size_t length, struct image_error *err)
{
	const unsigned char *at = bytes;
	size_t from = 0;
	int rc = 0;

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
		unsigned char bit;
		uint64_t at = qcow2_first_bit(order, s->counted - first, &bit);
		s->blocks[at] |= bit;
	}
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

static int
place_l1(struct qcow2_space *s, struct image_error *err)
{
	uint64_t entries = s->geometry->l1_entries;

	int rc = grow_zeros(&s->l1, &s->l1_room, entries, err);
	if (rc == 0 && s->l1_cluster == 0)
		rc = qcow2_space_take(s,
			qcow2_divide_up(entries, cluster_size(s) / 8),
			&s->l1_cluster, err);
	return rc;
}

int
qcow2_space_init(struct qcow2_space *s, struct image_store *store,
	const struct qcow2_geometry *geometry, struct image_error *err)
{
	*s = (struct qcow2_space){.store = store,
		.geometry = geometry,
		.group_bits = group_bits(geometry)};
	s->room = cluster_size(s) < COLLECTED ? COLLECTED / cluster_size(s) : 1;
	s->blocks = calloc((size_t)s->room, cluster_size(s));
	s->l2 = malloc(cluster_size(s) << s->group_bits);
	if (!s->blocks || !s->l2)
		return image_no_memory(err);
	s->next = 1;
	count_in_memory(s);
	/* No data of the disk may lie at the offset of a signature: a guest
	 * could store the signature of another format there. The skipped range
	 * is a hole. */
	uint64_t begin = IMAGE_SIGNATURES_END >> geometry->cluster_bits;
	if (s->next < begin)
		s->counted = s->next = begin;
	return geometry->l1_entries ? place_l1(s, err) : 0;
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
	rc = write_sparse(s->store, cluster << s->geometry->cluster_bits,
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
	unsigned order = s->geometry->refcount_order;

	assert(cluster < s->counted);
	if (cluster < first_in_memory(s))
		return false;
	uint64_t index = cluster - first_in_memory(s);
	unsigned char *at = s->blocks + (index << order >> 3);
	if (order < 3) {
		unsigned shift = (unsigned)(index << order & 7);
		unsigned most = (1u << (1u << order)) - 1;
		if ((*at >> shift & most) == most)
			return false;
		*at = (unsigned char)(*at + (1u << shift));
		return true;
	}
	/* A count of several bytes is big-endian. */
	for (unsigned i = 1u << (order - 3); i-- > 0;)
		if (++at[i] != 0)
			return true;
	memset(at, 0xff, (size_t)1 << (order - 3));
	return false;
}

static int
finish_counts(struct qcow2_space *s, struct qcow2_header_out *header,
	struct image_error *err)
{
	unsigned bits = s->geometry->cluster_bits;
	uint64_t blocks;

	qcow2_count_refcounts(s->geometry, s->next, s->first, &blocks,
		&header->refcount_clusters);
	uint64_t entries = header->refcount_clusters << (bits - 3);
	int rc = qcow2_space_take(
		s, header->refcount_clusters, &header->refcount_cluster, err);
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
	return write_sparse(s->store, header->refcount_cluster << bits,
		s->table, (size_t)entries * sizeof(*s->table), err);
}

static int
write_l2(struct qcow2_space *s, struct image_error *err)
{
	unsigned bits = s->geometry->cluster_bits;

	if (s->l2_used == 0)
		return 0;
	return write_sparse(s->store, s->l2_cluster << bits, s->l2,
		(size_t)s->l2_used << bits, err);
}

int
qcow2_space_open_table(
	struct qcow2_space *s, uint64_t guest_cluster, struct image_error *err)
{
	const struct qcow2_geometry *g = s->geometry;
	uint64_t index = guest_cluster >> g->l2_bits;
	uint64_t used = UINT64_C(1) << s->group_bits;

	if (s->l2_used > 0 && index - s->l2_first < s->l2_used)
		return 0;
	assert(index < g->l1_entries || g->l1_entries == 0);
	assert(s->l2_used == 0 || s->l2_first < index);
	if (index >= QCOW2_MAX_L1_BYTES / 8)
		return image_fail(err, s->store->name, -EFBIG,
			"its disk needs an L1 table of more than 32 MiB with "
			"cluster_size=%u",
			1u << g->cluster_bits);
	int rc = write_l2(s, err);
	if (rc == 0)
		rc = grow_zeros(&s->l1, &s->l1_room, index + 1, err);
	if (rc < 0)
		return rc;
	s->l2_first = index & ~(used - 1);
	if (g->l1_entries && used > g->l1_entries - s->l2_first)
		used = g->l1_entries - s->l2_first;
	s->l2_used = 0;
	rc = qcow2_space_take(s, used, &s->l2_cluster, err);
	if (rc < 0)
		return rc;
	s->l2_used = used;
	memset(s->l2, 0, (size_t)used << g->cluster_bits);
	for (uint64_t i = 0; i < used; i++)
		s->l1[s->l2_first + i] =
			htobe64((s->l2_cluster + i) << g->cluster_bits |
				QCOW2_ENTRY_COPIED);
	return 0;
}

uint64_t *
qcow2_space_entry(struct qcow2_space *s, uint64_t guest_cluster)
{
	const struct qcow2_geometry *g = s->geometry;
	uint64_t entry = guest_cluster & ((UINT64_C(1) << g->l2_bits) - 1);
	uint64_t table = (guest_cluster >> g->l2_bits) - s->l2_first;

	assert(table < s->l2_used);
	return (uint64_t *)(s->l2 + (table << g->cluster_bits)) +
	       entry * (g->extended_l2 ? 2 : 1);
}

int
qcow2_space_finish(struct qcow2_space *s, struct qcow2_header_out *header,
	struct image_error *err)
{
	const struct qcow2_geometry *g = s->geometry;

	int rc = write_l2(s, err);
	if (rc == 0)
		rc = place_l1(s, err);
	header->l1_cluster = s->l1_cluster;
	if (rc == 0)
		rc = write_sparse(s->store, s->l1_cluster << g->cluster_bits,
			s->l1, (size_t)g->l1_entries * sizeof(*s->l1), err);
	return rc == 0 ? finish_counts(s, header, err) : rc;
}
