/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a pool promises to threads: each object belongs to one thread at a time,
 * with the data that its last owner wrote; no object gets lost when caches are
 * opened and closed; and a thread that only gets receives what a thread that
 * only puts has put.
 */
#include <sched.h>
#include <stdatomic.h>
#include <hone/ring.h>
#include "slots_wrap.h"

#define THREADS 4
#define MOST 600 /* objects that a thread holds */

/* Turns of a thread; fewer where a turn takes far longer. */
#define FEW_TURNS 6000
#if ASAN || TSAN || !defined(__x86_64__) /* emulated, in most cases */
#define TURNS FEW_TURNS
#else
#define TURNS 100000
#endif

struct object {
	_Atomic unsigned owner;
	/* Not atomic: a sanitizer sees an object that comes too early. */
	unsigned turns;
};

struct run {
	struct hone_mempool *pool;
	struct hone_ring *ring;
	size_t n;
	bool same_cpu;
	_Atomic unsigned errors;
	_Atomic size_t passed;
	_Atomic bool stop;
};

struct thread {
	pthread_t id;
	struct run *run;
	unsigned number;
	uint64_t seed;
};

static void
mine(struct thread *t, void **objs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct object *o = objs[i];
		unsigned before = atomic_exchange_explicit(
			&o->owner, t->number, memory_order_relaxed);

		EXPECT(before == 0, t->run);
		o->turns++;
	}
}

static void
nobodys(struct thread *t, void **objs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct object *o = objs[i];
		unsigned before = atomic_exchange_explicit(
			&o->owner, 0, memory_order_relaxed);

		EXPECT(before == t->number, t->run);
		o->turns++;
	}
}

/* Take up to n objects in one of several ways. */
static size_t
take(struct thread *t, struct hone_mempool_cache *c, void **objs, size_t n)
{
	struct hone_mempool_magazine *m;
	size_t got = 0;

	switch (support_below(&t->seed, 4)) {
	case 0:
		objs[0] = hone_mempool_get(c);
		got = objs[0] != NULL;
		break;
	case 1:
		got = hone_mempool_get_bulk(c, objs, n) == 0 ? n : 0;
		break;
	case 2:
		got = hone_mempool_get_burst(c, objs, n);
		break;
	default:
		m = hone_mempool_get_magazine(c);
		while (m && m->count > 0 && got < n)
			objs[got++] = m->objects[--m->count];
		if (m)
			hone_mempool_put_magazine(c, m);
	}
	mine(t, objs, got);
	return got;
}

static void
give(struct thread *t, struct hone_mempool_cache *c, void **objs, size_t n)
{
	nobodys(t, objs, n);
	if (n == 1)
		hone_mempool_put(c, objs[0]);
	else
		hone_mempool_put_bulk(c, objs, n);
}

static void
pin(struct thread *t)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (t->run->same_cpu)
		(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Take, keep, return objects, and open and close caches, at random. */
static void *
churn(void *arg)
{
	struct thread *t = arg;
	struct run *run = t->run;
	struct hone_mempool_cache *c = NULL;
	void *objs[MOST];
	size_t have = 0;

	pin(t);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t k;

		if (!c && hone_mempool_cache_open(run->pool, &c) != 0) {
			sched_yield(); /* fewer caches than threads */
			continue;
		}
		k = 1 + support_below(&t->seed, run->n);
		if (k <= MOST - have && support_below(&t->seed, 2)) {
			have += take(t, c, objs + have, k);
		} else {
			k = k < have ? k : have;
			have -= k;
			give(t, c, objs + have, k);
		}
		if (support_below(&t->seed, 64) == 0) {
			hone_mempool_cache_close(c);
			c = NULL;
		}
	}
	while (!c && hone_mempool_cache_open(run->pool, &c) != 0)
		sched_yield();
	give(t, c, objs, have);
	hone_mempool_cache_close(c);
	return NULL;
}

static void
start(struct thread *t, struct run *run, void *(*fn)(void *), unsigned n)
{
	static uint64_t seed;

	if (seed == 0)
		seed = support_seed();
	for (unsigned i = 0; i < n; i++) {
		t[i].run = run;
		t[i].number = i + 1;
		t[i].seed = support_random(&seed);
		assert_ok(pthread_create(&t[i].id, NULL, fn, &t[i]));
	}
}

static void
join(struct thread *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_ok(pthread_join(t[i].id, NULL));
}

/* Threads take n objects at most at a time. */
static void
churned(struct hone_mempool_attr attr, size_t n, bool pin)
{
	struct run run = {.n = n, .same_cpu = pin};
	struct thread threads[THREADS];

	assert_ok(hone_mempool_create(&run.pool, &attr));
	start(threads, &run, churn, THREADS);
	join(threads, THREADS);
	assert_int_equal(run.errors, 0);
	destroyed(run.pool);
}

