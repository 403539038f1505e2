/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pool promises to one thread. */
#include "mempool.h"
#include "mempool_support.h"

/* Sizes around each edge of a magazine, and capacities that are not
 * multiples. */
static const size_t shapes[][2] = {{1, 1}, {1, 504}, {7, 1}, {8, 8}, {9, 8},
	{10, 3}, {100, 56}, {503, 504}, {504, 504}, {505, 504}, {1511, 504},
	{2000, 57}, {4096, 0}};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

TEST(one_by_one_every_object_comes_once)
{
	for (size_t s = 0; s < N_SHAPES; s++) {
		size_t n = shapes[s][0];
		struct hone_mempool *pool = pool_of(n, shapes[s][1], 2);
		struct hone_mempool_cache *c = opened(pool);
		void **objs = calloc(n, sizeof(*objs));

		assert_non_null(objs);
		for (size_t i = 0; i < n; i++) {
			objs[i] = hone_mempool_get(c);
			assert_non_null(objs[i]);
			memset(objs[i], (int)i, 24);
		}
		assert_null(hone_mempool_get(c));
		all_different(objs, n);
		audited(pool, n);
		for (size_t i = 0; i < n; i++)
			hone_mempool_put(c, objs[i]);
		for (size_t i = n; i-- > 0;)
			assert_ptr_equal(hone_mempool_get(c), objs[i]);
		hone_mempool_put_bulk(c, objs, n);
		hone_mempool_cache_close(c);
		destroyed(pool);
		free(objs);
	}
}

