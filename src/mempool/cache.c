/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing caches, and what a child of fork() does with them. */
#include <assert.h>
#include <errno.h>
#include "mempool/exact.h"

int
hone_mempool_cache_open(
	struct hone_mempool *pool, struct hone_mempool_cache **cache)
{
	struct hone_cache *c = NULL;
	size_t i = 0;

	/* Before the first call of this process, since it may take a while. */
	if (pool->barriers)
		(void)hone_mempool_want_barriers();
	hone_mempool_lock(pool);
	while (i < pool->max_caches && hone_mempool_cache_at(pool, i)->open)
		i++;
	if (i < pool->max_caches) {
		c = hone_mempool_cache_at(pool, i);
		c->open = true;
		c->view->size = pool->cache_size;
		hone_mempool_load(c, hone_mempool_take_empty(c));
		/* Relaxed: written under the mutex only. */
		if (atomic_load_explicit(&pool->n_used, memory_order_relaxed) <=
			i)
			/* Release: pairs with the acquire in steal(). */
			atomic_store_explicit(
				&pool->n_used, i + 1, memory_order_release);
	}
	hone_mempool_unlock(pool);
	if (!c)
		return -EAGAIN;
	*cache = &c->visible;
	return 0;
}

void
hone_mempool_set_partial(
	struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	/* Relaxed: only for statistics, which must not read *m. */
	atomic_store_explicit(&pool->n_partial, m->count, memory_order_relaxed);
	/* Release: pairs with the acquire in hone_mempool_take_full(). */
	atomic_store_explicit(&pool->partial, m, memory_order_release);
}

/*
 * Passes on a magazine with any number of objects. The mutex is held, so no
 * other thread stores a partial magazine between the exchange and the store.
 */
static void
put_down(struct hone_cache *c, struct hone_mempool_magazine *m)
{
	struct hone_mempool *pool = c->pool;
	struct hone_mempool_magazine *other;

	if (m->count > 0 && m->count < pool->full) {
		/* Acquire: pairs with the release above. */
		other = atomic_exchange_explicit(
			&pool->partial, NULL, memory_order_acquire);
		if (other) {
			hone_mempool_pour(pool, m, other);
			if (m->count == pool->full) {
				hone_mempool_push(c, m);
				m = other;
			} else {
				hone_mempool_push(c, other);
			}
		}
	}
	if (m->count > 0 && m->count < pool->full)
		hone_mempool_set_partial(pool, m);
	else
		hone_mempool_push(c, m);
}

void
hone_mempool_cache_close(struct hone_mempool_cache *cache)
{
	struct hone_cache *c = (struct hone_cache *)cache;
	struct hone_mempool_magazine *m;
	struct hone_mempool *pool;

	if (!c)
		return;
	pool = c->pool;
	hone_mempool_lock(pool);
	assert(c->open);
	if (pool->exact)
		hone_mempool_enter_locked(c);
	hone_mempool_dissolve(c);
	if (HONE_DETAIL_LEN(c->view) > pool->full)
		hone_mempool_flush(c);
	m = hone_mempool_loaded(c);
	m->count = HONE_DETAIL_LEN(c->view);
	hone_mempool_set_len(c->view, 0);
	c->view->size = 0;
	put_down(c, m);
	/* Relaxed: see is_own() in own.c. */
	atomic_store_explicit(&c->thread, 0, memory_order_relaxed);
	if (pool->exact)
		hone_mempool_leave(c);
	c->open = false;
	hone_mempool_unlock(pool);
}

struct hone_mempool *
hone_detail_mempool_pool(struct hone_mempool_cache *cache)
{
	return ((struct hone_cache *)cache)->pool;
}

size_t
hone_mempool_after_fork(struct hone_mempool *pool)
{
	struct hone_mempool_findings findings;

	/* A thread that does not exist in the child may have held the mutex. */
	(void)pthread_mutex_init(&pool->mutex, NULL);
	/* Those threads, too, do not exist. */
	pool->n_ending = 0;
	hone_mempool_mark_objects(pool, &findings, NULL, NULL);
	atomic_store_explicit(&pool->partial, NULL, memory_order_relaxed);
	atomic_store_explicit(
		&pool->spilled[HONE_MEMPOOL_FULL], 0, memory_order_relaxed);
	atomic_store_explicit(
		&pool->spilled[HONE_MEMPOOL_EMPTY], 0, memory_order_relaxed);
	for (size_t i = 0; i < pool->n_magazines; i++)
		hone_mempool_magazine(pool, i)->count = 0;
	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_cache *c = hone_mempool_cache_at(pool, i);

		hone_mempool_reset(c, c->deque[0].mask + 1);
	}
	hone_mempool_watch_fork(pool);
	hone_mempool_fill(pool);
	return findings.out;
}
