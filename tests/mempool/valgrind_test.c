/* SPDX-License-Identifier: BSD-3-Clause */
/* What valgrind sees of the objects of a pool; valgrind runs this program. */
#include "mempool_support.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

#ifdef RUNNING_ON_VALGRIND

#define SIZE 24 /* of the objects of pool_of() */

static bool
seen(volatile unsigned char *byte)
{
	unsigned before = VALGRIND_COUNT_ERRORS;

	*byte = 1;
	return VALGRIND_COUNT_ERRORS == before + 1;
}

TEST(objects_in_the_pool_are_not_to_be_touched)
{
	struct hone_mempool *pool = pool_of(20, 5, 2);
	struct hone_mempool_cache *c = opened(pool);
	unsigned before = VALGRIND_COUNT_ERRORS;
	unsigned char *objs[20];

	assert_ok(hone_mempool_get_bulk(c, (void **)objs, 20));
	for (int i = 0; i < 20; i++)
		memset(objs[i], i, SIZE);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before);
	assert_true(seen(objs[7] + SIZE));
	hone_mempool_put_bulk(c, (void **)objs, 20);
	assert_true(seen(objs[3]));
	assert_true(seen(objs[3] + SIZE - 1));
	before = VALGRIND_COUNT_ERRORS;
	assert_ptr_equal(hone_mempool_get(c), objs[19]);
	/* and the data is still there, and defined */
	for (int i = 0; i < SIZE; i++)
		assert_int_equal(objs[19][i], 19);
	hone_mempool_put(c, objs[19]);
	closed_and_destroyed(pool, c);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before);
}

TEST(an_object_that_is_put_twice_is_seen)
{
	struct hone_mempool *pool = pool_of(20, 5, 2);
	struct hone_mempool_cache *c = opened(pool);
	unsigned before = VALGRIND_COUNT_ERRORS;
	void *obj = hone_mempool_get(c);

	hone_mempool_put(c, obj);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before);
	hone_mempool_put(c, obj);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before + 1);
	assert_ptr_equal(hone_mempool_get(c), obj);
	hone_mempool_cache_close(c);
	assert_ok(hone_mempool_destroy(pool));
}

/* The pool itself would report each write, too. */
POOL_TEST(in_the_debug_flavour_valgrind_alone_reports_writes,
	flagged_pool(HONE_MEMPOOL_DEBUG, 20, 5, 2))
{
	struct hone_mempool_findings findings;
	unsigned char *obj = hone_mempool_get(c);

	assert_true(seen(obj + SIZE));
	assert_true(seen(obj - 1));
	hone_mempool_put(c, obj);
	assert_true(seen(obj));
	hone_mempool_audit(pool, &findings, NULL, NULL);
	assert_int_equal(findings.damaged, 0);
	/* without a handler of faults, a report of the pool would abort */
	assert_ptr_equal(hone_mempool_get(c), obj);
	hone_mempool_put(c, obj);
}

/* Returns an exit status: assertions of cmocka would not end the test. */
static int
child(struct hone_mempool *pool, unsigned char *out, unsigned char *in)
{
	struct hone_mempool_cache *c;
	unsigned char *obj;
	unsigned before;

	if (hone_mempool_after_fork(pool) != 1 || !seen(in) ||
		hone_mempool_cache_open(pool, &c) != 0)
		return 1;
	before = VALGRIND_COUNT_ERRORS;
	obj = hone_mempool_get(c);
	*out = *obj = 1;
	if (VALGRIND_COUNT_ERRORS != before)
		return 2;
	hone_mempool_put(c, out);
	hone_mempool_put(c, obj);
	return seen(out) && seen(obj) ? 0 : 3;
}

POOL_TEST(in_a_child_objects_are_watched_as_before, pool_of(20, 5, 2))
{
	unsigned char *out = hone_mempool_get(c), *in = hone_mempool_get(c);

	hone_mempool_put(c, in);
	PASSES_IN_CHILD(child(pool, out, in));
	hone_mempool_put(c, out);
}

int
main(void)
{
	if (!RUNNING_ON_VALGRIND)
		return support_skip_all("valgrind", "it is not installed");
	return run_all_tests(NULL, NULL);
}

#else

int
main(void)
{
	return support_skip_all("valgrind", "its headers are not installed");
}

#endif
