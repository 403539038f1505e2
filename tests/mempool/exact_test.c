/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HONE_MEMPOOL_EXACT: a get finds every object of the pool, whichever cache has
 * it loaded, and whatever other threads do meanwhile.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "exact.h"
#include "mempool_support.h"

/* Sleeps of the library: as many as there were, but none takes time. */
static unsigned sleeps;
static void (*on_sleep)(void);

STANDS_FOR(int, nanosleep, const struct timespec *wanted, struct timespec *left)
{
	(void)wanted;
	(void)left;
	sleeps++;
	if (on_sleep)
		on_sleep();
	return 0;
}

static struct hone_mempool *
exact_pool(size_t capacity, size_t cache_size, unsigned caches, unsigned flags)
{
	struct hone_mempool_attr attr =
		attributes(capacity, cache_size, caches);
	struct hone_mempool *pool;

	attr.flags |= HONE_MEMPOOL_EXACT | flags;
	assert_int_equal(hone_mempool_create(&pool, &attr), 0);
	return pool;
}

/* A pool of n objects, all loaded in two caches of three. */
struct three {
	struct hone_mempool *pool;
	struct hone_mempool_cache *a, *b, *c;
	void *objs[40];
};

static void
load_others(struct three *t, unsigned flags)
{
	t->pool = exact_pool(20, 12, 3, flags);
	t->a = opened(t->pool);
	t->b = opened(t->pool);
	t->c = opened(t->pool);
	assert_int_equal(hone_mempool_get_bulk(t->a, t->objs, 20), 0);
	hone_mempool_put_bulk(t->a, t->objs, 11);
	hone_mempool_put_bulk(t->b, t->objs + 11, 9);
	assert_int_equal(stats_of(t->pool).loaded, 20);
	assert_int_equal(hone_mempool_available(t->pool), 20);
}

static void
close_three(struct three *t)
{
	hone_mempool_cache_close(t->a);
	hone_mempool_cache_close(t->b);
	hone_mempool_cache_close(t->c);
	destroyed(t->pool);
}

/* The caches whose magazines were taken go on as before. */
static void
go_on(struct three *t)
{
	all_different(t->objs, 20);
	assert_int_equal(hone_mempool_available(t->pool), 0);
	audited(t->pool, 20);
	assert_null(hone_mempool_get(t->a));
	hone_mempool_put_bulk(t->a, t->objs, 10);
	hone_mempool_put_bulk(t->b, t->objs + 10, 10);
	audited(t->pool, 0);
	close_three(t);
}

static void
everything_that_is_loaded_is_found(unsigned flags)
{
	struct hone_mempool_magazine *m;
	struct three t;
	size_t got = 0;

	load_others(&t, flags);
	while (got < 20 && (t.objs[got] = hone_mempool_get(t.c)) != NULL)
		got++;
	assert_int_equal(got, 20);
	go_on(&t);
	load_others(&t, flags);
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 20), 0);
	go_on(&t);
	load_others(&t, flags);
	assert_int_equal(hone_mempool_get_burst(t.c, t.objs, 40), 20);
	go_on(&t);
	load_others(&t, flags);
	assert_int_equal(hone_mempool_reserve(t.c, 21), -ENOBUFS);
	assert_int_equal(hone_mempool_reserve(t.c, 20), 0);
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 20), 0);
	go_on(&t);
	load_others(&t, flags);
	for (got = 0; (m = hone_mempool_get_magazine(t.c)) != NULL;) {
		assert_true(m->count > 0);
		while (m->count > 0)
			t.objs[got++] = m->objects[--m->count];
		hone_mempool_put_magazine(t.c, m);
	}
	assert_int_equal(got, 20);
	go_on(&t);
}

TEST(what_other_caches_have_loaded_is_found)
{
	everything_that_is_loaded_is_found(0);
}

TEST(what_other_caches_have_loaded_is_found_in_the_debug_flavour)
{
	everything_that_is_loaded_is_found(HONE_MEMPOOL_DEBUG);
}

TEST(a_bulk_that_is_one_too_many_gets_nothing)
{
	struct three t;

	load_others(&t, 0);
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 21), -ENOBUFS);
	assert_int_equal(stats_of(t.pool).failures, 1);
	audited(t.pool, 0);
	assert_int_equal(hone_mempool_get_bulk(t.b, t.objs, 20), 0);
	go_on(&t);
}

