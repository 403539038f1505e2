/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the references to each cluster, and compares them with the reference
 * counts of the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "format/qcow2/check.h"

/* A hash table of pages that counts references. */

#define FIRST_BUCKETS 1024

int
qcow2_refs_init(
	struct qcow2_refs *refs, uint64_t clusters, struct image_error *err)
{
	*refs = (struct qcow2_refs){.clusters = clusters};
	refs->buckets = calloc(FIRST_BUCKETS, sizeof(struct qcow2_refs_page *));
	if (!refs->buckets)
		return image_no_memory(err);
	refs->n_buckets = FIRST_BUCKETS;
	return 0;
}

void
qcow2_refs_destroy(struct qcow2_refs *refs)
{
	for (size_t i = 0; i < refs->n_buckets; i++) {
		struct qcow2_refs_page *page = refs->buckets[i];
		while (page) {
			struct qcow2_refs_page *next = page->next;
			free(page);
			page = next;
		}
	}
	free(refs->buckets);
}

/* Fibonacci hashing; the low bits of a product are poor. */
static size_t
bucket_of(const struct qcow2_refs *refs, uint64_t index)
{
	return (size_t)(index * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
	       (refs->n_buckets - 1);
}

static void
insert(struct qcow2_refs *refs, struct qcow2_refs_page *page)
{
	struct qcow2_refs_page **bucket =
		&refs->buckets[bucket_of(refs, page->index)];

	page->next = *bucket;
	*bucket = page;
}

static int
grow(struct qcow2_refs *refs, struct image_error *err)
{
	struct qcow2_refs_page **old = refs->buckets;
	size_t n_old = refs->n_buckets;
	struct qcow2_refs_page **larger =
		calloc(2 * n_old, sizeof(struct qcow2_refs_page *));

	if (!larger)
		return image_no_memory(err);
	refs->buckets = larger;
	refs->n_buckets = 2 * n_old;
	for (size_t i = 0; i < n_old; i++) {
		struct qcow2_refs_page *page = old[i];
		while (page) {
			struct qcow2_refs_page *next = page->next;
			insert(refs, page);
			page = next;
		}
	}
	free(old);
	return 0;
}

static int
add_page(struct qcow2_refs *refs, uint64_t index, struct qcow2_refs_page **out,
	struct image_error *err)
{
	if (refs->n_pages >= QCOW2_REFS_BYTES / sizeof(**out))
		return image_fail(err, NULL, -E2BIG,
			"the check of its metadata needs more than 512 MiB of "
			"memory");
	if (refs->n_pages == refs->n_buckets) {
		int rc = grow(refs, err);
		if (rc < 0)
			return rc;
	}
	struct qcow2_refs_page *page = calloc(1, sizeof(*page));
	if (!page)
		return image_no_memory(err);
	page->index = index;
	insert(refs, page);
	refs->n_pages++;
	*out = page;
	return 0;
}

int
qcow2_refs_get(struct qcow2_refs *refs, uint64_t cluster, uint32_t **out,
	struct image_error *err)
{
	uint64_t index = cluster / QCOW2_REFS_PAGE;
	struct qcow2_refs_page *page = refs->last;

	if (!page || page->index != index) {
		page = refs->buckets[bucket_of(refs, index)];
		while (page && page->index != index)
			page = page->next;
		if (!page) {
			int rc = add_page(refs, index, &page, err);
			if (rc < 0)
				return rc;
		}
		refs->last = page;
	}
	*out = &page->clusters[cluster % QCOW2_REFS_PAGE];
	return 0;
}

static int
compare_pages(const void *a, const void *b)
{
	const struct qcow2_refs_page *x =
		*(const struct qcow2_refs_page *const *)a;
	const struct qcow2_refs_page *y =
		*(const struct qcow2_refs_page *const *)b;
	return (x->index > y->index) - (x->index < y->index);
}

struct qcow2_refs_page **
qcow2_refs_sorted(const struct qcow2_refs *refs)
{
	size_t n = 0;
	struct qcow2_refs_page **list =
		malloc(refs->n_pages * sizeof(struct qcow2_refs_page *) + 1);

	if (!list)
		return NULL;
	for (size_t i = 0; i < refs->n_buckets; i++)
		for (struct qcow2_refs_page *page = refs->buckets[i]; page;
			page = page->next)
			list[n++] = page;
	qsort(list, n, sizeof(struct qcow2_refs_page *), compare_pages);
	return list;
}

/* Bits 0 to 8 of an entry of the refcount table are reserved. */
#define RESERVED UINT64_C(0x1ff)

/* Called for each count that is not 0. */
typedef int (*count_fn)(struct qcow2_check *k, uint64_t cluster, uint64_t count,
	struct image_error *err);

/* A refcount block that is being visited. */
struct block {
	uint64_t first_cluster;
	count_fn count;
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
visit_block(struct qcow2_check *k, void *opaque, uint64_t index,
	uint64_t *words, size_t n, struct image_error *err)
{
	const struct block *block = opaque;
	unsigned order = k->q.header.refcount_order;
	unsigned per_word = 64u >> order;

	for (size_t i = 0; i < n; i++) {
		for (unsigned j = 0; words[i] && j < per_word; j++) {
			uint64_t count = count_at(words[i], order, j);
			uint64_t cluster = block->first_cluster +
					   (index + i) * per_word + j;
			/* QEMU also ignores counts past the end */
			if (count == 0 || cluster >= k->refs.clusters)
				continue;
			int rc = block->count(k, cluster, count, err);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/*
 * Returns whether an entry is a valid offset of a block. Notes a fault if not.
 */
static bool
is_block(struct qcow2_check *k, uint64_t index, uint64_t entry)
{
	const struct image_store *store = k->q.base.store;

	if ((entry & RESERVED) || entry % k->q.base.unit != 0)
		qcow2_fault(k, QCOW2_TEST_WELL_FORMED,
			"refcount table entry %" PRIu64 ", 0x%016" PRIx64
			", is not a multiple of the cluster size %" PRIu64,
			index, entry, k->q.base.unit);
	else if (entry > store->size || store->size - entry < k->q.base.unit)
		qcow2_fault(k, QCOW2_TEST_WELL_FORMED,
			"refcount block at 0x%" PRIx64 " of refcount table "
			"entry %" PRIu64 " lies past the end of the file "
			"(%" PRIu64 " bytes)",
			entry, index, store->size);
	else
		return true;
	return false;
}

static int
visit_counts(struct qcow2_check *k, uint64_t index, uint64_t offset,
	count_fn count, struct image_error *err)
{
	unsigned bits =
		k->q.header.cluster_bits + 3 - k->q.header.refcount_order;
	struct block block = {index << bits, count};
	uint64_t *words = k->words;

	/* No overflow above: the index has 20 bits, `bits` is at most 24. */
	k->words = words + QCOW2_CHECK_BYTES / 8;
	int rc = qcow2_check_words(
		k, offset, k->q.base.unit / 8, visit_block, &block, err);
	k->words = words;
	return rc;
}

static int
note_one(struct qcow2_check *k, uint64_t cluster, uint64_t count,
	struct image_error *err)
{
	uint32_t *refs;

	if (count != 1)
		return 0;
	int rc = qcow2_refs_get(&k->refs, cluster, &refs, err);
	if (rc == 0)
		*refs |= QCOW2_REFS_ONE;
	return rc;
}

/* Mark the block, so that its counts are compared later. */
static int
read_block(struct qcow2_check *k, uint64_t index, uint64_t offset,
	struct image_error *err)
{
	uint32_t *refs;
	int rc = qcow2_refs_get(
		&k->refs, offset >> k->q.header.cluster_bits, &refs, err);

	if (rc < 0)
		return rc;
	*refs |= QCOW2_REFS_VISITED;
	return visit_counts(k, index, offset, note_one, err);
}

static int
use_blocks(struct qcow2_check *k, void *opaque, uint64_t index, uint64_t *words,
	size_t n, struct image_error *err)
{
	(void)opaque;
	for (size_t i = 0; i < n; i++) {
		bool clash = false;
		if (words[i] == 0 || !is_block(k, index + i, words[i]))
			continue;
		int rc = qcow2_check_use(k, QCOW2_USE_REFCOUNT_BLOCK, words[i],
			k->q.base.unit, 1, false, &clash, err);
		if (rc == 0 && !clash)
			rc = read_block(k, index + i, words[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
qcow2_check_read_counts(struct qcow2_check *k, struct image_error *err)
{
	return qcow2_check_words(k, k->q.header.refcount_table_offset,
		k->q.header.refcount_table_bytes / 8, use_blocks, NULL, err);
}

static void
too_low(struct qcow2_check *k, uint64_t cluster, uint64_t count, uint32_t entry)
{
	qcow2_fault(k, QCOW2_TEST_REFCOUNTS,
		"reference count %" PRIu64 " of the cluster at 0x%" PRIx64
		" is less than its references (%" PRIu32 ")",
		count, cluster << k->q.header.cluster_bits,
		qcow2_refs_count(entry));
}

static int
compare(struct qcow2_check *k, uint64_t cluster, uint64_t count,
	struct image_error *err)
{
	uint32_t *refs;
	int rc = qcow2_refs_get(&k->refs, cluster, &refs, err);

	if (rc < 0)
		return rc;
	*refs |= QCOW2_REFS_COMPARED;
	if (count > qcow2_refs_count(*refs))
		k->leaked++;
	else if (count < qcow2_refs_count(*refs))
		too_low(k, cluster, count, *refs);
	return 0;
}

static int
compare_blocks(struct qcow2_check *k, void *opaque, uint64_t index,
	uint64_t *words, size_t n, struct image_error *err)
{
	unsigned bits = k->q.header.cluster_bits;

	(void)opaque;
	for (size_t i = 0; i < n; i++) {
		uint32_t *refs;
		if (words[i] == 0 || words[i] % k->q.base.unit != 0 ||
			words[i] >> bits >= k->refs.clusters)
			continue;
		int rc = qcow2_refs_get(&k->refs, words[i] >> bits, &refs, err);
		if (rc < 0)
			return rc;
		if (qcow2_refs_use(*refs) != QCOW2_USE_REFCOUNT_BLOCK ||
			!(*refs & QCOW2_REFS_VISITED))
			continue;
		/* only once: another entry may have the same block */
		*refs &= ~QCOW2_REFS_VISITED;
		rc = visit_counts(k, index + i, words[i], compare, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * Note a used cluster without a count, and a cluster with more references than
 * the image has states.
 */
static void
compare_rest(struct qcow2_check *k, uint64_t cluster, uint32_t entry)
{
	uint64_t offset = cluster << k->q.header.cluster_bits;
	uint32_t count = qcow2_refs_count(entry);
	enum qcow2_use use = qcow2_refs_use(entry);

	if (count && !(entry & QCOW2_REFS_COMPARED) &&
		cluster < k->refs.clusters)
		too_low(k, cluster, 0, entry);
	if ((use == QCOW2_USE_L2 || use == QCOW2_USE_DATA) &&
		count > k->q.n_snapshots + 1)
		qcow2_fault(k, QCOW2_TEST_OVERLAPS,
			"cluster at 0x%" PRIx64 " has %" PRIu32
			" references, but the image has only %s",
			offset, count,
			IMAGE_COUNT(k->q.n_snapshots + 1, "state"));
}

int
qcow2_check_compare_counts(struct qcow2_check *k, struct image_error *err)
{
	int rc = qcow2_check_words(k, k->q.header.refcount_table_offset,
		k->q.header.refcount_table_bytes / 8, compare_blocks, NULL,
		err);

	if (rc < 0)
		return rc;
	struct qcow2_refs_page **pages = qcow2_refs_sorted(&k->refs);
	if (!pages)
		return image_no_memory(err);
	for (size_t i = 0; i < k->refs.n_pages; i++)
		for (size_t j = 0; j < QCOW2_REFS_PAGE; j++)
			if (pages[i]->clusters[j])
				compare_rest(k,
					pages[i]->index * QCOW2_REFS_PAGE + j,
					pages[i]->clusters[j]);
	free(pages);
	return 0;
}
