/* SPDX-License-Identifier: BSD-3-Clause */
/* A cursor gives the same results as its cache. */
#include "mempool_support.h"

TEST(a_cursor_moves_what_get_and_put_would)
{
	struct hone_mempool *pool = pool_of(1300, 100, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_cursor cursor;
	void *objs[1300];

	hone_mempool_cursor_begin(&cursor, c);
	for (size_t i = 0; i < 1300; i++) {
		objs[i] = hone_mempool_cursor_get(&cursor);
		assert_non_null(objs[i]);
	}
	assert_null(hone_mempool_cursor_get(&cursor));
	hone_mempool_cursor_end(&cursor);
	audited(pool, 1300);
	all_different(objs, 1300);
	assert_null(hone_mempool_get(c));
	hone_mempool_cursor_begin(&cursor, c);
	for (size_t i = 0; i < 1300; i++)
		hone_mempool_cursor_put(&cursor, objs[i]);
	hone_mempool_cursor_end(&cursor);
	assert_ptr_equal(hone_mempool_get(c), objs[1299]);
	hone_mempool_put(c, objs[1299]);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/* Bursts of every size, across every edge of a magazine, and of more objects
 * than the pool has. */
TEST(bursts_through_a_cursor_are_all_or_nothing)
{
	struct hone_mempool *pool = pool_of(1000, 100, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_cursor cursor;
	void *objs[2001];

	for (size_t n = 0; n <= 1000; n += 1 + n / 20) {
		size_t got = 0, left = 1000 % (n + !n);

		hone_mempool_cursor_begin(&cursor, c);
		while (n > 0 && hone_mempool_cursor_get_bulk(
					&cursor, objs + got, n) == 0)
			got += n;
		assert_int_equal(
			hone_mempool_cursor_get_bulk(&cursor, objs + got, 0),
			0);
		hone_mempool_cursor_end(&cursor);
		assert_int_equal(got, n ? 1000 - left : 0);
		audited(pool, got);
		all_different(objs, got);
		hone_mempool_cursor_begin(&cursor, c);
		assert_int_equal(hone_mempool_cursor_get_bulk(
					 &cursor, objs + got, 1001 - got),
			-ENOBUFS);
		for (size_t back = 0; back < got; back += n)
			hone_mempool_cursor_put_bulk(&cursor, objs + back, n);
		hone_mempool_cursor_put_bulk(&cursor, objs, 0);
		hone_mempool_cursor_end(&cursor);
		audited(pool, 0);
	}
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/* A cache has at most its cache size loaded, also after bursts. */
TEST(a_cursor_never_holds_more_than_the_cache_size)
{
	struct hone_mempool *pool = pool_of(60, 10, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_cursor cursor;
	void *objs[60];

	for (size_t n = 1; n <= 30; n++) {
		assert_int_equal(hone_mempool_get_bulk(c, objs, 60), 0);
		for (size_t i = 0; i < 60; i += n) {
			hone_mempool_cursor_begin(&cursor, c);
			hone_mempool_cursor_put_bulk(
				&cursor, objs + i, n < 60 - i ? n : 60 - i);
			hone_mempool_cursor_end(&cursor);
			assert_in_range(stats_of(pool).loaded, 0, 10);
		}
		audited(pool, 0);
	}
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/* Single objects and bursts in turns: last in, first out. */
TEST(ones_and_bursts_mix)
{
	struct hone_mempool *pool = pool_of(500, 64, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_cursor cursor;
	void *objs[500];

	hone_mempool_cursor_begin(&cursor, c);
	for (size_t n = 1; n < 200; n++) {
		void *last;

		assert_int_equal(
			hone_mempool_cursor_get_bulk(&cursor, objs, n), 0);
		last = hone_mempool_cursor_get(&cursor);
		assert_non_null(last);
		hone_mempool_cursor_put_bulk(&cursor, objs, n);
		hone_mempool_cursor_put(&cursor, last);
		assert_ptr_equal(hone_mempool_cursor_get(&cursor), last);
		hone_mempool_cursor_put(&cursor, last);
	}
	hone_mempool_cursor_end(&cursor);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

static void
note(int fault, void *object, void *arg)
{
	void **told = arg;

	(void)fault;
	*told = object;
}

/* The debug flavour has no inline path: it checks each object of a burst. */
TEST(the_debug_flavour_sees_a_cursor)
{
	struct hone_mempool_attr attr = attributes(100, 10, 2);
	struct hone_mempool_cursor cursor;
	struct hone_mempool_cache *c;
	struct hone_mempool *pool;
	void *objs[30], *told = NULL;

	attr.flags |= HONE_MEMPOOL_DEBUG;
	attr.on_fault = note;
	attr.on_fault_arg = &told;
	assert_int_equal(hone_mempool_create(&pool, &attr), 0);
	c = opened(pool);
	hone_mempool_cursor_begin(&cursor, c);
	assert_int_equal(hone_mempool_cursor_get_bulk(&cursor, objs, 30), 0);
	hone_mempool_cursor_put_bulk(&cursor, objs, 30);
	assert_null(told);
	hone_mempool_cursor_put_bulk(&cursor, objs + 7, 1);
	assert_ptr_equal(told, objs[7]);
	told = NULL;
	assert_int_equal(hone_mempool_cursor_get_bulk(&cursor, objs, 30), 0);
	assert_null(told);
	hone_mempool_cursor_end(&cursor);
	audited(pool, 30);
	hone_mempool_put_bulk(c, objs, 30);
	hone_mempool_cache_close(c);
	destroyed(pool);
}
