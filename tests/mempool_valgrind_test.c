/* SPDX-License-Identifier: BSD-3-Clause */
/* What valgrind sees of the objects of a pool; it runs this. */
#include <string.h>
#include "mempool_support.h"

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
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

static void
objects_in_the_pool_are_not_to_be_touched(void **state)
{
	struct hone_mempool *pool = pool_of(20, 5, 2);
	struct hone_mempool_cache *c = opened(pool);
	unsigned before = VALGRIND_COUNT_ERRORS;
	unsigned char *objs[20];

	(void)state;
	assert_int_equal(hone_mempool_get_bulk(c, (void **)objs, 20), 0);
	for (int i = 0; i < 20; i++)
		memset(objs[i], i, SIZE);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before);
	assert_true(seen(objs[7] + SIZE));
	hone_mempool_put_bulk(c, (void **)objs, 20);
	assert_true(seen(objs[3]));
	assert_true(seen(objs[3] + SIZE - 1));
	before = VALGRIND_COUNT_ERRORS;
	assert_ptr_equal(hone_mempool_get(c), objs[19]);
	/* and what was written is still there, and defined */
	for (int i = 0; i < SIZE; i++)
		assert_int_equal(objs[19][i], 19);
	hone_mempool_put(c, objs[19]);
	hone_mempool_cache_close(c);
	destroyed(pool);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before);
}

static void
an_object_that_is_put_twice_is_seen(void **state)
{
	struct hone_mempool *pool = pool_of(20, 5, 2);
	struct hone_mempool_cache *c = opened(pool);
	unsigned before = VALGRIND_COUNT_ERRORS;
	void *obj = hone_mempool_get(c);

	(void)state;
	hone_mempool_put(c, obj);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before);
	hone_mempool_put(c, obj);
	assert_int_equal(VALGRIND_COUNT_ERRORS, before + 1);
	assert_ptr_equal(hone_mempool_get(c), obj);
	hone_mempool_cache_close(c);
	assert_int_equal(hone_mempool_destroy(pool), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_in_the_pool_are_not_to_be_touched),
		cmocka_unit_test(an_object_that_is_put_twice_is_seen),
	};

	if (!RUNNING_ON_VALGRIND)
		return support_skip_all("valgrind", "it is not installed");
	return cmocka_run_group_tests_name(
		"mempool-valgrind", tests, NULL, NULL);
}

#else

int
main(void)
{
	return support_skip_all("valgrind", "its headers are not installed");
}

#endif
