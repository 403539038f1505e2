/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets that find the last object of a pool: see exact.h. */
#include <sched.h>
#include <time.h>
#include "mempool/exact.h"

/*
 * Waiting for the call of another thread, which takes less than 1 us while the
 * thread runs. If the thread is preempted, a yield gives it this CPU; a sleep
 * does so even if this thread has the higher priority of a real-time policy.
 * The process of the thread may have died. So the wait ends after the sleeps,
 * which take at least 1 s together.
 */
#define SPINS 64
#define YIELDS 1024
#define SLEEPS 10000
#define SLEEP_NS 100000

void
hone_mempool_load_new(struct hone_cache *c)
{
	/* First: the old magazine no longer counts for this cache. */
	HONE_DETAIL_SET_LEN(c->view, 0);
	HONE_DETAIL_IN_ORDER();
	/* Relaxed: no other thread takes a magazine from here before the
	 * release in hone_mempool_leave(). */
	atomic_store_explicit(
		&c->shown, HONE_MEMPOOL_IN_CALL, memory_order_relaxed);
	hone_mempool_load(c, hone_mempool_take_empty(c));
}

static void
wait_a_little(size_t turn)
{
	const struct timespec sleep = {0, SLEEP_NS};

	if (turn >= SPINS + YIELDS)
		(void)nanosleep(&sleep, NULL);
	else if (turn >= SPINS)
		(void)sched_yield();
}

/* Waits until the owner of a cache is in no call; returns what it shows. */
static struct hone_mempool_magazine *
shown_by(struct hone_cache *c)
{
	struct hone_mempool_magazine *m;

	for (size_t turn = 0;; turn++) {
		/* Acquire: pairs with the release in hone_mempool_leave(). */
		m = atomic_load_explicit(&c->shown, memory_order_acquire);
		if (m != HONE_MEMPOOL_IN_CALL)
			return m;
		if (turn == SPINS + YIELDS + SLEEPS)
			break;
		wait_a_little(turn);
	}
	/* The objects of this call are out until it ends; nobody waits for it
	 * again. Relaxed: passes nothing on. */
	atomic_compare_exchange_strong_explicit(&c->shown, &m, NULL,
		memory_order_relaxed, memory_order_relaxed);
	return NULL;
}

/*
 * Waits until each other cache has been in no call, and returns how often they
 * have exchanged their loaded magazines.
 */
static size_t
exchanges(struct hone_cache *c)
{
	struct hone_mempool *pool = c->pool;
	/* Relaxed: written under the mutex. */
	size_t n = atomic_load_explicit(&pool->n_used, memory_order_relaxed);
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct hone_cache *other = hone_mempool_cache_at(pool, i);

		if (other == c)
			continue;
		(void)shown_by(other);
		/* Acquire: pairs with the release in hone_mempool_add(). If
		 * this counts an exchange of a call that is under way, the
		 * search sees IN_CALL or later. */
		sum += atomic_load_explicit(
			&other->refills, memory_order_acquire);
		sum += atomic_load_explicit(
			&other->flushes, memory_order_acquire);
	}
	return sum;
}

/* Takes the loaded magazine of another cache; returns NULL if it is empty. */
static struct hone_mempool_magazine *
take_loaded(struct hone_cache *other)
{
	for (;;) {
		struct hone_mempool_magazine *m = shown_by(other);

		if (!m || m == HONE_MEMPOOL_NOTHING)
			return NULL;
		/*
		 * Acquire: pairs with the release in hone_mempool_leave(),
		 * perhaps of a later call that ended with the same magazine. If
		 * it fails, the owner made a call meanwhile.
		 */
		if (atomic_compare_exchange_strong_explicit(&other->shown, &m,
			    NULL, memory_order_acquire, memory_order_relaxed))
			return m;
	}
}

struct hone_mempool_magazine *
hone_mempool_seize(struct hone_cache *c)
{
	struct hone_mempool *pool = c->pool;
	size_t n = atomic_load_explicit(&pool->n_used, memory_order_relaxed);
	size_t before, after = exchanges(c);

	do {
		struct hone_mempool_magazine *m;

		before = after;
		/* Loaded magazines before the deques: a magazine that its owner
		 * passes on meanwhile is then in its deque. */
		for (size_t i = 0; i < n; i++) {
			struct hone_cache *other =
				hone_mempool_cache_at(pool, i);

			m = other == c ? NULL : take_loaded(other);
			if (m)
				return m;
		}
		m = hone_mempool_take_full(c);
		if (m)
			return m;
		after = exchanges(c);
	} while (before != after);
	return NULL;
}

size_t
hone_mempool_take_all(struct hone_cache *c, void **objs, size_t n)
{
	size_t got = hone_mempool_take(c, objs, n);

	while (got < n) {
		struct hone_mempool_magazine *m = hone_mempool_seize(c);

		if (!m)
			break;
		hone_mempool_replace(c, m);
		got += hone_mempool_take(c, objs + got, n - got);
	}
	return got;
}
