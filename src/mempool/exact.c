/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets that find the last object of a pool: see exact.h. */
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
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
#define TURNS (SPINS + YIELDS + SLEEPS)
/* Numbers of the kernel. Its headers are no part of musl, and may be absent. */
#define GLOBAL_BARRIER (1 << 1)         /* MEMBARRIER_CMD_GLOBAL_EXPEDITED */
#define GLOBAL_BARRIER_ALLOWED (1 << 2) /* the same with _REGISTER */

_Atomic int hone_mempool_barriers;

static bool
barrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool
hone_mempool_want_barriers(void)
{
	/* Relaxed: the same for each thread of the process. */
	int state = atomic_load_explicit(
		&hone_mempool_barriers, memory_order_relaxed);

	if (state == HONE_MEMPOOL_BARRIERS_UNKNOWN) {
		state = barrier(GLOBAL_BARRIER_ALLOWED)
				? HONE_MEMPOOL_BARRIERS_ON
				: HONE_MEMPOOL_BARRIERS_OFF;
		atomic_store_explicit(
			&hone_mempool_barriers, state, memory_order_relaxed);
	}
	return state == HONE_MEMPOOL_BARRIERS_ON;
}

static void
wait_a_little(size_t turn)
{
	const struct timespec sleep = {0, SLEEP_NS};
	int cancel;

	if (turn >= SPINS + YIELDS) {
		/* A thread that is cancelled here would keep the mutex. */
		(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		(void)nanosleep(&sleep, NULL);
		(void)pthread_setcancelstate(cancel, NULL);
	} else if (turn >= SPINS) {
		(void)sched_yield();
	}
}

static void
wait_for_search(struct hone_cache *c)
{
	for (size_t turn = 0; turn < TURNS; turn++) {
		/* Acquire: pairs with the release in take_loaded(). */
		if (!atomic_load_explicit(&c->claimed, memory_order_acquire))
			return;
		wait_a_little(turn);
	}
	/* With the mutex, there is no search. Perhaps its process died. */
	hone_mempool_lock(c->pool);
	atomic_store_explicit(&c->claimed, false, memory_order_relaxed);
	hone_mempool_unlock(c->pool);
}

void
hone_mempool_enter_ordered(struct hone_cache *c)
{
	(void)hone_mempool_want_barriers();
	for (;;) {
		/* Both seq_cst: of this store and load, and the store and load
		 * in claim(), one of the loads sees the other's store. */
		(void)atomic_exchange_explicit(&c->calls,
			hone_mempool_next_call(c), memory_order_seq_cst);
		if (!atomic_load_explicit(&c->claimed, memory_order_seq_cst))
			return;
		hone_mempool_leave(c);
		wait_for_search(c);
	}
}

/*
 * Waits until the owner of a cache is in no call; returns the number of its
 * calls, which is odd if the wait was given up.
 */
static size_t
calls_of(struct hone_cache *c)
{
	size_t calls;

	for (size_t turn = 0;; turn++) {
		/* seq_cst: see hone_mempool_enter_ordered(). As an acquire, it
		 * pairs with the release in hone_mempool_leave(). */
		calls = atomic_load_explicit(&c->calls, memory_order_seq_cst);
		/* Relaxed: written under the mutex. */
		if (calls % 2 == 0 ||
			calls == atomic_load_explicit(
					 &c->given_up, memory_order_relaxed))
			return calls;
		if (turn == TURNS)
			break;
		wait_a_little(turn);
	}
	/* The objects of this call are out until it ends; nobody waits for it
	 * again. */
	atomic_store_explicit(&c->given_up, calls, memory_order_relaxed);
	return calls;
}

/*
 * Waits until each other cache has been in no call, and returns how often they
 * have exchanged their loaded magazines or got objects from outside.
 */
static size_t
changes(struct hone_cache *c)
{
	struct hone_mempool *pool = c->pool;
	/* Relaxed: written under the mutex. */
	size_t n = atomic_load_explicit(&pool->n_used, memory_order_relaxed);
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct hone_cache *other = hone_mempool_cache_at(pool, i);

		if (other == c)
			continue;
		(void)calls_of(other);
		/* Acquire: pairs with the release in hone_mempool_add(). If
		 * this counts a call that is under way, the search sees the odd
		 * number of this call or a later one. */
		sum += atomic_load_explicit(
			&other->refills, memory_order_acquire);
		sum += atomic_load_explicit(
			&other->flushes, memory_order_acquire);
		sum += atomic_load_explicit(&other->puts, memory_order_acquire);
	}
	return sum;
}

/* The number of objects that a cache had loaded when it was in no call, or
 * perhaps another one above 0. The length in the middle of a call means
 * nothing. */
static size_t
loaded_between_calls(struct hone_cache *other)
{
	size_t len, calls, again, turn = 0;

	do {
		calls = calls_of(other);
		if (calls % 2 != 0)
			return 0;
		/* The owner makes one call after the other: claim() stops it.
		 */
		if (turn++ == SPINS)
			return 1;
		/* Acquire: pairs with the release in hone_mempool_set_len(): if
		 * this length is of a later call, its odd number is seen. */
		len = __atomic_load_n(&other->view->len, __ATOMIC_ACQUIRE);
		again = atomic_load_explicit(
			&other->calls, memory_order_relaxed);
	} while (calls != again);
	return len;
}

/* Keeps the owner of a cache from its calls; returns false if it cannot. */
static bool
claim(struct hone_cache *other)
{
	atomic_store_explicit(&other->claimed, true, memory_order_seq_cst);
	/* Fails if this process may not do what the creator of the pool may. */
	if (other->pool->barriers && !barrier(GLOBAL_BARRIER))
		return false;
	/* If the owner has begun a call and not seen the claim, the number is
	 * odd here. The next call sees the claim. */
	return calls_of(other) % 2 == 0;
}

/* Takes the loaded magazine of another cache, which gets an empty one; returns
 * NULL if it has no objects. */
static struct hone_mempool_magazine *
take_loaded(struct hone_cache *c, struct hone_cache *other)
{
	struct hone_mempool_magazine *m = NULL, *empty;
	size_t len;

	if (loaded_between_calls(other) == 0)
		return NULL;
	empty = hone_mempool_take_empty(c);
	len = claim(other) ? HONE_DETAIL_LEN(other->view) : 0;
	if (len > 0) {
		m = hone_mempool_loaded(other);
		hone_mempool_load(other, empty);
		m->count = len;
	}
	/* Release: pairs with the loads of claimed by the owner. */
	atomic_store_explicit(&other->claimed, false, memory_order_release);
	if (!m)
		hone_mempool_push(c, empty);
	return m;
}

struct hone_mempool_magazine *
hone_mempool_seize(struct hone_cache *c)
{
	struct hone_mempool *pool = c->pool;
	size_t n = atomic_load_explicit(&pool->n_used, memory_order_relaxed);
	size_t before, after = changes(c);

	do {
		struct hone_mempool_magazine *m;

		before = after;
		/* Loaded magazines before the deques: a magazine that its owner
		 * passes on meanwhile is then in its deque. */
		for (size_t i = 0; i < n; i++) {
			struct hone_cache *other =
				hone_mempool_cache_at(pool, i);

			m = other == c ? NULL : take_loaded(c, other);
			if (m)
				return m;
		}
		/* A steal, since a pop that finds nothing acquires nothing: the
		 * call of a thief has to be seen by changes(). */
		m = hone_deque_steal(&c->deque[HONE_MEMPOOL_FULL]);
		if (!m)
			m = hone_mempool_take_full(c);
		if (m)
			return m;
		after = changes(c);
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
