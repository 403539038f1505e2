/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_EXACT_H
#define HONE_MEMPOOL_EXACT_H
/*
 * HONE_MEMPOOL_EXACT: a get finds every object of the pool, those that other
 * caches have loaded, too.
 *
 * Each call begins with hone_mempool_enter() and ends with
 * hone_mempool_leave(). Both store to c->calls, and enter() then looks whether
 * a search has claimed the cache. A search claims a cache, and then waits until
 * its owner is in no call. This is a lock that is biased to the owner: between
 * the owner's store and load there is no instruction that orders them. The
 * search makes up for that by membarrier(), which is a full barrier on each CPU
 * that runs an owner. The inline functions have an empty view (as if the pool
 * were watched), so there is no other call.
 *
 * Only a get that has found too few objects elsewhere searches: by
 * hone_mempool_take_all(), under the mutex, so that one thread does this at a
 * time. Before it takes the mutex, it leaves its own call: a thread in a call
 * never waits for another one, and the thread with the mutex may wait for the
 * calls of others. docs/design/mempool-order.md has the argument.
 */
#include "mempool.h"

/*
 * Whether this process has asked to be interrupted by membarrier() of others. A
 * child of fork() has what its parent asked for.
 */
enum hone_mempool_barriers {
	HONE_MEMPOOL_BARRIERS_UNKNOWN,
	HONE_MEMPOOL_BARRIERS_ON,
	/* The kernel, or an emulator of it, has no such call. */
	HONE_MEMPOOL_BARRIERS_OFF,
};
extern _Atomic int hone_mempool_barriers __attribute__((visibility("hidden")));

/* Asks for the barriers if this process has not done so; returns whether it
 * gets them. */
bool hone_mempool_want_barriers(void);
/* hone_mempool_enter() without barriers of others, or after a claim. */
void hone_mempool_enter_ordered(struct hone_cache *c);
/*
 * As hone_mempool_take(), from all caches; the mutex is held. Returns fewer
 * than n only if the pool has no more objects outside of reserves.
 */
size_t hone_mempool_take_all(struct hone_cache *c, void **objs, size_t n);
/* Returns a magazine with objects that c has not loaded, or NULL if there is
 * none; the mutex is held. */
struct hone_mempool_magazine *hone_mempool_seize(struct hone_cache *c);

/* Any thread: the number of objects that a cache has loaded. */
static inline size_t
hone_mempool_len(const struct hone_cache *c)
{
	/* Relaxed: a count is outdated anyway. What a call that was given up
	 * moves is out. */
	size_t calls = atomic_load_explicit(&c->calls, memory_order_relaxed);

	if (calls % 2 != 0 && calls == atomic_load_explicit(&c->given_up,
					       memory_order_relaxed))
		return 0;
	return HONE_DETAIL_LEN(c->view);
}

/* The next odd number. If it is odd now, the owner died in a call. */
static inline size_t
hone_mempool_next_call(const struct hone_cache *c)
{
	/* Relaxed: only the owner writes it. */
	return (atomic_load_explicit(&c->calls, memory_order_relaxed) + 1) | 1;
}

/*
 * Owner, in a pool with barriers: begins a call, if the process has them, too,
 * and no search has claimed the cache. Otherwise it returns false, and there is
 * no call.
 */
static inline bool
hone_mempool_enter_quickly(struct hone_cache *c)
{
	size_t next = hone_mempool_next_call(c);

	/* Relaxed: passes nothing on. */
	if (atomic_load_explicit(&hone_mempool_barriers,
		    memory_order_relaxed) != HONE_MEMPOOL_BARRIERS_ON)
		return false;
	/* Relaxed: pairs with membarrier() in claim() of exact.c. */
	atomic_store_explicit(&c->calls, next, memory_order_relaxed);
	/* For the compiler; membarrier() does the same for the CPU. */
	atomic_signal_fence(memory_order_seq_cst);
	/* Acquire: pairs with the release in take_loaded(): what a search did
	 * with this cache is visible. */
	if (!HONE_DETAIL_RARE(
		    atomic_load_explicit(&c->claimed, memory_order_acquire)))
		return true;
	/* Release: as in hone_mempool_leave(). */
	atomic_store_explicit(&c->calls, next + 1, memory_order_release);
	return false;
}

/* Owner: begins a call. */
static inline void
hone_mempool_enter(struct hone_cache *c)
{
	if (!c->pool->barriers || !hone_mempool_enter_quickly(c))
		hone_mempool_enter_ordered(c);
}

/* Owner, who holds the mutex: begins a call. Nobody else claims a cache. */
static inline void
hone_mempool_enter_locked(struct hone_cache *c)
{
	atomic_store_explicit(
		&c->calls, hone_mempool_next_call(c), memory_order_relaxed);
}

/* Owner: ends a call. */
static inline void
hone_mempool_leave(struct hone_cache *c)
{
	/* Release: pairs with the load in calls_of() of exact.c. */
	atomic_store_explicit(&c->calls,
		atomic_load_explicit(&c->calls, memory_order_relaxed) + 1,
		memory_order_release);
}

#endif
