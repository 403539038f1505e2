/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the metadata of a qcow2 image. References are counted in a sparse map
 * of the file's clusters and compared with the reference counts of the file.
 *
 * Each table is read at most twice, however many entries refer to the table.
 * Holes of the file are not read. So the time grows with the allocated bytes of
 * the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <hone/zero.h>
#include "format/source.h"
#include "format/qcow2/check.h"

/* In the order of the report. */
enum test {
	WELL_FORMED,
	BACKING_FILE,
	DATA_FILE,
	UNKNOWN_FEATURES,
	ENCRYPTION,
	CORRUPT,
	SNAPSHOTS,
	BITMAPS,
	OVERLAPS,
	REFCOUNTS,
	COPIED,
	LEAKS,
	TESTS
};

/* The use of a cluster. */
enum use {
	UNUSED,
	HEADER,
	REFCOUNT_TABLE,
	REFCOUNT_BLOCK,
	L1_TABLE,
	L2_TABLE,
	SNAPSHOT_TABLE,
	ENCRYPTION_HEADER,
	DIRECTORY,
	BITMAP_TABLE,
	BITMAP,
	DATA,
	COMPRESSED
};

static const char *const use_names[] = {
	[HEADER] = "header",
	[REFCOUNT_TABLE] = "refcount table",
	[REFCOUNT_BLOCK] = "refcount block",
	[L1_TABLE] = "L1 table",
	[L2_TABLE] = "L2 table",
	[SNAPSHOT_TABLE] = "snapshot table",
	[ENCRYPTION_HEADER] = "encryption header",
	[DIRECTORY] = "bitmap directory",
	[BITMAP_TABLE] = "bitmap table",
	[BITMAP] = "cluster of a bitmap",
	[DATA] = "data cluster",
	[COMPRESSED] = "compressed cluster",
};

/* A cluster in the map: references, at most REFS_MAX, its use, and flags. */
#define REFS_MAX UINT32_C(0x00ffffff)
#define USE_SHIFT 24
/* the active state uses it */
#define ACTIVE (UINT32_C(1) << 28)
/* its reference count in the file is 1 */
#define ONE (UINT32_C(1) << 29)
/* an L2 table that was visited, a refcount block that was read */
#define VISITED (UINT32_C(1) << 30)
/* its reference count was compared */
#define COMPARED (UINT32_C(1) << 31)

static enum use
use_of(uint32_t refs)
{
	return (enum use)(refs >> USE_SHIFT & 15);
}

struct check {
	/* with header, geometry and snapshots; the L1 table is not loaded */
	struct qcow2_source q;
	struct image_verdict *verdict;
	struct image_error *err;
	struct qcow2_refs refs;
	/* of the file, the last of which may be cut */
	uint64_t clusters;
	struct finding {
		uint64_t faults;
		/* of the first fault */
		char text[256];
	} findings[TESTS];
	/* 0: the L1 table of the active state; n: of snapshot n - 1. True if
	 * the table overlaps other data, so that its entries are invalid */
	bool *bad_l1;
	uint64_t n_l2;
	uint64_t n_data;
	uint64_t n_compressed;
	uint64_t leaked;
};

