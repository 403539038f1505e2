/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches: which thread owns them, how many there may be, who closes them. */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include "mempool_support.h"

/* As many as there may be; fewer where, as in emulators, each mapped page is
 * expensive. */
#if defined(__x86_64__)
#define CACHES 65535
#else
#define CACHES 4096
#endif
#define OPEN 500

struct other {
	pthread_t id;
	struct hone_mempool *pool;
	struct hone_mempool_cache *own, *again;
	sem_t opened, go_on;
};

static void
wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

/* A thread with a cache of its own, in which an object is loaded. */
static void *
other(void *arg)
{
	struct other *o = arg;

	o->own = hone_mempool_thread_cache(o->pool);
	hone_mempool_put(o->own, hone_mempool_get(o->own));
	(void)sem_post(&o->opened);
	wait_for(&o->go_on);
	if (o->again) {
		o->again = hone_mempool_thread_cache(o->pool);
		hone_mempool_put(o->again, hone_mempool_get(o->again));
	}
	return NULL;
}

static void
start(struct other *o, struct hone_mempool *pool)
{
	o->pool = pool;
	o->again = NULL;
	assert_int_equal(sem_init(&o->opened, 0, 0), 0);
	assert_int_equal(sem_init(&o->go_on, 0, 0), 0);
	assert_int_equal(pthread_create(&o->id, NULL, other, o), 0);
	wait_for(&o->opened);
}

static void
end(struct other *o)
{
	(void)sem_post(&o->go_on);
	assert_int_equal(pthread_join(o->id, NULL), 0);
	(void)sem_destroy(&o->opened);
	(void)sem_destroy(&o->go_on);
}

TEST(a_cache_that_another_closed_is_not_closed_again)
{
	struct hone_mempool *pool = pool_of(100, 10, 3);
	struct hone_mempool_cache *c, *d;
	struct other o;

	/* It stays closed. */
	start(&o, pool);
	hone_mempool_cache_close(o.own);
	end(&o);
	assert_int_equal(stats_of(pool).caches, 0);
	/* Meanwhile another thread has opened it. */
	start(&o, pool);
	hone_mempool_cache_close(o.own);
	c = opened(pool);
	assert_ptr_equal(c, o.own);
	end(&o);
	assert_int_equal(stats_of(pool).caches, 1);
	hone_mempool_put(c, hone_mempool_get(c));
	hone_mempool_cache_close(c);
	/* It belongs to another thread. */
	start(&o, pool);
	hone_mempool_cache_close(o.own);
	c = hone_mempool_thread_cache(pool);
	assert_ptr_equal(c, o.own);
	end(&o);
	assert_int_equal(stats_of(pool).caches, 1);
	assert_ptr_equal(hone_mempool_thread_cache(pool), c);
	d = opened(pool);
	hone_mempool_put(d, hone_mempool_get(c));
	hone_mempool_cache_close(d);
	destroyed(pool);
}

TEST(a_thread_whose_cache_was_closed_gets_another)
{
	struct hone_mempool *pool = pool_of(100, 10, 3);
	struct hone_mempool_cache *c;
	struct other o;

	start(&o, pool);
	hone_mempool_cache_close(o.own);
	c = opened(pool);
	o.again = c; /* The thread must request it once more. */
	end(&o);
	assert_non_null(o.again);
	assert_ptr_not_equal(o.again, c);
	assert_int_equal(stats_of(pool).caches, 1);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

TEST(a_thread_has_a_cache_in_as_many_pools_as_there_are_keys)
{
	static struct hone_mempool *pools[PTHREAD_KEYS_MAX + 1];
	struct hone_mempool_cache *c;
	size_t n = 0;

	do {
		pools[n] = pool_of(4, 2, 1);
		c = hone_mempool_thread_cache(pools[n]);
		if (c)
			hone_mempool_put(c, hone_mempool_get(c));
	} while (c && ++n <= PTHREAD_KEYS_MAX);
	assert_null(c);
	assert_in_range(n, 1, PTHREAD_KEYS_MAX);
	/* A cache that is opened by hand needs no key, */
	c = opened(pools[n]);
	hone_mempool_cache_close(c);
	/* and a destroyed pool releases its key. */
	destroyed(pools[0]);
	assert_non_null(hone_mempool_thread_cache(pools[n]));
	for (size_t i = 1; i <= n; i++)
		destroyed(pools[i]);
}

/* The largest possible need exceeds the machine's memory; the real need does
 * not. */
TEST(many_caches_may_be_open)
{
	struct hone_mempool *pool = pool_of(OPEN, 1, CACHES);
	struct hone_mempool_cache *c[OPEN];
	void *objs[OPEN];

	for (int i = 0; i < OPEN; i++) {
		c[i] = opened(pool);
		assert_non_null(objs[i] = hone_mempool_get(c[i]));
	}
	assert_null(hone_mempool_get(c[0]));
	for (int i = 0; i < OPEN; i++)
		hone_mempool_put(c[OPEN - 1 - i], objs[i]);
	for (int i = 0; i < OPEN; i++)
		hone_mempool_cache_close(c[i]);
	destroyed(pool);
}

TEST(a_pool_may_be_busy_and_go_on)
{
	struct hone_mempool *pool = pool_of(10, 2, 1);
	struct hone_mempool_cache *c = hone_mempool_thread_cache(pool);
	void *obj = hone_mempool_get(c);

	assert_non_null(obj);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	/* The thread's own cache was closed first, as the header documents. */
	assert_int_equal(stats_of(pool).caches, 0);
	c = opened(pool);
	assert_null(hone_mempool_thread_cache(pool)); /* max_caches are open */
	hone_mempool_put(c, obj);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

TEST(a_full_magazine_comes_before_one_that_is_not)
{
	/* One full magazine; the other objects fill none and belong to no
	 * cache. */
	struct hone_mempool *pool = pool_of(13, 10, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_magazine *m, *rest;

	for (int round = 0; round < 3; round++) {
		/* The full one is loaded. */
		hone_mempool_put(c, hone_mempool_get(c));
		m = hone_mempool_get_magazine(c);
		assert_non_null(m);
		assert_int_equal(m->count, 10);
		audited(pool, 10);
		rest = hone_mempool_get_magazine(c);
		assert_non_null(rest);
		assert_int_equal(rest->count, 3);
		assert_null(hone_mempool_get_magazine(c));
		audited(pool, 13);
		hone_mempool_put_magazine(c, rest);
		hone_mempool_put_magazine(c, m);
		audited(pool, 0);
		hone_mempool_cache_close(c);
		c = opened(pool);
	}
	hone_mempool_cache_close(c);
	destroyed(pool);
}
