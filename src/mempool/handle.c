/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing handles, by hand, with a thread, and after a fork. */
#include <assert.h>
#include <errno.h>
#include "mempool/mempool.h"

int
hone_mempool_cache_open(
	struct hone_mempool *pool, struct hone_mempool_cache **cache)
{
	struct hone_mempool_handle *h = NULL;
	size_t i = 0;

	(void)pthread_mutex_lock(&pool->mutex);
	while (i < pool->max_caches && hone_mempool_handle(pool, i)->open)
		i++;
	if (i < pool->max_caches) {
		h = hone_mempool_handle(pool, i);
		h->open = true;
		h->view->size = pool->cache_size;
		hone_mempool_load(h, hone_mempool_take_empty(h));
		/* Relaxed: written under the mutex only. */
		if (atomic_load_explicit(&pool->n_used, memory_order_relaxed) <=
			i)
			/* Release: pairs with the acquire in steal(). */
			atomic_store_explicit(
				&pool->n_used, i + 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&pool->mutex);
	if (!h)
		return -EAGAIN;
	*cache = &h->cache;
	return 0;
}

void
hone_mempool_set_partial(
	struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	/* Relaxed: for statistics only, which must not look into m. */
	atomic_store_explicit(&pool->n_partial, m->count, memory_order_relaxed);
	/* Release: pairs with the acquire in hone_mempool_take_full(). */
	atomic_store_explicit(&pool->partial, m, memory_order_release);
}

/*
 * Put down a magazine for all to take. The mutex is held, so that between the
 * exchange and the store nobody else puts one there.
 */
static void
put_down(struct hone_mempool_handle *h, struct hone_mempool_magazine *m)
{
	struct hone_mempool *pool = h->pool;
	struct hone_mempool_magazine *other;

	if (m->count > 0 && m->count < pool->cache_size) {
		/* Acquire: pairs with the release above. */
		other = atomic_exchange_explicit(
			&pool->partial, NULL, memory_order_acquire);
		if (other) {
			hone_mempool_pour(pool, m, other);
			if (m->count == pool->cache_size) {
				hone_mempool_push(h, m);
				m = other;
			} else {
				hone_mempool_push(h, other);
			}
		}
	}
	if (m->count > 0 && m->count < pool->cache_size)
		hone_mempool_set_partial(pool, m);
	else
		hone_mempool_push(h, m);
}

/*
 * Whether a handle that this thread once had for its own still is: another
 * thread may have closed it, and someone may have opened it again. Relaxed:
 * what is asked is only whether this thread wrote it, and has not been told
 * since that it is closed.
 */
static bool
is_own(struct hone_mempool_cache *cache)
{
	struct hone_mempool_handle *h = (struct hone_mempool_handle *)cache;

	return h && atomic_load_explicit(&h->thread, memory_order_relaxed) ==
			    (uintptr_t)pthread_self();
}

/* A thread's own handle is forgotten when it closes it by hand. */
static void
forget(struct hone_mempool *pool, struct hone_mempool_cache *cache)
{
	/* Acquire: pairs with the release in has_key(). */
	if (atomic_load_explicit(&pool->has_key, memory_order_acquire) &&
		pthread_getspecific(pool->key) == cache)
		(void)pthread_setspecific(pool->key, NULL);
}

void
hone_mempool_cache_close(struct hone_mempool_cache *cache)
{
	struct hone_mempool_handle *h = (struct hone_mempool_handle *)cache;
	struct hone_mempool_magazine *m;
	struct hone_mempool *pool;

	if (!h)
		return;
	pool = h->pool;
	forget(pool, cache);
	(void)pthread_mutex_lock(&pool->mutex);
	assert(h->open);
	hone_mempool_dissolve(h);
	m = h->loaded;
	m->count = HONE_DETAIL_LEN(h->view);
	HONE_DETAIL_SET_LEN(h->view, 0);
	h->view->size = 0;
	h->loaded = NULL;
	put_down(h, m);
	/* Relaxed: see is_own(). */
	atomic_store_explicit(&h->thread, 0, memory_order_relaxed);
	h->open = false;
	(void)pthread_mutex_unlock(&pool->mutex);
}

static void
close_at_exit(void *cache)
{
	if (is_own(cache))
		hone_mempool_cache_close(cache);
}

static bool
has_key(struct hone_mempool *pool)
{
	/* Acquire: pairs with the release below. */
	if (atomic_load_explicit(&pool->has_key, memory_order_acquire))
		return true;
	(void)pthread_mutex_lock(&pool->mutex);
	/* Relaxed: written under the mutex only. */
	if (!atomic_load_explicit(&pool->has_key, memory_order_relaxed) &&
		pthread_key_create(&pool->key, close_at_exit) == 0)
		/* Release: pairs with the acquires, so that key is there. */
		atomic_store_explicit(
			&pool->has_key, true, memory_order_release);
	(void)pthread_mutex_unlock(&pool->mutex);
	return atomic_load_explicit(&pool->has_key, memory_order_acquire);
}

struct hone_mempool_cache *
hone_mempool_thread_cache(struct hone_mempool *pool)
{
	struct hone_mempool_cache *cache;

	if (!has_key(pool))
		return NULL;
	cache = pthread_getspecific(pool->key);
	if (is_own(cache))
		return cache;
	if (hone_mempool_cache_open(pool, &cache))
		return NULL;
	if (pthread_setspecific(pool->key, cache)) {
		hone_mempool_cache_close(cache);
		return NULL;
	}
	/* Relaxed: see is_own(). */
	atomic_store_explicit(&((struct hone_mempool_handle *)cache)->thread,
		(uintptr_t)pthread_self(), memory_order_relaxed);
	return cache;
}

void
hone_mempool_close_own(struct hone_mempool *pool)
{
	/* Acquire: pairs with the release in has_key(). */
	if (atomic_load_explicit(&pool->has_key, memory_order_acquire))
		close_at_exit(pthread_getspecific(pool->key));
}

size_t
hone_mempool_after_fork(struct hone_mempool *pool)
{
	struct hone_mempool_findings audit;

	/* A thread that the child has not may have held it. */
	(void)pthread_mutex_init(&pool->mutex, NULL);
	if (atomic_load_explicit(&pool->has_key, memory_order_relaxed))
		(void)pthread_setspecific(pool->key, NULL);
	hone_mempool_census(pool, &audit, NULL, NULL);
	atomic_store_explicit(&pool->partial, NULL, memory_order_relaxed);
	for (size_t i = 0; i < pool->n_magazines; i++)
		hone_mempool_magazine(pool, i)->count = 0;
	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_mempool_handle *h = hone_mempool_handle(pool, i);

		hone_mempool_reset(h, h->deque[0].mask + 1);
	}
	hone_mempool_watch_fork(pool);
	hone_mempool_fill(pool);
	return audit.out;
}