__attribute__((format(printf, 3, 4))) static void
fault(struct check *k, enum test test, const char *format, ...)
{
	struct finding *finding = &k->findings[test];
	va_list args;

	if (finding->faults++)
		return;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

/* Note a fault with the message of k->err, and return 0, if rc is -EINVAL.
 * Returns rc otherwise. */
static int
note(struct check *k, enum test test, int rc)
{
	if (rc != -EINVAL)
		return rc;
	fault(k, test, "%s", k->err->text);
	return 0;
}

/* Returns the entry of a cluster in the map; NULL with an error in *rc. */
static uint32_t *
refs_of(struct check *k, uint64_t offset, int *rc)
{
	uint32_t *refs = NULL;

	*rc = qcow2_refs_get(
		&k->refs, offset >> k->q.header.cluster_bits, &refs, k->err);
	return refs;
}

/* Most bytes of a table that are read at a time. */
#define PIECE ((uint64_t)64 << 10)

/* Called for an entry that is not 0, of one word or two. */
typedef int visit_fn(struct check *k, const void *opaque, uint64_t index,
	const uint64_t *entry);

/* Visit the entries of `length` bytes of a table. */
static int
visit_piece(struct check *k, uint64_t *words, size_t length, unsigned step,
	uint64_t index, visit_fn *visit, const void *opaque)
{
	int rc = 0;

	if (hone_buffer_is_zero(words, length))
		return 0;
	for (size_t i = 0; rc == 0 && i < length / 8; i += step) {
		uint64_t any = 0;
		for (unsigned j = 0; j < step; j++)
			any |= words[i + j] = be64toh(words[i + j]);
		if (any)
			rc = visit(k, opaque, index + i / step, words + i);
	}
	return rc;
}

/* Visit the entries of a table, of `step` words each. */
static int
visit_table(struct check *k, uint64_t offset, uint64_t entries, unsigned step,
	visit_fn *visit, const void *opaque)
{
	struct image_store *store = k->q.base.store;
	uint64_t bytes = entries * step * 8, length;
	uint64_t *words = malloc((size_t)(bytes < PIECE ? bytes : PIECE) + 1);
	int rc = 0;

	if (!words)
		return image_no_memory(k->err);
	for (uint64_t done = 0; rc == 0 && done < bytes; done += length) {
		bool hole;
		/* up to the end of the file, for the next tables */
		rc = image_store_extent(store, offset + done,
			store->size - (offset + done), &length, &hole, k->err);
		if (rc < 0)
			break;
		/* An entry that is only partly in a hole is data. */
		if (length >= bytes - done) {
			length = bytes - done;
		} else if ((length &= ~UINT64_C(15)) == 0) {
			length = bytes - done < 16 ? bytes - done : 16;
			hole = false;
		}
		if (hole)
			continue;
		length = length < PIECE ? length : PIECE;
		rc = image_store_read(
			store, offset + done, words, (size_t)length, k->err);
		if (rc == 0)
			rc = visit_piece(k, words, (size_t)length, step,
				done / 8 / step, visit, opaque);
	}
	free(words);
	return rc;
}

/*
 * Returns true, and notes a fault, if the new use of the cluster conflicts with
 * its present use. Several states of the disk, or several compressed clusters,
 * may share a cluster.
 */
static bool
overlaps(struct check *k, uint32_t refs, enum use use, uint64_t offset,
	bool active)
{
	enum use other = use_of(refs);
	bool shared = use == L2_TABLE || use == DATA || use == COMPRESSED;

	if (other == UNUSED)
		return false;
	if (other != use || !shared)
		fault(k, OVERLAPS, "%s at 0x%" PRIx64 " overlaps %s %s",
			use_names[use], offset,
			*use_names[other] == 'L' ? "an" : "a",
			use_names[other]);
	else if (active && (refs & ACTIVE) && use != COMPRESSED)
		fault(k, OVERLAPS,
			"%s at 0x%" PRIx64 " is used twice by the disk",
			use_names[use], offset);
	else
		return false;
	return true;
}

/*
 * Count `times` references to each cluster of a range, and note overlaps.
 * *clash, which may be NULL, is set if there are any.
 */
static int
count_use(struct check *k, enum use use, uint64_t offset, uint64_t bytes,
	uint32_t times, bool active, bool *clash)
{
	unsigned bits = k->q.header.cluster_bits;
	uint64_t end = bytes ? ((offset + bytes - 1) >> bits) + 1 : 0;

	for (uint64_t i = offset >> bits; i < end; i++) {
		int rc;
		uint32_t *refs = refs_of(k, i << bits, &rc);
		if (!refs)
			return rc;
		if (!overlaps(k, *refs, use, i << bits, active))
			*refs |= (uint32_t)use << USE_SHIFT |
				 (active ? ACTIVE : 0);
		else if (clash)
			*clash = true;
		if (times > REFS_MAX - (*refs & REFS_MAX))
			return image_fail(k->err, k->q.base.store->name, -E2BIG,
				"cluster at 0x%" PRIx64 " is used more than "
				"16777215 times",
				i << bits);
		*refs += times;
	}
	return 0;
}

/* A table that lies outside the file is a fault of a test. */
static int
count_table(struct check *k, enum test test, enum use use, uint64_t offset,
	uint64_t bytes, bool *clash)
{
	*clash = true;
	int rc = qcow2_refuse_outside(k->q.base.store, &k->q.header,
		use_names[use], offset, bytes, k->err);
	if (rc < 0)
		return note(k, test, rc);
	*clash = false;
	return count_use(k, use, offset, bytes, 1, false, clash);
}

/* Count the tables that the header and the snapshot table refer to. */
static int
check_tables(struct check *k)
{
	const struct qcow2_header *h = &k->q.header;
	bool clash;

	int rc = count_use(k, HEADER, 0, k->q.base.unit, 1, false, NULL);
	if (rc == 0)
		rc = count_use(k, REFCOUNT_TABLE, h->refcount_table_offset,
			h->refcount_table_bytes, 1, false, NULL);
	if (rc == 0)
		rc = count_use(k, L1_TABLE, h->l1_offset,
			(uint64_t)h->l1_entries * 8, 1, true, &k->bad_l1[0]);
	if (rc == 0)
		rc = count_use(k, SNAPSHOT_TABLE, h->snapshots_offset,
			k->q.snapshots_bytes, 1, false, NULL);
	for (uint32_t i = 0; rc == 0 && i < k->q.n_snapshots; i++) {
		const struct qcow2_snapshot *s = &k->q.snapshots[i];
		if (s->l1_entries < qcow2_l1_entries(s->disk_size,
					    h->cluster_bits, k->q.extended))
			fault(k, SNAPSHOTS,
				"L1 table of snapshot %u has %s, too few for a "
				"disk of %s",
				i, IMAGE_COUNT(s->l1_entries, "entry"),
				IMAGE_COUNT(s->disk_size, "byte"));
		rc = count_use(k, L1_TABLE, s->l1_offset,
			(uint64_t)s->l1_entries * 8, 1, false,
			&k->bad_l1[i + 1]);
	}
	if (rc == 0 && h->encryption_header)
		rc = count_table(k, WELL_FORMED, ENCRYPTION_HEADER,
			h->encryption_offset, h->encryption_bytes, &clash);
	return rc;
}

/* Called for each count that is not 0. */
typedef int count_fn(struct check *k, uint64_t offset, uint64_t count);

/* A refcount block that is being visited. */
struct block {
	/* its first count is that of this cluster */
	uint64_t first;
	count_fn *count;
};

/*
 * Returns count number n of a word of the file, which was read as a big-endian
 * number. Counts narrower than a byte begin at the lowest bit of their byte.
 */
static uint64_t
count_at(uint64_t word, unsigned order, unsigned n)
{
	unsigned bits = 1u << order;

	if (order == 6)
		return word;
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	if (order >= 3)
		return word >> (64 - (n + 1) * bits) & mask;
	unsigned byte = n >> (3 - order);
	unsigned in_byte = n & ((1u << (3 - order)) - 1);
	return word >> (56 - 8 * byte + in_byte * bits) & mask;
}

static int
visit_counts(struct check *k, const void *opaque, uint64_t index,
	const uint64_t *word)
{
	const struct block *block = opaque;
	unsigned order = k->q.header.refcount_order;
	unsigned per_word = 64u >> order;
	uint64_t cluster = block->first + index * per_word;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < per_word; i++, cluster++) {
		uint64_t count = count_at(*word, order, i);
		/* QEMU also ignores counts past the end */
		if (count && cluster < k->clusters)
			rc = block->count(
				k, cluster << k->q.header.cluster_bits, count);
	}
	return rc;
}