TEST(each_object_is_one_threads_at_a_time)
{
	enum { ANYWHERE, ONE_CPU, EXACT = HONE_MEMPOOL_EXACT };
	static const struct {
		size_t capacity, cache_size;
		unsigned caches;
		size_t n;
		bool pin;
		unsigned flags;
		size_t slots; /* of a deque; 0: as the library chooses */
	} shapes[] = {
		{10000, 512, 8, 300, ANYWHERE, 0, 0},
		{10000, 32, 4, 64, ANYWHERE, 0, 0},
		/* small magazines are stolen all the time */
		{40, 1, 4, 8, ANYWHERE, 0, 0},
		{7, 1, 5, 3, ANYWHERE, 0, 0},
		{64, 2, 4, 12, ANYWHERE, 0, 0},
		{300, 7, 6, 40, ANYWHERE, 0, 0},
		/* nothing is left */
		{5, 1, 4, 4, ANYWHERE, 0, 0},
		{300, 512, 4, 200, ANYWHERE, 0, 0},
		{500, 20, 4, 300, ANYWHERE, 0, 0},
		/* fewer caches than threads */
		{1000, 30, 2, 60, ANYWHERE, 0, 0},
		{100, 3, 1, 20, ANYWHERE, 0, 0},
		{1000, 10, 4, 60, ONE_CPU, 0, 0},
		{10, 1, 4, 4, ONE_CPU, 0, 0},
		{1000, 32, 4, 64, ANYWHERE, EXACT, 0},
		{1000, 32, 4, 64, ONE_CPU, EXACT, 0},
		{40, 1, 4, 8, ANYWHERE, EXACT, 0},
		{40, 1, 4, 8, ONE_CPU, EXACT, 0},
		{30, 20, 4, 12, ANYWHERE, EXACT, 0},
		{30, 20, 4, 12, ONE_CPU, EXACT, 0},
		{300, 7, 3, 40, ANYWHERE, EXACT, 0},
		{300, 7, 3, 40, ONE_CPU, EXACT, 0},
		/* what spills is shared */
		{240, 4, 4, 60, ANYWHERE, 0, 1},
		{240, 4, 4, 60, ANYWHERE, 0, 4},
		{240, 4, 4, 60, ANYWHERE, EXACT, 1},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct hone_mempool_attr attr = attributes(shapes[i].capacity,
			shapes[i].cache_size, shapes[i].caches);

		attr.flags |= shapes[i].flags;
		print_message("# shape %zu\n", i);
		deque_slots = shapes[i].slots;
		churned(attr, shapes[i].n, shapes[i].pin);
	}
	deque_slots = 0;
}

/* A deque whose slots are in a page of their own, and what its owner popped. */
static struct stopped {
	struct hone_deque deque;
	void **page;
	size_t size;
	void *popped;
} stopped;

static void
pop_meanwhile(int number)
{
	(void)number;
	if (mprotect(stopped.page, stopped.size, PROT_READ) != 0)
		abort();
	stopped.popped = hone_deque_pop(&stopped.deque);
}

/* The thief stops where it reads the slot: the page is closed. */
TEST(the_owner_has_the_last_item_before_a_thief_that_stopped)
{
	struct sigaction usual, action = {.sa_handler = pop_meanwhile,
					.sa_flags = (int)SA_RESETHAND};
	int item;

	stopped.size = (size_t)sysconf(_SC_PAGESIZE);
	stopped.page = mmap(NULL, stopped.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(stopped.page != MAP_FAILED);
	hone_deque_init(&stopped.deque, (void *_Atomic *)stopped.page, 1);
	assert_true(hone_deque_push(&stopped.deque, &item));
	assert_ok(mprotect(stopped.page, stopped.size, PROT_NONE));
	assert_ok(sigaction(SIGSEGV, &action, &usual));
	void *stolen = hone_deque_steal(&stopped.deque);
	assert_ok(sigaction(SIGSEGV, &usual, NULL));
	assert_ptr_equal(stopped.popped, &item);
	assert_null(stolen);
	munmap(stopped.page, stopped.size);
}

/* The first of two threads only gets, the second only puts. */
static void *
one_way(void *arg)
{
	struct thread *t = arg;
	struct run *run = t->run;
	struct hone_mempool_cache *c = NULL;

	pin(t);
	EXPECT(hone_mempool_cache_open(run->pool, &c) == 0, run);
	for (size_t i = 0; c && i < FEW_TURNS;) {
		void *obj = NULL;

		if (t->number == 1)
			obj = hone_mempool_get(c);
		else if (hone_ring_dequeue(run->ring, &obj) != 0)
			obj = NULL;
		if (!obj) {
			sched_yield();
			continue;
		}
		mine(t, &obj, 1);
		nobodys(t, &obj, 1);
		if (t->number == 2)
			hone_mempool_put(c, obj);
		else
			while (hone_ring_enqueue(run->ring, obj) != 0)
				sched_yield();
		i++;
	}
	hone_mempool_cache_close(c);
	return NULL;
}

/* The smallest capacities that are enough by the header. */
TEST(who_only_gets_is_fed_by_who_only_puts)
{
	static const size_t sizes[] = {1, 2, 8, 100, 512};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct run run = {.same_cpu = i % 2};
		struct thread threads[2];

		run.pool = pool_of(sizes[i] + 1, sizes[i], 2);
		assert_ok(hone_ring_create(&run.ring, 64, 0));
		start(threads, &run, one_way, 2);
		join(threads, 2);
		assert_int_equal(run.errors, 0);
		hone_ring_destroy(run.ring);
		destroyed(run.pool);
	}
}

