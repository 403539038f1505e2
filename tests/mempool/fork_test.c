/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that stop in the middle of any operation: other threads continue, and
 * so does the child of a fork.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include "mempool_support.h"

#define CAPACITY 400
#define CACHE 8
/* Fewer where a fork takes far longer. */
#define ROUNDS (ASAN ? 60 : 200)

struct worker {
	pthread_t id;
	struct hone_mempool *pool;
	uint64_t seed;
	_Atomic bool stop;
	_Atomic size_t turns;
};

static sem_t stopped, go_on;

static void
stop_here(int signal)
{
	(void)signal;
	(void)sem_post(&stopped);
	while (sem_wait(&go_on) != 0)
		;
}

/* All operations in which a thread may stop, with at most 40 objects out. */
static void *
work(void *arg)
{
	struct worker *w = arg;
	struct hone_mempool_cache *c = NULL;
	void *objs[40];
	size_t have = 0;

	if (hone_mempool_cache_open(w->pool, &c) != 0)
		abort();
	while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
		size_t k = support_below(&w->seed, 20);
		struct hone_mempool_magazine *m;

		if (have + k <= 40)
			have += hone_mempool_get_burst(c, objs + have, k);
		k = support_below(&w->seed, 20);
		k = k < have ? k : have;
		have -= k;
		hone_mempool_put_bulk(c, objs + have, k);
		m = hone_mempool_get_magazine(c);
		if (m)
			hone_mempool_put_magazine(c, m);
		atomic_fetch_add_explicit(&w->turns, 1, memory_order_relaxed);
	}
	hone_mempool_put_bulk(c, objs, have);
	hone_mempool_cache_close(c);
	return NULL;
}

static void
start(struct worker *w, struct hone_mempool *pool)
{
	static uint64_t seed;

	if (seed == 0)
		seed = support_seed();
	w->pool = pool;
	w->seed = support_random(&seed);
	atomic_init(&w->stop, false);
	atomic_init(&w->turns, 0);
	assert_ok(pthread_create(&w->id, NULL, work, w));
	while (atomic_load_explicit(&w->turns, memory_order_relaxed) == 0)
		sched_yield();
}

static void
end(struct worker *w)
{
	atomic_store_explicit(&w->stop, true, memory_order_relaxed);
	assert_ok(pthread_join(w->id, NULL));
}

static void
hold(struct worker *w)
{
	assert_ok(pthread_kill(w->id, SIGUSR1));
	while (sem_wait(&stopped) != 0)
		;
}

/* Let the thread run for a short time, which differs between turns. */
static void
release(struct worker *w, uint64_t *seed)
{
	size_t more = atomic_load_explicit(&w->turns, memory_order_relaxed) +
		      support_below(seed, 50);

	(void)sem_post(&go_on);
	while (atomic_load_explicit(&w->turns, memory_order_relaxed) < more)
		sched_yield();
}

/*
 * Objects that a stopped thread may hold, loaded or in use: 40 + 2 x CACHE +
 * its magazine.
 */
#define WITHOUT_ONE (CAPACITY - 40 - 3 * CACHE)

POOL_TEST(a_thread_that_is_stopped_holds_up_nobody, pool_of(CAPACITY, CACHE, 3))
{
	struct worker other;
	uint64_t seed = support_seed();
	void *objs[CAPACITY];

	start(&other, pool);
	for (int round = 0; round < ROUNDS; round++) {
		hold(&other);
		for (int turn = 0; turn < 5; turn++) {
			size_t k = 1 + support_below(&seed, WITHOUT_ONE);

			assert_ok(hone_mempool_get_bulk(c, objs, k));
			hone_mempool_put_bulk(c, objs, k);
		}
		release(&other, &seed);
	}
	end(&other);
}

/* The child uses its copy; returns its exit status. */
static int
child(struct hone_mempool *pool, void **mine, size_t n_mine)
{
	size_t out = hone_mempool_after_fork(pool), n = CAPACITY - out;
	static void *objs[CAPACITY + 1];
	struct hone_mempool_findings findings;
	struct hone_mempool_cache *c = hone_mempool_thread_cache(pool), *d;

	if (!c || hone_mempool_cache_open(pool, &d) != 0)
		return 1;
	if (out < n_mine || out > CAPACITY - WITHOUT_ONE + n_mine)
		return 2;
	if (hone_mempool_get_burst(c, objs, CAPACITY + 1) != n)
		return 3;
	for (size_t i = 0; i < n; i++) {
		memset(objs[i], 1, 24);
		for (size_t k = 0; k < n_mine; k++)
			if (objs[i] == mine[k])
				return 4;
	}
	hone_mempool_put_bulk(d, objs, n);
	hone_mempool_put_bulk(c, mine, n_mine);
	hone_mempool_audit(pool, &findings, NULL, NULL);
	if (findings.in_pool != n + n_mine || findings.doubled ||
		findings.foreign || findings.damaged)
		return 5;
	hone_mempool_cache_close(d);
	hone_mempool_cache_close(c);
	if (hone_mempool_destroy(pool) != (out == n_mine ? 0 : -EBUSY))
		return 6;
	return 0;
}

static void
forked(unsigned flags)
{
	struct hone_mempool *pool = flagged_pool(flags, CAPACITY, CACHE, 4);
	struct hone_mempool_cache *c = hone_mempool_thread_cache(pool);
	struct worker other;
	uint64_t seed = support_seed();
	void *mine[30];

	start(&other, pool);
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = support_below(&seed, 30);
		pid_t pid;

		assert_ok(hone_mempool_get_bulk(c, mine, n));
		assert_ok(hone_mempool_reserve(c, n));
		if (round % 2)
			hold(&other);
		pid = fork();
		if (pid == 0)
			_exit(child(pool, mine, n));
		if (round % 2)
			release(&other, &seed);
		support_exits_with_0(pid);
		hone_mempool_put_bulk(c, mine, n);
	}
	end(&other);
	destroyed(pool); /* and the cache of this thread with it */
}

TEST(a_child_goes_on_with_what_is_not_out)
{
	forked(0);
}

TEST(a_child_goes_on_in_the_debug_flavour)
{
	forked(HONE_MEMPOOL_DEBUG);
}

TEST(a_child_goes_on_in_an_exact_pool)
{
	forked(HONE_MEMPOOL_EXACT);
}

POOL_TEST(
	a_child_goes_on_without_caches_of_threads, pool_of(CAPACITY, CACHE, 4))
{
	void *obj = hone_mempool_get(c);

	PASSES_IN_CHILD(child(pool, &obj, 1));
	hone_mempool_put(c, obj);
}

int
main(void)
{
	struct sigaction action = {.sa_handler = stop_here};

	sigemptyset(&action.sa_mask);
	if (sem_init(&stopped, 0, 0) || sem_init(&go_on, 0, 0) ||
		sigaction(SIGUSR1, &action, NULL))
		return 1;
	return run_all_tests(NULL, NULL);
}