static int
visit_block(struct check *k, uint64_t index, uint64_t offset, count_fn *count)
{
	/* No overflow: the index has 20 bits, the shift is at most 24. */
	struct block block = {index << (k->q.header.cluster_bits + 3 -
					k->q.header.refcount_order),
		count};

	return visit_table(
		k, offset, k->q.base.unit / 8, 1, visit_counts, &block);
}

static int
note_one(struct check *k, uint64_t offset, uint64_t count)
{
	int rc = 0;
	uint32_t *refs = count == 1 ? refs_of(k, offset, &rc) : NULL;

	if (refs)
		*refs |= ONE;
	return rc;
}

/* Read a refcount block. It is marked, so that its counts are compared later.
 */
static int
read_block(struct check *k, const void *opaque, uint64_t index,
	const uint64_t *entry)
{
	uint64_t size = k->q.base.store->size, unit = k->q.base.unit;
	bool clash = false;

	(void)opaque;
	if (*entry % unit) {
		fault(k, WELL_FORMED,
			"refcount table entry %" PRIu64 ", 0x%016" PRIx64
			", is not a multiple of the cluster size %" PRIu64,
			index, *entry, unit);
		return 0;
	}
	if (*entry > size || size - *entry < unit) {
		fault(k, WELL_FORMED,
			"refcount block at 0x%" PRIx64 " of refcount table "
			"entry %" PRIu64 " lies past the end of the file "
			"(%" PRIu64 " bytes)",
			*entry, index, size);
		return 0;
	}
	int rc = count_use(k, REFCOUNT_BLOCK, *entry, unit, 1, false, &clash);
	if (rc < 0 || clash)
		return rc;
	uint32_t *refs = refs_of(k, *entry, &rc);
	if (!refs)
		return rc;
	*refs |= VISITED;
	return visit_block(k, index, *entry, note_one);
}