TEST(a_reserve_comes_last_and_is_nobody_elses)
{
	struct three t;

	load_others(&t, 0);
	assert_int_equal(hone_mempool_reserve(t.c, 5), 0);
	assert_int_equal(hone_mempool_get_bulk(t.a, t.objs, 16), -ENOBUFS);
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 15), 0);
	assert_int_equal(stats_of(t.pool).reserved, 5);
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs + 15, 5), 0);
	go_on(&t);
}

TEST(a_cursor_finds_it_too)
{
	struct hone_mempool_cursor cursor;
	struct three t;

	load_others(&t, 0);
	hone_mempool_cursor_begin(&cursor, t.c);
	assert_int_equal(hone_mempool_cursor_get_bulk(&cursor, t.objs, 20), 0);
	assert_null(hone_mempool_cursor_get(&cursor));
	hone_mempool_cursor_put(&cursor, t.objs[19]);
	t.objs[19] = hone_mempool_cursor_get(&cursor);
	assert_non_null(t.objs[19]);
	hone_mempool_cursor_end(&cursor);
	go_on(&t);
}

/* A cache that is not shown is in a call. */
TEST(a_call_that_does_not_end_is_given_up)
{
	struct hone_cache *a;
	struct three t;

	load_others(&t, 0);
	a = (struct hone_cache *)t.a;
	hone_mempool_enter(a);
	sleeps = 0;
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 20), -ENOBUFS);
	assert_int_equal(sleeps, 10000);
	/* nobody waits again */
	sleeps = 0;
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 9), 0);
	assert_null(hone_mempool_get(t.c));
	assert_int_equal(sleeps, 0);
	assert_int_equal(hone_mempool_available(t.pool), 0);
	hone_mempool_leave(a);
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs + 9, 11), 0);
	go_on(&t);
}

TEST(a_closed_cache_is_not_waited_for)
{
	struct three t;

	load_others(&t, 0);
	hone_mempool_cache_close(t.a);
	sleeps = 0;
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 20), 0);
	assert_null(hone_mempool_get(t.c));
	assert_int_equal(sleeps, 0);
	t.a = opened(t.pool);
	go_on(&t);
}

/* Caches of the next test, in the order in which a search visits them. */
static struct hone_mempool_cache *first, *second, *third;
static void *spare;

static void
second_sleep(void)
{
	void *obj = hone_mempool_get(first);

	assert_non_null(obj);
	hone_mempool_put(first, obj);
	hone_mempool_leave((struct hone_cache *)second);
	on_sleep = NULL;
}

/* The third cache passes its magazine on, for room for one object. */
static void
first_sleep(void)
{
	struct hone_cache *c = (struct hone_cache *)third;

	hone_mempool_give(c, &spare, 1);
	assert_int_equal(hone_mempool_take(c, &spare, 1), 1);
	hone_mempool_leave(c);
	hone_mempool_enter((struct hone_cache *)second);
	on_sleep = second_sleep;
}

/*
 * The search waits twice: for the third cache before it begins, and for the
 * second. Meanwhile, the first one, which the search has found empty, loads the
 * only magazine with objects, which was in the deque of the third.
 */
