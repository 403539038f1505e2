/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of references: it grows, stays in order, and has a bound. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/qcow2/check.h"
#include "support.h"

/* Three times as many pages as the first table of buckets has. */
#define PAGES 3072

/* Clusters in no order, each on a page of its own. */
static uint64_t
cluster_of(uint64_t i)
{
	return (i * 1021 % PAGES) * QCOW2_REFS_PAGE * 3 + i % QCOW2_REFS_PAGE;
}

static uint32_t *
get(struct qcow2_refs *refs, uint64_t cluster)
{
	struct image_error err;
	uint32_t *entry;

	assert_int_equal(qcow2_refs_get(refs, cluster, &entry, &err), 0);
	return entry;
}

TEST(every_entry_is_kept)
{
	struct qcow2_refs refs;
	struct image_error err;

	assert_int_equal(qcow2_refs_init(&refs, UINT64_MAX, &err), 0);
	for (uint64_t i = 0; i < PAGES; i++)
		*get(&refs, cluster_of(i)) = (uint32_t)i + 1;
	assert_int_equal(refs.n_pages, PAGES);
	for (uint64_t i = 0; i < PAGES; i++)
		assert_int_equal(*get(&refs, cluster_of(i)), i + 1);
	assert_int_equal(refs.n_pages, PAGES);
	/* a neighbour on the same page */
	assert_int_equal(*get(&refs, cluster_of(0) + 1), 0);
	assert_int_equal(refs.n_pages, PAGES);

	struct qcow2_refs_page **pages = qcow2_refs_sorted(&refs);
	assert_non_null(pages);
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(pages[i]->index, 3 * i);
	free(pages);
	qcow2_refs_destroy(&refs);
}

TEST(the_map_has_a_bound)
{
	struct qcow2_refs refs;
	struct image_error err;
	uint32_t *entry;

	assert_int_equal(qcow2_refs_init(&refs, UINT64_MAX, &err), 0);
	*get(&refs, 7) = 1;
	refs.n_pages = QCOW2_REFS_BYTES / sizeof(struct qcow2_refs_page);
	assert_int_equal(
		qcow2_refs_get(&refs, QCOW2_REFS_PAGE, &entry, &err), -E2BIG);
	assert_non_null(strstr(err.text, "more than 512 MiB"));
	/* what it has can still be looked up */
	assert_int_equal(*get(&refs, 7), 1);
	qcow2_refs_destroy(&refs);
}