static void
too_low(struct check *k, uint64_t offset, uint64_t count, uint32_t refs)
{
	fault(k, REFCOUNTS,
		"reference count %" PRIu64 " of the cluster at 0x%" PRIx64
		" is less than its references (%u)",
		count, offset, refs & REFS_MAX);
}

static int
compare(struct check *k, uint64_t offset, uint64_t count)
{
	int rc;
	uint32_t *refs = refs_of(k, offset, &rc);

	if (!refs)
		return rc;
	*refs |= COMPARED;
	if (count > (*refs & REFS_MAX))
		k->leaked++;
	else if (count < (*refs & REFS_MAX))
		too_low(k, offset, count, *refs);
	return 0;
}

static int
compare_block(struct check *k, const void *opaque, uint64_t index,
	const uint64_t *entry)
{
	int rc;

	(void)opaque;
	if (*entry % k->q.base.unit ||
		*entry >> k->q.header.cluster_bits >= k->clusters)
		return 0;
	uint32_t *refs = refs_of(k, *entry, &rc);
	if (!refs || use_of(*refs) != REFCOUNT_BLOCK || !(*refs & VISITED))
		return rc;
	/* only once: another entry may have the same block */
	*refs &= ~VISITED;
	return visit_block(k, index, *entry, compare);
}

static int
visit_blocks(struct check *k, visit_fn *visit)
{
	return visit_table(k, k->q.header.refcount_table_offset,
		k->q.header.refcount_table_bytes / 8, 1, visit, NULL);
}

/*
 * Note a used cluster without a count, and a cluster with more references than
 * the image has states.
 */
static void
compare_rest(struct check *k, uint64_t cluster, uint32_t refs)
{
	uint64_t offset = cluster << k->q.header.cluster_bits;
	uint32_t count = refs & REFS_MAX, states = k->q.n_snapshots + 1;

	if (count && !(refs & COMPARED) && cluster < k->clusters)
		too_low(k, offset, 0, refs);
	if ((use_of(refs) == L2_TABLE || use_of(refs) == DATA) &&
		count > states)
		fault(k, OVERLAPS,
			"cluster at 0x%" PRIx64 " has %u references, but the "
			"image has only %s",
			offset, count, IMAGE_COUNT(states, "state"));
}

static int
compare_counts(struct check *k)
{
	int rc = visit_blocks(k, compare_block);
	if (rc < 0)
		return rc;
	struct qcow2_refs_page **pages = qcow2_refs_sorted(&k->refs);
	if (!pages)
		return image_no_memory(k->err);
	for (size_t i = 0; i < k->refs.n_pages; i++)
		for (size_t j = 0; j < QCOW2_REFS_PAGE; j++)
			if (pages[i]->clusters[j])
				compare_rest(k,
					pages[i]->index * QCOW2_REFS_PAGE + j,
					pages[i]->clusters[j]);
	free(pages);
	return 0;
}