TEST(a_magazine_that_moves_during_the_search_is_found)
{
	struct hone_mempool *pool = exact_pool(5, 4, 4, 0);
	struct hone_mempool_cache *c;
	void *objs[5];

	first = opened(pool);
	second = opened(pool);
	third = opened(pool);
	c = opened(pool);
	assert_int_equal(hone_mempool_get_bulk(third, objs, 5), 0);
	hone_mempool_put_bulk(third, objs, 4);
	spare = objs[4];
	assert_int_equal(stats_of(pool).loaded, 4);
	hone_mempool_enter((struct hone_cache *)third);
	on_sleep = first_sleep;
	assert_int_equal(hone_mempool_get_bulk(c, objs, 4), 0);
	assert_null(on_sleep);
	objs[4] = spare;
	all_different(objs, 5);
	hone_mempool_put_bulk(c, objs, 5);
	hone_mempool_cache_close(first);
	hone_mempool_cache_close(second);
	hone_mempool_cache_close(third);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/*
 * Between the two looks of a search at another cache, a call may begin there,
 * take all for a bulk that is too large, give it back and end. So the length
 * in the middle of a call does not count, only what the cache shows.
 */
TEST(the_length_in_a_call_does_not_count)
{
	struct three t;

	load_others(&t, 0);
	HONE_DETAIL_SET_LEN(((struct hone_cache *)t.a)->view, 0);
	HONE_DETAIL_SET_LEN(((struct hone_cache *)t.b)->view, 0);
	assert_int_equal(hone_mempool_get_bulk(t.c, t.objs, 20), 0);
	go_on(&t);
}

TEST(the_default_cache_size_assumes_sixteen_busy_caches)
{
	static const struct {
		size_t capacity;
		unsigned caches, flags;
		size_t size;
	} cases[] = {{2047, 129, 0, 7}, {2047, 129, HONE_MEMPOOL_EXACT, 63},
		{2047, 4, HONE_MEMPOOL_EXACT, 255},
		{31, 129, HONE_MEMPOOL_EXACT, 1},
		{100000, 129, HONE_MEMPOOL_EXACT, 504}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hone_mempool_attr attr =
			attributes(cases[i].capacity, 0, cases[i].caches);
		struct hone_mempool *pool;

		attr.flags = cases[i].flags;
		assert_int_equal(hone_mempool_create(&pool, &attr), 0);
		assert_int_equal(stats_of(pool).cache_size, cases[i].size);
		destroyed(pool);
	}
}

#define WORKERS 3
#define SIZE 4   /* of a cache, and most objects that a worker holds */
#define ALWAYS 9 /* objects that are in the pool whatever the workers hold */

struct run {
	struct hone_mempool *pool;
	bool same_cpu;
	_Atomic bool stop;
	_Atomic unsigned errors;
};

struct worker {
	pthread_t id;
	struct run *run;
	uint64_t seed;
};

static void
pin(const struct run *run)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (run->same_cpu)
		(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* Each way to take at most SIZE objects and to give them back. */
static void
take_and_give(struct worker *w, struct hone_mempool_cache *c)
{
	struct hone_mempool_magazine *m;
	size_t n = support_below(&w->seed, SIZE + 1), got;
	void *objs[SIZE];

	switch (support_below(&w->seed, 3)) {
	case 0:
		m = hone_mempool_get_magazine(c);
		EXPECT(m && m->count > 0 && m->count <= SIZE, w->run);
		if (m)
			hone_mempool_put_magazine(c, m);
		return;
	case 1:
		got = hone_mempool_get_bulk(c, objs, n) == 0 ? n : 0;
		break;
	default:
		got = hone_mempool_get_burst(c, objs, n);
	}
	/* more than they all can hold was there all the time */
	EXPECT(got == n, w->run);
	hone_mempool_put_bulk(c, objs, got);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct hone_mempool_cache *c = NULL;

	pin(w->run);
	while (!atomic_load_explicit(&w->run->stop, memory_order_relaxed)) {
		if (!c)
			EXPECT(hone_mempool_cache_open(w->run->pool, &c) == 0,
				w->run);
		for (int i = 0; i < 50; i++)
			take_and_give(w, c);
		if (support_below(&w->seed, 8) == 0) {
			hone_mempool_cache_close(c);
			c = NULL;
		}
	}
	hone_mempool_cache_close(c);
	return NULL;
}

/* One thread gets what the workers cannot hold: always. */
static void
nothing_is_missed(bool same_cpu)
{
	struct run run = {.same_cpu = same_cpu};
	struct worker workers[WORKERS];
	struct hone_mempool_cache *c;
	uint64_t seed = support_seed();
	void *objs[ALWAYS];

	run.pool =
		exact_pool(ALWAYS + (WORKERS + 1) * SIZE, SIZE, WORKERS + 1, 0);
	c = opened(run.pool);
	for (size_t i = 0; i < WORKERS; i++) {
		workers[i].run = &run;
		workers[i].seed = support_random(&seed);
		assert_int_equal(
			pthread_create(&workers[i].id, NULL, work, &workers[i]),
			0);
	}
	pin(&run);
	for (unsigned turn = 0; turn < support_some(20000); turn++) {
		size_t got = 0;

		if (turn % 2 == 0)
			got = hone_mempool_get_bulk(c, objs, ALWAYS) == 0
				      ? ALWAYS
				      : 0;
		while (got < ALWAYS && (objs[got] = hone_mempool_get(c)))
			got++;
		EXPECT(got == ALWAYS, &run);
		hone_mempool_put_bulk(c, objs, got);
	}
	atomic_store_explicit(&run.stop, true, memory_order_relaxed);
	for (size_t i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(workers[i].id, NULL), 0);
	assert_int_equal(run.errors, 0);
	hone_mempool_cache_close(c);
	destroyed(run.pool);
}

TEST(nothing_is_missed_while_others_get_and_put)
{
	nothing_is_missed(false);
	nothing_is_missed(true);
}