static void *
leave_with_objects_loaded(void *arg)
{
	struct thread *t = arg;
	struct hone_mempool_cache *c = hone_mempool_thread_cache(t->run->pool);
	void *objs[50];
	size_t n;

	EXPECT(c != NULL, t->run);
	EXPECT(c == hone_mempool_thread_cache(t->run->pool), t->run);
	n = hone_mempool_get_burst(c, objs, 1 + support_below(&t->seed, 50));
	mine(t, objs, n);
	nobodys(t, objs, n);
	hone_mempool_put_bulk(c, objs, n);
	return NULL;
}

TEST(a_thread_that_ends_strands_nothing)
{
	struct run run = {.pool = pool_of(777, 100, THREADS + 1)};
	struct thread threads[THREADS];
	struct hone_mempool_cache *c = hone_mempool_thread_cache(run.pool);
	void *objs[777];

	assert_non_null(c);
	for (unsigned round = 0; round < 20; round++) {
		start(threads, &run, leave_with_objects_loaded, THREADS);
		join(threads, THREADS);
		assert_int_equal(run.errors, 0);
		assert_ok(hone_mempool_get_bulk(c, objs, 777));
		hone_mempool_put_bulk(c, objs, 777);
	}
	/* closed by hand, it is not closed again, and opens again */
	hone_mempool_cache_close(c);
	assert_non_null(hone_mempool_thread_cache(run.pool));
	assert_ok(hone_mempool_destroy(run.pool));
}

/* Each thread has caches in a pool of all threads and in pools of its own. */
static void *
have_pools_that_come_and_go(void *arg)
{
	struct thread *t = arg;
	struct hone_mempool *first = pool_of(8, 2, 1);
	struct hone_mempool_cache *c = hone_mempool_thread_cache(first);

	for (int i = 0; i < 20; i++) {
		struct hone_mempool *pool = pool_of(8, 2, 1);

		EXPECT(hone_mempool_thread_cache(pool) != NULL, t->run);
		(void)leave_with_objects_loaded(t);
		EXPECT(hone_mempool_destroy(pool) == 0, t->run);
	}
	EXPECT(c && hone_mempool_thread_cache(first) == c, t->run);
	EXPECT(hone_mempool_destroy(first) == 0, t->run);
	return NULL;
}

TEST(threads_end_while_pools_come_and_go)
{
	struct run run = {.pool = pool_of(777, 100, THREADS)};
	struct thread threads[THREADS];

	for (int round = 0; round < 10; round++) {
		start(threads, &run, have_pools_that_come_and_go, THREADS);
		join(threads, THREADS);
		assert_int_equal(run.errors, 0);
	}
	destroyed(run.pool);
}

static void *
count_all_the_time(void *arg)
{
	struct thread *t = arg;

	while (!atomic_load_explicit(&t->run->stop, memory_order_relaxed)) {
		struct hone_mempool_stats stats = stats_of(t->run->pool);

		EXPECT(stats.caches <= THREADS, t->run);
		EXPECT(stats.loaded <= THREADS * stats.cache_size, t->run);
		sched_yield();
	}
	return NULL;
}

TEST(statistics_may_be_asked_for_at_any_time)
{
	struct run run = {.n = 40};
	struct thread threads[THREADS], counter;

	run.pool = pool_of(500, 20, THREADS);
	start(&counter, &run, count_all_the_time, 1);
	start(threads, &run, churn, THREADS);
	join(threads, THREADS);
	atomic_store_explicit(&run.stop, true, memory_order_relaxed);
	join(&counter, 1);
	assert_int_equal(run.errors, 0);
	destroyed(run.pool);
}
