/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Getting and putting, where the loaded magazine is not enough.
 *
 * In each step the thread holds at most one magazine beside the loaded one,
 * its reserve's head and one of the user's; that is how many there are of them
 * (place.c), so that an empty one can always be found.
 */
#include <assert.h>
#include <errno.h>
#include "mempool/mempool.h"

/*
 * Turns through all handles after which it is certain that magazines were kept
 * against the rules: every turn in vain means that others found some.
 */
#define VAIN_TURNS ((size_t)1 << 20)

static struct hone_mempool_magazine *
steal(struct hone_mempool_handle *h, enum hone_mempool_side side)
{
	struct hone_mempool *pool = h->pool;
	/* Acquire: pairs with the release in hone_mempool_cache_open(). */
	size_t n = atomic_load_explicit(&pool->n_used, memory_order_acquire);
	size_t victim = h->victim[side];

	for (size_t i = 0; i < n; i++) {
		struct hone_mempool_magazine *m = NULL;

		if (victim != h->number)
			m = hone_deque_steal(&hone_mempool_handle(pool, victim)
						      ->deque[side]);
		if (m) {
			h->victim[side] = victim;
			hone_mempool_add(&h->steals, 1);
			return m;
		}
		victim = victim + 1 < n ? victim + 1 : 0;
	}
	return NULL;
}

struct hone_mempool_magazine *
hone_mempool_take_full(struct hone_mempool_handle *h)
{
	struct hone_mempool_magazine *m =
		hone_deque_pop(&h->deque[HONE_MEMPOOL_FULL]);

	if (!m)
		m = steal(h, HONE_MEMPOOL_FULL);
	/* Relaxed: looked at first, since an exchange takes the line away. */
	if (!m && atomic_load_explicit(&h->pool->partial, memory_order_relaxed))
		/* Acquire: pairs with the release in handle.c. */
		m = atomic_exchange_explicit(
			&h->pool->partial, NULL, memory_order_acquire);
	return m;
}

struct hone_mempool_magazine *
hone_mempool_take_empty(struct hone_mempool_handle *h)
{
	struct hone_mempool_magazine *m =
		hone_deque_pop(&h->deque[HONE_MEMPOOL_EMPTY]);

	for (size_t turn = 0; !m; turn++) {
		m = steal(h, HONE_MEMPOOL_EMPTY);
		if (!m && turn > 0 && turn % VAIN_TURNS == 0)
			hone_mempool_fault(
				h->pool, HONE_MEMPOOL_FAULT_NO_MAGAZINE, NULL);
	}
	return m;
}

void
hone_mempool_load(
	struct hone_mempool_handle *h, struct hone_mempool_magazine *m)
{
	struct hone_detail_mempool_view *v = h->view;

	/* What len counts is the pool's at every moment, should one fork. */
	HONE_DETAIL_SET_LEN(v, 0);
	HONE_DETAIL_IN_ORDER();
	h->loaded = m;
	v->slots = hone_mempool_slots(h->pool, m);
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(v, m->count);
}

void
hone_mempool_push(
	struct hone_mempool_handle *h, struct hone_mempool_magazine *m)
{
	assert(m->count == 0 || m->count == h->pool->cache_size);
	hone_deque_push(
		&h->deque[m->count ? HONE_MEMPOOL_FULL : HONE_MEMPOOL_EMPTY],
		m);
}

/* The loaded magazine is empty: load one with objects, or tell that none is. */
static bool
refill(struct hone_mempool_handle *h)
{
	struct hone_mempool_magazine *m = hone_mempool_take_full(h);
	struct hone_mempool_magazine *old = h->loaded;

	if (!m)
		return false;
	hone_mempool_load(h, m);
	old->count = 0;
	hone_mempool_push(h, old);
	hone_mempool_add(&h->refills, 1);
	return true;
}

/* The loaded magazine is full: load an empty one. */
static void
flush(struct hone_mempool_handle *h)
{
	struct hone_mempool_magazine *m = hone_mempool_take_empty(h);
	struct hone_mempool_magazine *old = h->loaded;

	hone_mempool_load(h, m);
	old->count = h->view->size;
	hone_mempool_push(h, old);
	hone_mempool_add(&h->flushes, 1);
}

size_t
hone_mempool_take(struct hone_mempool_handle *h, void **objs, size_t n)
{
	struct hone_detail_mempool_view *v = h->view;
	size_t got = 0;

	for (;;) {
		size_t len = HONE_DETAIL_LEN(v);
		size_t k = n - got < len ? n - got : len;

		HONE_DETAIL_SET_LEN(v, len - k);
		HONE_DETAIL_IN_ORDER();
		hone_mempool_read(h->pool, objs + got, v->slots, len - k, k);
		got += k;
		if (got == n || !refill(h))
			return got;
	}
}

void
hone_mempool_give(struct hone_mempool_handle *h, void *const *objs, size_t n)
{
	struct hone_detail_mempool_view *v = h->view;

	for (;;) {
		size_t len = HONE_DETAIL_LEN(v);
		size_t k = n < v->size - len ? n : v->size - len;

		hone_mempool_write(h->pool, v->slots, len, objs, k);
		HONE_DETAIL_IN_ORDER();
		HONE_DETAIL_SET_LEN(v, len + k);
		objs += k;
		n -= k;
		if (n == 0)
			return;
		flush(h);
	}
}

/* Up to n objects; with all, n or none. */
static size_t
get(struct hone_mempool_cache *cache, void **objs, size_t n, bool all)
{
	struct hone_mempool_handle *h = (struct hone_mempool_handle *)cache;
	size_t got = hone_mempool_take(h, objs, n);
	size_t reserved =
		atomic_load_explicit(&h->n_reserved, memory_order_relaxed);

	if (got < n && (!all || reserved >= n - got))
		got += hone_mempool_draw(h, objs + got, n - got);
	if (got < n) {
		hone_mempool_add(&h->failures, 1);
		if (all) {
			hone_mempool_give(h, objs, got);
			return 0;
		}
	}
	if (h->pool->watched)
		for (size_t i = 0; i < got; i++)
			hone_mempool_watch_get(h->pool, objs[i]);
	return got;
}

void *
hone_detail_mempool_get(struct hone_mempool_cache *cache)
{
	void *obj;

	return get(cache, &obj, 1, true) ? obj : NULL;
}

/*
 * Flat, as its twin below: an exchange then takes a few ns less. At keep 512,
 * n 32, short slots 5190 M pairs a second instead of 4930
 * (bench/mempool_bench).
 */
__attribute__((flatten)) int
hone_detail_mempool_get_bulk(
	struct hone_mempool_cache *cache, void **objs, size_t n)
{
	return get(cache, objs, n, true) == n ? 0 : -ENOBUFS;
}

size_t
hone_detail_mempool_get_burst(
	struct hone_mempool_cache *cache, void **objs, size_t n)
{
	return get(cache, objs, n, false);
}

void
hone_detail_mempool_put(struct hone_mempool_cache *cache, void *obj)
{
	hone_detail_mempool_put_bulk(cache, &obj, 1);
}

__attribute__((flatten)) void
hone_detail_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n)
{
	struct hone_mempool_handle *h = (struct hone_mempool_handle *)cache;

	if (!h->pool->watched) {
		hone_mempool_give(h, objs, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (hone_mempool_watch_put(h->pool, objs[i]))
			hone_mempool_give(h, objs + i, 1);
}