/* A state of the disk, whose L1 table is being visited. */
struct state {
	char name[48];
	bool active;
	/* called for each L2 table at offset */
	int (*visit)(struct check *k, const struct state *state, uint64_t index,
		uint64_t entry, uint64_t offset);
};

static int
visit_l1(struct check *k, const void *opaque, uint64_t index,
	const uint64_t *entry)
{
	const struct state *state = opaque;
	uint64_t offset;

	int rc = qcow2_parse_l1_entry(
		&k->q, state->name, index, *entry, &offset, k->err);
	return rc < 0 ? note(k, WELL_FORMED, rc)
		      : state->visit(k, state, index, *entry, offset);
}

/* Visit the L1 tables of all states with `state`, first that of the active
 * one. */
static int
each_state(struct check *k, struct state state)
{
	const struct qcow2_source *q = &k->q;
	int rc = 0;

	state.active = true;
	snprintf(state.name, sizeof(state.name), "L1 table");
	if (!k->bad_l1[0])
		rc = visit_table(k, q->header.l1_offset, q->header.l1_entries,
			1, visit_l1, &state);
	state.active = false;
	for (uint32_t i = 0; rc == 0 && i < q->n_snapshots; i++) {
		snprintf(state.name, sizeof(state.name),
			"L1 table of snapshot %u", i);
		if (!k->bad_l1[i + 1])
			rc = visit_table(k, q->snapshots[i].l1_offset,
				q->snapshots[i].l1_entries, 1, visit_l1,
				&state);
	}
	return rc;
}

/* Note a fault if bit 63 of an active entry contradicts the reference count. */
static int
check_copied(struct check *k, enum use use, uint64_t entry, uint64_t offset)
{
	int rc;
	uint32_t *refs = refs_of(k, offset, &rc);

	if (!refs)
		return rc;
	bool copied = entry & QCOW2_ENTRY_COPIED;
	bool one = *refs & ONE;
	if (copied != one)
		fault(k, COPIED,
			"bit 63 of the entry of the %s at 0x%" PRIx64
			" is %d, but its reference count is %s",
			use_names[use], offset, copied, one ? "1" : "not 1");
	return 0;
}

static int
use_l2(struct check *k, const struct state *state, uint64_t index,
	uint64_t entry, uint64_t offset)
{
	(void)index;
	int rc = count_use(
		k, L2_TABLE, offset, k->q.base.unit, 1, state->active, NULL);
	return rc == 0 && state->active
		       ? check_copied(k, L2_TABLE, entry, offset)
		       : rc;
}

/* An L2 table that is being visited. */
struct table {
	/* offset in the disk that its first entry describes */
	uint64_t guest;
	/* L1 tables that refer to it */
	uint32_t times;
	bool active;
};

/* Count a cluster that lies in the image itself. */
static int
use_cluster(struct check *k, const struct table *table, uint64_t entry,
	uint64_t guest, const struct qcow2_cluster *c)
{
	if (c->compressed) {
		k->n_compressed++;
		return count_use(k, COMPRESSED, c->host, c->stored,
			table->times, table->active, NULL);
	}
	if (c->host == 0)
		return 0;
	k->n_data++;
	/* A cluster that is not read may be the first one past the end of the
	 * file: QEMU writes such entries. */
	if (c->host >> k->q.header.cluster_bits > k->clusters) {
		fault(k, WELL_FORMED,
			"data cluster of guest offset 0x%" PRIx64
			" at 0x%" PRIx64 " lies past the end of the file "
			"(%" PRIu64 " bytes)",
			guest, c->host, k->q.base.store->size);
		return 0;
	}
	int rc = count_use(k, DATA, c->host, k->q.base.unit, table->times,
		table->active, NULL);
	return rc == 0 && table->active ? check_copied(k, DATA, entry, c->host)
					: rc;
}

static int
visit_l2(struct check *k, const void *opaque, uint64_t index,
	const uint64_t *entry)
{
	const struct table *table = opaque;
	uint64_t bitmap = k->q.extended ? entry[1] : 0;
	uint64_t guest = table->guest + (index << k->q.header.cluster_bits);
	struct qcow2_cluster c = {0};

	int rc = qcow2_parse_cluster(&k->q, *entry, bitmap, guest, &c, k->err);
	if (rc < 0)
		return note(k, WELL_FORMED, rc);
	if (!(k->q.header.incompatible & QCOW2_DATA_FILE))
		return use_cluster(k, table, *entry, guest, &c);
	k->n_data += c.allocated != 0;
	return 0;
}