TEST(a_cache_never_holds_more_than_its_size)
{
	struct hone_mempool *pool = pool_of(60, 10, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_cursor cursor;
	void *objs[60];

	for (size_t n = 1; n <= 30; n++) {
		assert_ok(hone_mempool_get_bulk(c, objs, 60));
		for (size_t i = 0; i + n <= 30; i += n) {
			hone_mempool_put_bulk(c, objs + i, n);
			assert_in_range(stats_of(pool).loaded, 0, 10);
		}
		for (size_t i = 30 / n * n; i < 45; i++) {
			hone_mempool_put(c, objs[i]);
			assert_in_range(stats_of(pool).loaded, 0, 10);
		}
		for (size_t i = 45; i < 60; i++) {
			hone_mempool_cursor_begin(&cursor, c);
			hone_mempool_cursor_put(&cursor, objs[i]);
			hone_mempool_cursor_end(&cursor);
			assert_in_range(stats_of(pool).loaded, 0, 10);
		}
		audited(pool, 0);
	}
	hone_mempool_cache_close(c);
	destroyed(pool);
}

TEST(bulk_is_all_or_nothing)
{
	void *objs[4097];

	for (size_t s = 0; s < N_SHAPES; s++) {
		size_t n = shapes[s][0];
		struct hone_mempool *pool = pool_of(n, shapes[s][1], 2);
		struct hone_mempool_cache *c = opened(pool);

		for (size_t k = 0; k <= n && k <= 2048; k += 1 + k / 3) {
			assert_ok(hone_mempool_get_bulk(c, objs, k));
			all_different(objs, k);
			audited(pool, k);
			assert_int_equal(
				hone_mempool_get_bulk(c, objs + k, n - k + 1),
				-ENOBUFS);
			audited(pool, k);
			hone_mempool_put_bulk(c, objs, k);
			audited(pool, 0);
		}
		hone_mempool_cache_close(c);
		destroyed(pool);
	}
}

TEST(burst_takes_what_there_is)
{
	struct hone_mempool *pool = pool_of(1000, 64, 2);
	struct hone_mempool_cache *c = opened(pool);
	void *objs[1001];

	assert_int_equal(hone_mempool_get_burst(c, objs, 0), 0);
	assert_int_equal(hone_mempool_get_burst(c, objs, 10), 10);
	assert_int_equal(hone_mempool_get_burst(c, objs + 10, 991), 990);
	assert_int_equal(hone_mempool_get_burst(c, objs, 5), 0);
	all_different(objs, 1000);
	hone_mempool_put_bulk(c, objs, 1000);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

TEST(nobody_else_loses_more_than_the_cache_size)
{
	struct hone_mempool *pool = pool_of(1000, 50, 4);
	struct hone_mempool_cache *c[4];
	void *objs[1000];

	for (int i = 0; i < 4; i++)
		c[i] = opened(pool);
	/* Each of the other caches puts as much as it can hold. */
	for (int round = 0; round < 3; round++) {
		assert_ok(hone_mempool_get_bulk(c[0], objs, 1000));
		for (int i = 1; i < 4; i++)
			hone_mempool_put_bulk(
				c[i], objs + 333 * (i - 1), 333 + (i == 3));
		assert_in_range(stats_of(pool).loaded, 3, 150);
		assert_ok(hone_mempool_get_bulk(c[0], objs, 850));
		audited(pool, 850);
		hone_mempool_put_bulk(c[0], objs, 850);
		/* and the loaded objects of each cache are available to
		 * itself */
		for (int i = 1; i < 4; i++) {
			assert_ok(hone_mempool_get_bulk(c[i], objs, 850));
			hone_mempool_put_bulk(c[0], objs, 850);
		}
		for (int i = 1; i < 4; i++) {
			hone_mempool_cache_close(c[i]);
			c[i] = opened(pool);
		}
	}
	for (int i = 0; i < 4; i++)
		hone_mempool_cache_close(c[i]);
	destroyed(pool);
}

TEST(closing_a_cache_strands_nothing)
{
	struct hone_mempool *pool = pool_of(1003, 100, 3);
	void *objs[1003];

	/* Leave every number of objects behind, in changing other caches. */
	for (size_t k = 0; k <= 210; k++) {
		struct hone_mempool_cache *a = opened(pool), *b = opened(pool);

		assert_ok(hone_mempool_get_bulk(a, objs, k));
		hone_mempool_put_bulk(b, objs, k);
		hone_mempool_cache_close(k % 2 ? a : b);
		hone_mempool_cache_close(k % 2 ? b : a);
		a = opened(pool);
		assert_ok(hone_mempool_get_bulk(a, objs, 1003));
		all_different(objs, 1003);
		hone_mempool_put_bulk(a, objs, 1003);
		hone_mempool_cache_close(a);
		audited(pool, 0);
	}
	destroyed(pool);
}

TEST(caches_are_counted)
{
	struct hone_mempool *pool = pool_of(10, 2, 2);
	struct hone_mempool_cache *a = opened(pool), *b = opened(pool);
	struct hone_mempool_cache *c = NULL;
	void *obj;

	assert_int_equal(hone_mempool_cache_open(pool, &c), -EAGAIN);
	assert_null(c);
	hone_mempool_cache_close(NULL);
	hone_mempool_cache_close(a);
	assert_ok(hone_mempool_cache_open(pool, &c));
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	hone_mempool_cache_close(b);
	obj = hone_mempool_get(c);
	hone_mempool_cache_close(c);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	c = opened(pool);
	hone_mempool_put(c, obj);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

TEST(magazines_change_hands_whole)
{
	struct hone_mempool *pool = pool_of(1003, 100, 2);
	struct hone_mempool_cache *a = opened(pool), *b = opened(pool);
	struct hone_mempool_magazine *m[12];
	size_t n = 0, sum = 0;

	while (n < 12 && (m[n] = hone_mempool_get_magazine(n % 2 ? a : b)))
		sum += m[n++]->count;
	assert_int_equal(n, 11);
	assert_int_equal(sum, 1003);
	audited(pool, 1003);
	assert_null(hone_mempool_get(a));
	for (size_t i = 0; i < n; i++)
		hone_mempool_put_magazine(i % 2 ? b : a, m[i]);
	audited(pool, 0);
	/* The loaded magazine is used too, if there is no other. */
	hone_mempool_cache_close(b);
	assert_non_null(m[0] = hone_mempool_get_magazine(a));
	hone_mempool_put_magazine(a, m[0]);
	hone_mempool_cache_close(a);
	destroyed(pool);
}

TEST(magazines_may_come_back_with_any_count)
{
	struct hone_mempool *pool = pool_of(1003, 100, 2);
	struct hone_mempool_cache *a = opened(pool), *b = opened(pool);
	void *objs[300];

	for (size_t k = 0; k <= 100; k++) {
		struct hone_mempool_magazine *m = hone_mempool_get_magazine(a);
		size_t taken = m->count < k ? m->count : k;

		m->count -= taken;
		memcpy(objs, m->objects + m->count, taken * sizeof(*objs));
		hone_mempool_put_magazine(k % 3 ? a : b, m);
		audited(pool, taken);
		hone_mempool_put_bulk(b, objs, taken);
		audited(pool, 0);
	}
	hone_mempool_cache_close(a);
	hone_mempool_cache_close(b);
	destroyed(pool);
}

TEST(each_cache_may_keep_an_empty_magazine)
{
	struct hone_mempool *pool = pool_of(1000, 100, 2);
	struct hone_mempool_cache *c[2] = {opened(pool), opened(pool)};
	struct hone_mempool_magazine *m[2], *full[10];
	void *objs[1000];

	for (int i = 0; i < 2; i++) {
		m[i] = hone_mempool_get_magazine(c[i]);
		hone_mempool_put_bulk(c[i], m[i]->objects, m[i]->count);
		m[i]->count = 0;
		assert_ok(hone_mempool_reserve(c[i], 101));
	}
	for (int round = 0; round < 4; round++) {
		struct hone_mempool_cache *a = c[round % 2], *b = c[round / 2];

		assert_ok(hone_mempool_get_bulk(a, objs, 699));
		hone_mempool_put_bulk(b, objs, 699);
		for (int i = 0; i < 6; i++)
			full[i] = hone_mempool_get_magazine(a);
		for (int i = 0; i < 6; i++)
			hone_mempool_put_magazine(b, full[i]);
		audited(pool, 0);
	}
	for (int i = 0; i < 2; i++) {
		hone_mempool_put_magazine(c[i], m[i]);
		hone_mempool_cache_close(c[i]);
	}
	destroyed(pool);
}

TEST(an_empty_magazine_that_is_out_keeps_the_pool)
{
	struct hone_mempool *pool = pool_of(100, 10, 1);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_magazine *m = hone_mempool_get_magazine(c);

	hone_mempool_put_bulk(c, m->objects, m->count);
	m->count = 0;
	hone_mempool_cache_close(c);
	assert_int_equal(hone_mempool_available(pool), 100);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	c = opened(pool);
	hone_mempool_put_magazine(c, m);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/* Every magazine is kept, and its objects are put: this aborts instead of
 * waiting. */
TEST(keeping_too_many_magazines_aborts)
{
	struct hone_mempool *pool = pool_of(100, 10, 1);
	struct hone_mempool_cache *c = opened(pool);
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < 1000; i++) {
			struct hone_mempool_magazine *m =
				hone_mempool_get_magazine(c);

			hone_mempool_put_bulk(c, m->objects, m->count);
			m->count = 0;
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/* What a reserve guarantees, and what happens to it. */

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

		assert_ok(hone_mempool_reserve(a, n));
		audited(pool, 0);
		others = drained(b, objs);
		assert_in_range(others, 100 - n > 10 ? 90 - n : 0, 100 - n);
		assert_ok(hone_mempool_get_bulk(a, own, n));
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
	assert_ok(hone_mempool_reserve(c, 25));
	assert_int_equal(stats_of(pool).reserved, 25);
	assert_int_equal(hone_mempool_reserve(c, 101), -ENOBUFS);
	assert_int_equal(stats_of(pool).reserved, 25);
	assert_ok(hone_mempool_reserve(c, 100));
	assert_ok(hone_mempool_reserve(c, 5));
	assert_int_equal(stats_of(pool).reserved, 5);
	audited(pool, 0);
	hone_mempool_cache_close(c);
	assert_int_equal(stats_of(pool).reserved, 0);
	assert_ok(hone_mempool_get_bulk(other, objs, 100));
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

	assert_ok(hone_mempool_reserve(a, 13));
	got = hone_mempool_get_burst(b, objs, 100);
	assert_in_range(got, 77, 87);
	assert_ok(hone_mempool_get_bulk(a, objs + got, 87 - got));
	assert_int_equal(stats_of(pool).reserved, 13);
	/* Only the reserve is left. */
	assert_int_equal(hone_mempool_get_bulk(a, own, 14), -ENOBUFS);
	assert_int_equal(stats_of(pool).reserved, 13);
	assert_non_null(own[0] = hone_mempool_get(a));
	assert_ok(hone_mempool_get_bulk(a, own + 1, 11));
	assert_int_equal(stats_of(pool).reserved, 1);
	assert_null(hone_mempool_get_magazine(a));
	assert_int_equal(hone_mempool_get_burst(a, own + 12, 2), 1);
	assert_int_equal(stats_of(pool).reserved, 0);
	assert_null(hone_mempool_get(a));
	hone_mempool_put_bulk(a, own, 13);
	assert_int_equal(stats_of(pool).reserved, 0);
	assert_int_equal(hone_mempool_reserve(a, 14), -ENOBUFS);
	assert_ok(hone_mempool_reserve(a, 13));
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

	assert_ok(hone_mempool_reserve(c, 20));
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

/* A cursor gives the same results as its cache. */

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
		assert_ok(hone_mempool_cursor_get_bulk(&cursor, objs + got, 0));
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
		assert_ok(hone_mempool_get_bulk(c, objs, 60));
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

		assert_ok(hone_mempool_cursor_get_bulk(&cursor, objs, n));
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
	assert_ok(hone_mempool_create(&pool, &attr));
	c = opened(pool);
	hone_mempool_cursor_begin(&cursor, c);
	assert_ok(hone_mempool_cursor_get_bulk(&cursor, objs, 30));
	hone_mempool_cursor_put_bulk(&cursor, objs, 30);
	assert_null(told);
	hone_mempool_cursor_put_bulk(&cursor, objs + 7, 1);
	assert_ptr_equal(told, objs[7]);
	told = NULL;
	assert_ok(hone_mempool_cursor_get_bulk(&cursor, objs, 30));
	assert_null(told);
	hone_mempool_cursor_end(&cursor);
	audited(pool, 30);
	hone_mempool_put_bulk(c, objs, 30);
	hone_mempool_cache_close(c);
	destroyed(pool);
}
