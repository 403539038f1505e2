/* SPDX-License-Identifier: BSD-3-Clause */
/* What a reserve guarantees, and what happens to it. */
#include "mempool.h"
#include "mempool_support.h"

/* Get all remaining objects through another cache. */
static size_t
drained(struct hone_mempool_cache *c, void **objs)
{
	return hone_mempool_get_burst(c, objs, 1000);
}

TEST(a_reserve_is_there_whatever_others_take)
{
	struct hone_mempool *pool = pool_of(100, 10, 2);
	void *objs[1001], *own[100];

	for (size_t n = 0; n <= 100; n += 1 + n / 7) {
		struct hone_mempool_cache *a = opened(pool), *b = opened(pool);
		size_t others;

		assert_int_equal(hone_mempool_reserve(a, n), 0);
		audited(pool, 0);
		others = drained(b, objs);
		assert_in_range(others, 100 - n > 10 ? 90 - n : 0, 100 - n);
		assert_int_equal(hone_mempool_get_bulk(a, own, n), 0);
		hone_mempool_put_bulk(a, own, n);
		hone_mempool_put_bulk(b, objs, others);
		audited(pool, 0);
		hone_mempool_cache_close(b);
		hone_mempool_cache_close(a);
		audited(pool, 0);
	}
	destroyed(pool);
}

TEST(a_reserve_is_raised_lowered_and_refused)
{
	struct hone_mempool *pool = pool_of(100, 10, 2);
	struct hone_mempool_cache *c = opened(pool), *other = opened(pool);
	void *objs[100];

	assert_int_equal(hone_mempool_reserve(c, 101), -ENOBUFS);
	assert_int_equal(stats_of(pool).reserved, 0);
	assert_int_equal(hone_mempool_reserve(c, 25), 0);
	assert_int_equal(stats_of(pool).reserved, 25);
	assert_int_equal(hone_mempool_reserve(c, 101), -ENOBUFS);
	assert_int_equal(stats_of(pool).reserved, 25);
	assert_int_equal(hone_mempool_reserve(c, 100), 0);
	assert_int_equal(hone_mempool_reserve(c, 5), 0);
	assert_int_equal(stats_of(pool).reserved, 5);
	audited(pool, 0);
	hone_mempool_cache_close(c);
	assert_int_equal(stats_of(pool).reserved, 0);
	assert_int_equal(hone_mempool_get_bulk(other, objs, 100), 0);
	hone_mempool_put_bulk(other, objs, 100);
	hone_mempool_cache_close(other);
	destroyed(pool);
}

TEST(what_is_drawn_from_a_reserve_is_not_replaced)
{
	struct hone_mempool *pool = pool_of(100, 10, 2);
	struct hone_mempool_cache *a = opened(pool), *b = opened(pool);
	void *objs[100], *own[14];
	size_t got;

	assert_int_equal(hone_mempool_reserve(a, 13), 0);
	got = hone_mempool_get_burst(b, objs, 100);
	assert_in_range(got, 77, 87);
	assert_int_equal(hone_mempool_get_bulk(a, objs + got, 87 - got), 0);
	assert_int_equal(stats_of(pool).reserved, 13);
	/* Only the reserve is left. */
	assert_int_equal(hone_mempool_get_bulk(a, own, 14), -ENOBUFS);
	assert_int_equal(stats_of(pool).reserved, 13);
	assert_non_null(own[0] = hone_mempool_get(a));
	assert_int_equal(hone_mempool_get_bulk(a, own + 1, 11), 0);
	assert_int_equal(stats_of(pool).reserved, 1);
	assert_null(hone_mempool_get_magazine(a));
	assert_int_equal(hone_mempool_get_burst(a, own + 12, 2), 1);
	assert_int_equal(stats_of(pool).reserved, 0);
	assert_null(hone_mempool_get(a));
	hone_mempool_put_bulk(a, own, 13);
	assert_int_equal(stats_of(pool).reserved, 0);
	assert_int_equal(hone_mempool_reserve(a, 14), -ENOBUFS);
	assert_int_equal(hone_mempool_reserve(a, 13), 0);
	hone_mempool_put_bulk(b, objs, 87);
	hone_mempool_cache_close(a);
	hone_mempool_cache_close(b);
	destroyed(pool);
}

/*
 * A thread that moves objects while another counts them is stood for by a count
 * that is too large.
 */
TEST(no_more_objects_are_counted_than_there_are)
{
	struct hone_mempool *pool = pool_of(100, 10, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_cache *moving = hone_mempool_cache_at(pool, 0);
	struct hone_mempool_stats stats;

	assert_int_equal(hone_mempool_reserve(c, 20), 0);
	for (size_t extra = 1; extra < 1000; extra *= 3) {
		atomic_fetch_add(&moving->n_reserved, extra);
		assert_int_equal(hone_mempool_available(pool), 100);
		stats = stats_of(pool);
		assert_int_equal(
			stats.shared + stats.loaded + stats.reserved, 100);
		atomic_fetch_sub(&moving->n_reserved, extra);
	}
	hone_mempool_cache_close(c);
	destroyed(pool);
}
