/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table of pages that counts references. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/qcow2/check_refs.h"

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
