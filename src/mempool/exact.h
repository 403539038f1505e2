/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_EXACT_H
#define HONE_MEMPOOL_EXACT_H
/*
 * HONE_MEMPOOL_EXACT: a get finds every object of the pool, those that other
 * caches have loaded, too.
 *
 * Between two calls, a cache shows its loaded magazine, and any cache may take
 * it by a compare-and-swap. Each call begins with hone_mempool_enter(), which
 * hides the magazine again, and ends with hone_mempool_leave(). The inline
 * functions have an empty view (as if the pool were watched), so there is no
 * other call.
 *
 * Only a get that has found too few objects elsewhere looks at other caches'
 * loaded magazines: by hone_mempool_take_all(), under the mutex, so that one
 * thread does this at a time. Before it takes the mutex, it leaves its own
 * call: a thread in a call never waits for another one, and the thread with
 * the mutex may wait for the calls of others.
 * docs/design/mempool-order.md has the argument.
 */
#include "mempool.h"

/* Shown during a call of the owner. */
#define HONE_MEMPOOL_IN_CALL ((struct hone_mempool_magazine *)1)
/* Shown instead of a loaded magazine that is empty. */
#define HONE_MEMPOOL_NOTHING ((struct hone_mempool_magazine *)2)

/* The owner lost its loaded magazine, or opens its cache: loads another one. */
void hone_mempool_load_new(struct hone_cache *c);
/*
 * As hone_mempool_take(), from all caches; the mutex is held. Returns fewer
 * than n only if the pool has no more objects outside of reserves.
 */
size_t hone_mempool_take_all(struct hone_cache *c, void **objs, size_t n);
/* Returns a magazine with objects that c has not loaded, or NULL if there is
 * none; the mutex is held. */
struct hone_mempool_magazine *hone_mempool_seize(struct hone_cache *c);

/* What the owner shows between two calls. */
static inline struct hone_mempool_magazine *
hone_mempool_to_show(const struct hone_cache *c)
{
	return HONE_DETAIL_LEN(c->view) ? c->loaded : HONE_MEMPOOL_NOTHING;
}

/* Owner: begins a call. */
static inline void
hone_mempool_enter(struct hone_cache *c)
{
	struct hone_mempool_magazine *m = hone_mempool_to_show(c);

	/*
	 * Fails only if another cache took the magazine. Acquire: the owner is
	 * the only one that stores a magazine, so this pairs with nothing but
	 * keeps the call behind it.
	 */
	if (!atomic_compare_exchange_strong_explicit(&c->shown, &m,
		    HONE_MEMPOOL_IN_CALL, memory_order_acquire,
		    memory_order_relaxed))
		hone_mempool_load_new(c);
}

/* Owner: ends a call. */
static inline void
hone_mempool_leave(struct hone_cache *c)
{
	c->loaded->count = HONE_DETAIL_LEN(c->view);
	/* Release: pairs with the acquire in shown_by() and take_loaded() of
	 * exact.c. */
	atomic_store_explicit(
		&c->shown, hone_mempool_to_show(c), memory_order_release);
}

/* Any thread: the number of objects that a cache has loaded. */
static inline size_t
hone_mempool_len(const struct hone_cache *c)
{
	/* Relaxed: a count is outdated anyway. If another cache took the
	 * magazine, the view still describes it. */
	if (c->pool->exact &&
		!atomic_load_explicit(&c->shown, memory_order_relaxed))
		return 0;
	return HONE_DETAIL_LEN(c->view);
}

#endif