/* Visit each table once for all states that refer to the table. */
static int
use_clusters(struct check *k, const struct state *state, uint64_t index,
	uint64_t entry, uint64_t offset)
{
	int rc;
	uint32_t *refs = refs_of(k, offset, &rc);

	(void)state;
	(void)entry;
	if (!refs || use_of(*refs) != L2_TABLE || (*refs & VISITED))
		return rc;
	*refs |= VISITED;
	k->n_l2++;
	struct table table = {
		.guest = index << (k->q.header.cluster_bits + k->q.l2_bits),
		.times = *refs & REFS_MAX,
		.active = *refs & ACTIVE,
	};
	return visit_table(k, offset, UINT64_C(1) << k->q.l2_bits,
		k->q.extended ? 2 : 1, visit_l2, &table);
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
use_bitmap(struct check *k, const void *opaque, uint64_t index,
	const uint64_t *entry)
{
	uint64_t offset = *entry & QCOW2_ENTRY_OFFSET;

	(void)opaque;
	if (*entry == ALL_ONES)
		return 0;
	if (*entry == offset && offset % k->q.base.unit == 0 &&
		offset >> k->q.header.cluster_bits < k->clusters)
		return count_use(
			k, BITMAP, offset, k->q.base.unit, 1, false, NULL);
	fault(k, BITMAPS,
		"bitmap table entry %" PRIu64 ", 0x%016" PRIx64
		", is not the offset of a cluster of the file",
		index, *entry);
	return 0;
}

static int
check_entry(struct check *k, uint32_t index, const unsigned char *raw)
{
	uint64_t offset = image_be64(raw);
	uint64_t entries = image_be32(raw + 8);
	uint32_t flags = image_be32(raw + 12);
	uint32_t type = raw[16], granularity = raw[17];
	uint32_t name = image_be16(raw + 18);
	const struct {
		const char *name;
		uint32_t value;
		bool valid;
	} fields[] = {
		{"flags", flags, !(flags & ~KNOWN_FLAGS)},
		{"type", type, type == DIRTY_TRACKING},
		{"granularity_bits", granularity,
			granularity >= MIN_GRANULARITY_BITS &&
				granularity <= MAX_GRANULARITY_BITS},
		{"name_size", name, name > 0 && name <= MAX_NAME},
	};
	bool clash;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!fields[i].valid) {
			fault(k, BITMAPS,
				"bitmap directory entry %u has %s %u, which is "
				"not valid",
				index, fields[i].name, fields[i].value);
			return 0;
		}
	int rc = count_table(
		k, BITMAPS, BITMAP_TABLE, offset, entries * 8, &clash);
	return rc < 0 || clash
		       ? rc
		       : visit_table(k, offset, entries, 1, use_bitmap, NULL);
}

static int
check_directory(struct check *k, const unsigned char *raw)
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
			fault(k, BITMAPS,
				"bitmap directory entry %u extends past the "
				"end of the directory, which has %s",
				i, IMAGE_COUNT(b->directory_bytes, "byte"));
			return 0;
		}
		int rc = check_entry(k, i, raw + at);
		if (rc < 0)
			return rc;
		at += length;
	}
	if (at != b->directory_bytes)
		fault(k, BITMAPS,
			"bitmap directory has %" PRIu64 " bytes, but its %s "
			"%s %" PRIu64,
			b->directory_bytes, IMAGE_COUNT(b->count, "entry"),
			b->count == 1 ? "has" : "have", at);
	return 0;
}

