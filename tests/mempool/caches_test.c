/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches: which thread owns them, how many there may be, who closes them. */
#include <limits.h>
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
#define POOLS (PTHREAD_KEYS_MAX + 100)

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

/* What a call that has closed a cache posts, if it is set, before it waits. */
static sem_t *closed, *return_after;

STANDS_FOR(void, hone_mempool_cache_close, struct hone_mempool_cache *cache)
{
	__real_hone_mempool_cache_close(cache);
	if (closed) {
		(void)sem_post(closed);
		wait_for(return_after);
	}
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
start_in(struct other *o, void *(*run)(void *))
{
	o->again = NULL;
	assert_ok(sem_init(&o->opened, 0, 0));
	assert_ok(sem_init(&o->go_on, 0, 0));
	assert_ok(pthread_create(&o->id, NULL, run, o));
	wait_for(&o->opened);
}

static void
start(struct other *o, struct hone_mempool *pool)
{
	o->pool = pool;
	start_in(o, other);
}

static void
end(struct other *o)
{
	(void)sem_post(&o->go_on);
	assert_ok(pthread_join(o->id, NULL));
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
	closed_and_destroyed(pool, d);
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
	closed_and_destroyed(pool, c);
}

/* The number of keys that are free. */
static int
free_keys(void)
{
	static pthread_key_t keys[PTHREAD_KEYS_MAX];
	int n = 0;

	while (n < PTHREAD_KEYS_MAX && pthread_key_create(&keys[n], NULL) == 0)
		n++;
	for (int i = 0; i < n; i++)
		assert_ok(pthread_key_delete(keys[i]));
	return n;
}

static struct hone_mempool *pools[POOLS];

/* A thread with caches of its own in many pools. */
static void *
have_many(void *arg)
{
	struct other *o = arg;
	struct hone_mempool_cache *c[POOLS];

	for (int i = 0; i < POOLS; i++)
		c[i] = hone_mempool_thread_cache(pools[i]);
	for (int i = 0; i < POOLS; i++) {
		o->own = hone_mempool_thread_cache(pools[i]);
		if (!o->own || o->own != c[i])
			abort();
		hone_mempool_put(c[i], hone_mempool_get(c[i]));
	}
	(void)sem_post(&o->opened);
	wait_for(&o->go_on);
	return NULL;
}

TEST(all_pools_share_one_key)
{
	struct hone_mempool *first = pool_of(4, 2, 1);
	int before;

	assert_non_null(hone_mempool_thread_cache(first));
	before = free_keys();
	assert_in_range(before, 1, PTHREAD_KEYS_MAX - 1);
	for (int i = 0; i < POOLS; i++) {
		pools[i] = pool_of(4, 2, 2);
		assert_non_null(hone_mempool_thread_cache(pools[i]));
	}
	assert_int_equal(free_keys(), before);
	for (int i = 0; i < POOLS; i++)
		destroyed(pools[i]);
	assert_int_equal(free_keys(), before);
	destroyed(first);
}

TEST(a_thread_ends_with_caches_in_many_pools)
{
	struct other o;

	for (int i = 0; i < POOLS; i++)
		pools[i] = pool_of(4, 2, 2);
	start_in(&o, have_many);
	for (int i = 0; i < POOLS; i++)
		assert_int_equal(stats_of(pools[i]).caches, 1);
	end(&o);
	for (int i = 0; i < POOLS; i++)
		destroyed(pools[i]);
}

/* The thread still knows the pool that was destroyed. */
TEST(a_thread_outlives_a_pool_with_its_cache)
{
	for (int round = 0; round < 10; round++) {
		struct hone_mempool *pool = pool_of(100, 10, 3), *next;
		struct hone_mempool_cache *c;
		struct other o;
		void *page;

		start(&o, pool);
		hone_mempool_cache_close(o.own);
		destroyed(pool);
		/* Who looks at the old cache gets a signal. */
		page = mmap(o.own, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
		assert_ptr_equal(page, o.own);
		next = pool_of(100, 10, 3);
		c = hone_mempool_thread_cache(next);
		assert_non_null(c);
		o.pool = next;
		/* The thread may request one in the new pool. */
		o.again = round % 2 ? c : NULL;
		end(&o);
		assert_ptr_equal(hone_mempool_thread_cache(next), c);
		assert_int_equal(stats_of(next).caches, 1);
		if (round % 2)
			assert_ptr_not_equal(o.again, c);
		assert_ok(munmap(page, 4096));
		destroyed(next);
	}
}

TEST(a_pool_stays_while_a_thread_that_ends_closes_its_cache)
{
	struct hone_mempool *pool = pool_of(100, 10, 3);
	static sem_t go_on, has_closed;
	struct other o;

	assert_ok(sem_init(&go_on, 0, 0));
	assert_ok(sem_init(&has_closed, 0, 0));
	start(&o, pool);
	closed = &has_closed;
	return_after = &go_on;
	(void)sem_post(&o.go_on);
	wait_for(&has_closed);
	closed = NULL;
	assert_int_equal(stats_of(pool).caches, 0);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	(void)sem_post(&go_on);
	end(&o);
	destroyed(pool);
}

/* A thread's table does not grow with the pools that were destroyed. */
TEST(a_thread_forgets_pools_that_were_destroyed)
{
	struct hone_mempool *kept = pool_of(4, 2, 1), *left = pool_of(4, 2, 1);
	struct hone_mempool_cache *c = hone_mempool_thread_cache(kept);

	hone_mempool_cache_close(hone_mempool_thread_cache(left));
	for (int i = 0; i < 10 * POOLS; i++) {
		struct hone_mempool *pool = pool_of(4, 2, 1);

		assert_non_null(hone_mempool_thread_cache(pool));
		destroyed(pool);
	}
	assert_ptr_equal(hone_mempool_thread_cache(kept), c);
	assert_int_equal(stats_of(left).caches, 0);
	assert_non_null(hone_mempool_thread_cache(left));
	destroyed(left);
	destroyed(kept);
}

/* As many as there may be, of which few are open. */
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
	closed_and_destroyed(pool, c);
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
	closed_and_destroyed(pool, c);
}

/*
 * Threads that use neighbouring objects, whose stride is not a multiple of 8.
 * AddressSanitizer keeps one byte of state for 8 bytes of memory: if two
 * objects shared that byte, it would report correct programs.
 */

#define OBJECTS 64
#define TURNS 5000

static struct hone_mempool *
packed(size_t size, size_t alignment, unsigned flags)
{
	struct hone_mempool_attr attr = attributes(OBJECTS, 4, 4);

	attr.object_size = size;
	attr.alignment = alignment;
	attr.flags |= flags;
	return made(&attr);
}

TEST(a_sanitizer_has_whole_granules_for_each_object)
{
	static const unsigned flags[] = {0, HONE_MEMPOOL_NO_COLOUR,
		HONE_MEMPOOL_DEBUG,
		HONE_MEMPOOL_DEBUG | HONE_MEMPOOL_NO_COLOUR};

	for (size_t f = 0; f < 4; f++)
		for (size_t alignment = 1; alignment <= 16; alignment *= 2)
			for (size_t size = 1; size <= 40; size++) {
				struct hone_mempool *pool =
					packed(size, alignment, flags[f]);
				size_t stride = stats_of(pool).stride;

				assert_int_equal(stride % GRANULE, 0);
				assert_int_equal(stride % alignment, 0);
				assert_true(stride >= size);
				destroyed(pool);
			}
}

struct user {
	struct hone_mempool *pool;
	unsigned char number;
	unsigned errors;
};

static void *
use(void *arg)
{
	struct user *u = arg;
	struct hone_mempool_cache *c = opened(u->pool);

	for (int i = 0; i < TURNS; i++) {
		unsigned char *objs[9];
		size_t n = hone_mempool_get_burst(c, (void **)objs, 9);

		for (size_t k = 0; k < n; k++)
			memset(objs[k], u->number, 3);
		for (size_t k = 0; k < n; k++)
			u->errors += objs[k][0] != u->number ||
				     objs[k][2] != u->number;
		hone_mempool_put_bulk(c, (void *const *)objs, n);
	}
	hone_mempool_cache_close(c);
	return NULL;
}

TEST(threads_use_neighbouring_objects)
{
	struct hone_mempool *pool = packed(3, 1, HONE_MEMPOOL_NO_COLOUR);
	struct user users[4];

	for (unsigned char i = 0; i < 4; i++)
		users[i] = (struct user){.pool = pool, .number = i};
	support_threads(use, users, 4, sizeof(*users));
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(users[i].errors, 0);
	destroyed(pool);
}
