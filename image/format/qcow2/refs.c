/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table of pages that counts references to the clusters of a file. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include "format/qcow2/check.h"

void
qcow2_refs_destroy(struct qcow2_refs *refs)
{
	struct qcow2_refs_page *page;

	while ((page = refs->newest)) {
		refs->newest = page->older;
		free(page);
	}
}

static int
add_page(struct qcow2_refs *refs, uint64_t index,
	struct qcow2_refs_page **bucket, struct image_error *err)
{
	struct qcow2_refs_page *page;

	if (refs->n_pages >= QCOW2_REFS_BYTES / sizeof(*page))
		return image_fail(err, NULL, -E2BIG,
			"the check of its metadata needs more than 512 MiB of "
			"memory");
	page = calloc(1, sizeof(*page));
	if (!page)
		return image_no_memory(err);
	page->index = index;
	page->next = *bucket;
	*bucket = page;
	page->older = refs->newest;
	refs->newest = page;
	refs->n_pages++;
	return 0;
}

int
qcow2_refs_find(
	struct qcow2_refs *refs, uint64_t index, struct image_error *err)
{
	/* A random factor, so that nobody can choose pages of one bucket; that
	 * of Fibonacci hashing before the kernel has entropy. */
	if (!refs->factor && getrandom(&refs->factor, sizeof(refs->factor),
				     GRND_NONBLOCK) < 0)
		refs->factor = UINT64_C(0x9e3779b97f4a7c15);
	refs->factor |= 1;
	/* The low bits of a product are poor. */
	struct qcow2_refs_page **bucket =
		&refs->buckets[index * refs->factor >>
			       (64 - QCOW2_REFS_BUCKET_BITS)];
	struct qcow2_refs_page *page = *bucket;

	while (page && page->index != index)
		page = page->next;
	int rc = page ? 0 : add_page(refs, index, bucket, err);
	if (rc == 0)
		refs->last = page ? page : *bucket;
	return rc;
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
	for (struct qcow2_refs_page *p = refs->newest; p; p = p->older)
		list[n++] = p;
	qsort(list, n, sizeof(struct qcow2_refs_page *), compare_pages);
	return list;
}