/* Note a fault of the extension. Returns true if there is none. */
static bool
has_extension(struct check *k)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;

	if (b->extensions == 0)
		fault(k, BITMAPS,
			"bit 0 of autoclear_features is set (bitmaps), but "
			"there is no bitmaps extension");
	else if (b->extensions > 1)
		fault(k, BITMAPS,
			"header has %u bitmaps extensions, but 1 is allowed",
			b->extensions);
	else if (b->length != EXTENSION_BYTES)
		fault(k, BITMAPS, "bitmaps extension has %s, which is not 24",
			IMAGE_COUNT(b->length, "byte"));
	else if (b->count == 0 || b->count > MAX_BITMAPS)
		fault(k, BITMAPS, "nb_bitmaps %u is not from 1 to 65535",
			b->count);
	else if (b->directory_bytes > MAX_DIRECTORY_BYTES)
		fault(k, BITMAPS,
			"bitmap_directory_size %" PRIu64 " is more than 64 MiB",
			b->directory_bytes);
	else
		return true;
	return false;
}

static int
check_bitmaps(struct check *k)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;
	bool clash;

	/* By the specification, bitmaps without the bit are inconsistent. */
	if (!(k->q.header.autoclear & QCOW2_BITMAPS) || !has_extension(k))
		return 0;
	int rc = count_table(k, BITMAPS, DIRECTORY, b->directory_offset,
		b->directory_bytes, &clash);
	if (rc < 0 || k->findings[BITMAPS].faults)
		return rc;
	unsigned char *raw = malloc((size_t)b->directory_bytes + 1);
	if (!raw)
		return image_no_memory(k->err);
	rc = image_store_read(k->q.base.store, b->directory_offset, raw,
		(size_t)b->directory_bytes, k->err);
	if (rc == 0)
		rc = check_directory(k, raw);
	free(raw);
	return rc;
}

/* Set the text of a test that passed. */
__attribute__((format(printf, 3, 4))) static void
remark(struct check *k, enum test test, const char *format, ...)
{
	struct finding *finding = &k->findings[test];
	va_list args;

	if (finding->faults)
		return;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

static void
report(struct check *k, enum test last)
{
	static const struct {
		const char *name;
		const char *passed;
	} rows[] = {
		[WELL_FORMED] = {"well_formed", ""},
		[BACKING_FILE] = {"backing_file", "none"},
		[DATA_FILE] = {"data_file", "none"},
		[UNKNOWN_FEATURES] = {"unknown_features", "none"},
		[ENCRYPTION] = {"encryption", "none"},
		[CORRUPT] = {"corrupt", "not marked corrupt"},
		[SNAPSHOTS] = {"snapshots", "none"},
		[BITMAPS] = {"bitmaps", "none"},
		[OVERLAPS] = {"overlaps", "none"},
		[REFCOUNTS] = {"refcounts", "no reference count is too low"},
		[COPIED] = {"copied",
			"bit 63 agrees with the reference counts"},
		[LEAKS] = {"leaks", "none"},
	};

	for (enum test i = WELL_FORMED; i <= last; i++) {
		const struct finding *f = &k->findings[i];
		image_verdict_add(k->verdict, rows[i].name, f->faults, "%s",
			f->text[0] ? f->text : rows[i].passed);
	}
}

/* The tests that need only the header. */
static void
check_header(struct check *k)
{
	static const char *const methods[] = {"", "aes", "luks"};
	const struct qcow2_header *h = &k->q.header;
	uint64_t unknown = h->incompatible & ~QCOW2_KNOWN_INCOMPATIBLE;
	char feature[QCOW2_FEATURE_NAME + 32];

	if (h->size % IMAGE_SECTOR)
		fault(k, WELL_FORMED,
			"size %" PRIu64
			" at byte 24 of the header is not a multiple of 512: "
			"QEMU leaves out its last %s",
			h->size, IMAGE_COUNT(h->size % IMAGE_SECTOR, "byte"));
	if (h->backing_file)
		fault(k, BACKING_FILE, "names the backing file '%s'",
			IMAGE_NAME(h->backing_file));
	if ((h->incompatible & QCOW2_DATA_FILE) || h->data_file)
		fault(k, DATA_FILE, "has the external data file '%s'",
			IMAGE_NAME(h->data_file ? h->data_file : ""));
	for (; unknown; unknown &= unknown - 1) {
		qcow2_feature_name(h, (unsigned)__builtin_ctzll(unknown),
			feature, sizeof(feature));
		fault(k, UNKNOWN_FEATURES, "uses the incompatible feature %s",
			feature);
	}
	if (h->crypt_method)
		fault(k, ENCRYPTION, "is encrypted (%s)",
			methods[h->crypt_method]);
	if (h->incompatible & QCOW2_CORRUPT)
		fault(k, CORRUPT,
			"is marked corrupt (bit 1 of incompatible_features)");
}

static int
walk(struct check *k)
{
	uint64_t size = k->q.base.store->size;

	k->clusters = size / k->q.base.unit + (size % k->q.base.unit != 0);
	k->bad_l1 = calloc((size_t)k->q.n_snapshots + 1, sizeof(*k->bad_l1));
	if (!k->bad_l1)
		return image_no_memory(k->err);
	int rc = check_tables(k);
	if (rc == 0)
		rc = visit_blocks(k, read_block);
	if (rc == 0)
		rc = check_bitmaps(k);
	if (rc == 0)
		rc = each_state(k, (struct state){.visit = use_l2});
	if (rc == 0)
		rc = each_state(k, (struct state){.visit = use_clusters});
	if (rc == 0)
		rc = compare_counts(k);
	qcow2_refs_destroy(&k->refs);
	free(k->bad_l1);
	return rc;
}

static void
remark_all(struct check *k)
{
	const struct qcow2_header *h = &k->q.header;
	bool dirty = h->incompatible & QCOW2_DIRTY;
	uint64_t bytes = k->leaked << h->cluster_bits;
	struct finding *refcounts = &k->findings[REFCOUNTS];
	size_t used = strlen(refcounts->text);

	remark(k, WELL_FORMED, "%s, %s, %s", IMAGE_COUNT(k->n_l2, "L2 table"),
		IMAGE_COUNT(k->n_data, "data cluster"),
		IMAGE_COUNT(k->n_compressed, "compressed cluster"));
	if (k->q.n_snapshots)
		remark(k, SNAPSHOTS, "%" PRIu32, k->q.n_snapshots);
	if (h->bitmaps.extensions && !(h->autoclear & QCOW2_BITMAPS))
		remark(k, BITMAPS, "marked inconsistent, ignored");
	else if (h->bitmaps.extensions)
		remark(k, BITMAPS, "%" PRIu32, h->bitmaps.count);
	if (refcounts->faults && dirty)
		snprintf(refcounts->text + used, sizeof(refcounts->text) - used,
			"; the image is marked dirty: QEMU recounts references "
			"when it opens the image for writing");
	if (k->leaked)
		remark(k, LEAKS,
			"leaked clusters: %" PRIu64 " (%" PRIu64 " bytes)",
			k->leaked, bytes);
	k->verdict->checked->leaked_clusters = k->leaked;
	k->verdict->checked->leaked_bytes = bytes;
}

/* Report all tests, or those up to the one that others depend on. */
static int
check_all(struct check *k)
{
	struct image_store *store = k->q.base.store;

	int rc = qcow2_header_read(store, &k->q.header, k->err);
	if (rc == 0)
		rc = qcow2_refuse_tables_outside(store, &k->q.header, k->err);
	if (rc < 0) {
		rc = note(k, WELL_FORMED, rc);
		if (rc == 0)
			report(k, WELL_FORMED);
		return rc;
	}
	check_header(k);
	if (k->findings[UNKNOWN_FEATURES].faults) {
		report(k, CORRUPT);
		return 0;
	}
	qcow2_set_geometry(&k->q);
	rc = qcow2_load_snapshots(&k->q, k->err);
	if (rc < 0) {
		rc = note(k, SNAPSHOTS, rc);
		/* without the snapshots, most clusters would be reported as
		 * leaked */
		if (rc == 0)
			report(k, SNAPSHOTS);
		return rc;
	}
	rc = walk(k);
	if (rc == 0) {
		remark_all(k);
		report(k, LEAKS);
	}
	return rc;
}

int
qcow2_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err)
{
	struct check *k = calloc(1, sizeof(*k));

	if (!k)
		return image_no_memory(err);
	k->q.base.store = store;
	k->q.base.data = store;
	k->verdict = verdict;
	k->err = err;
	int rc = check_all(k);
	qcow2_free_snapshots(&k->q);
	qcow2_header_destroy(&k->q.header);
	free(k);
	return rc;
}
