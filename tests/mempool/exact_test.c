/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HONE_MEMPOOL_EXACT: a get finds every object of the pool, whichever cache has
 * it loaded, and whatever other threads do meanwhile.
 */
#include <linux/membarrier.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include "exact.h"
#include "slots_wrap.h"

/* Sleeps of the library: as many as there were. They take time only in tests
 * with threads, whose calls are waited for. */
static unsigned sleeps;
static bool threads;
static void (*on_sleep)(void);

STANDS_FOR(int, nanosleep, const struct timespec *wanted, struct timespec *left)
{
	int cancel;

	if (threads)
		return __real_nanosleep(wanted, left);
	/* A thread that ends here would keep the mutex, or its claim. */
	assert_ok(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel));
	assert_int_equal(cancel, PTHREAD_CANCEL_DISABLE);
	sleeps++;
	if (on_sleep)
		on_sleep();
	return 0;
}

/* Calls of membarrier() by a search, which may be refused. */
static unsigned barriers;
static bool refused;
static void (*on_barrier)(void);

/* Only membarrier(), with three arguments, is called through it here. */
STANDS_FOR(long, syscall, long number, ...)
{
	va_list args;
	int command;

	va_start(args, number);
	command = va_arg(args, int);
	va_end(args);
	if (refused) {
		errno = EPERM;
		return -1;
	}
	barriers += command == MEMBARRIER_CMD_GLOBAL_EXPEDITED;
	if (command == MEMBARRIER_CMD_GLOBAL_EXPEDITED && on_barrier)
		on_barrier();
	return __real_syscall(number, command, 0, 0);
}

/* Old kernels and emulators have no barriers. */
static void
need_barriers(void)
{
	if (!hone_mempool_want_barriers()) {
		printf("# skipped: membarrier() is missing here\n");
		skip();
	}
}

/* As in a process that has not asked for barriers yet. */
static void
forget_barriers(void)
{
	atomic_store(&hone_mempool_barriers, HONE_MEMPOOL_BARRIERS_UNKNOWN);
}

static struct hone_mempool *
exact_pool(size_t capacity, size_t cache_size, unsigned caches)
{
	return flagged_pool(HONE_MEMPOOL_EXACT, capacity, cache_size, caches);
}

/* A pool of n objects, all loaded in two caches of three. */
struct three {
	struct hone_mempool *pool;
	struct hone_mempool_cache *a, *b, *c;
	void *objs[40];
};

static void
load_others(struct three *t)
{
	t->pool = exact_pool(20, 12, 3);
	t->a = opened(t->pool);
	t->b = opened(t->pool);
	t->c = opened(t->pool);
	assert_ok(hone_mempool_get_bulk(t->a, t->objs, 20));
	hone_mempool_put_bulk(t->a, t->objs, 11);
	hone_mempool_put_bulk(t->b, t->objs + 11, 9);
	assert_int_equal(stats_of(t->pool).loaded, 20);
	assert_int_equal(hone_mempool_available(t->pool), 20);
}

static void
close_three(struct three *t)
{
	hone_mempool_cache_close(t->a);
	hone_mempool_cache_close(t->b);
	hone_mempool_cache_close(t->c);
	destroyed(t->pool);
}

/* The caches whose magazines were taken go on as before. */
static void
go_on(struct three *t)
{
	all_different(t->objs, 20);
	assert_int_equal(hone_mempool_available(t->pool), 0);
	audited(t->pool, 20);
	assert_null(hone_mempool_get(t->a));
	hone_mempool_put_bulk(t->a, t->objs, 10);
	hone_mempool_put_bulk(t->b, t->objs + 10, 10);
	audited(t->pool, 0);
	close_three(t);
}

/* A test of what load_others() makes, which has all objects in the end. */
#define THREE_TEST(name)                                                       \
	static void of_three_##name(struct three *t);                          \
	TEST(name)                                                             \
	{                                                                      \
		struct three three;                                            \
                                                                               \
		load_others(&three);                                           \
		of_three_##name(&three);                                       \
		go_on(&three);                                                 \
	}                                                                      \
	static void of_three_##name(struct three *t)

TEST(what_other_caches_have_loaded_is_found)
{
	struct hone_mempool_magazine *m;
	struct three t;
	size_t got = 0;

	load_others(&t);
	while (got < 20 && (t.objs[got] = hone_mempool_get(t.c)) != NULL)
		got++;
	assert_int_equal(got, 20);
	go_on(&t);
	load_others(&t);
	assert_ok(hone_mempool_get_bulk(t.c, t.objs, 20));
	go_on(&t);
	load_others(&t);
	assert_int_equal(hone_mempool_get_burst(t.c, t.objs, 40), 20);
	go_on(&t);
	load_others(&t);
	assert_int_equal(hone_mempool_reserve(t.c, 21), -ENOBUFS);
	assert_ok(hone_mempool_reserve(t.c, 20));
	assert_ok(hone_mempool_get_bulk(t.c, t.objs, 20));
	go_on(&t);
	load_others(&t);
	for (got = 0; (m = hone_mempool_get_magazine(t.c)) != NULL;) {
		assert_true(m->count > 0);
		while (m->count > 0)
			t.objs[got++] = m->objects[--m->count];
		hone_mempool_put_magazine(t.c, m);
	}
	assert_int_equal(got, 20);
	go_on(&t);
}

TEST(what_other_caches_have_loaded_is_found_without_barriers)
{
	refused = true;
	forget_barriers();
	what_other_caches_have_loaded_is_found(state);
	refused = false;
	forget_barriers();
}

/* The pool was made by a process that may make barriers. */
TEST(owners_that_may_not_ask_for_barriers_order_their_calls)
{
	struct three t;

	load_others(&t);
	atomic_store(&hone_mempool_barriers, HONE_MEMPOOL_BARRIERS_OFF);
	assert_ok(hone_mempool_get_bulk(t.c, t.objs, 20));
	go_on(&t);
	forget_barriers();
}

TEST(a_claim_ends_with_the_search)
{
	struct three t;

	load_others(&t);
	assert_ok(hone_mempool_get_bulk(t.c, t.objs, 20));
	sleeps = 0;
	go_on(&t);
	assert_int_equal(sleeps, 0);
}

THREE_TEST(a_search_without_barriers_takes_nothing_from_other_caches)
{
	need_barriers();
	refused = true;
	assert_int_equal(hone_mempool_get_bulk(t->c, t->objs, 20), -ENOBUFS);
	refused = false;
	assert_ok(hone_mempool_get_bulk(t->c, t->objs, 20));
}

/* Barriers interrupt the threads of other CPUs. */
THREE_TEST(a_get_that_fails_makes_no_barrier)
{
	assert_ok(hone_mempool_get_bulk(t->c, t->objs, 20));
	barriers = 0;
	assert_null(hone_mempool_get(t->c));
	assert_int_equal(barriers, 0);
}

/* Takes n objects in the middle of a call of the owner. */
static void
take_in_call(struct hone_cache *c, void **objs, size_t n)
{
	assert_int_equal(hone_mempool_take(c, objs, n), n);
	for (size_t i = 0; c->pool->watched && i < n; i++)
		hone_mempool_watch_get(c->pool, objs[i]);
}

/* The cache of the next tests whose owner does something meanwhile. */
static struct hone_cache *busy;
static struct hone_mempool_magazine *loaded_by_busy;
static void *taken[20];

static void
leave_busy(void)
{
	hone_mempool_leave(busy);
	on_sleep = NULL;
}

/* The rest of the call that take_from_busy() began. */
static void
end_call(void)
{
	assert_ptr_equal(hone_mempool_loaded(busy), loaded_by_busy);
	assert_int_equal(HONE_DETAIL_LEN(busy->view), 1);
	leave_busy();
}

/* A call that began before the barrier, and has not seen the claim. */
static void
take_from_busy(void)
{
	assert_true(atomic_load(&busy->claimed));
	hone_mempool_enter_locked(busy);
	loaded_by_busy = hone_mempool_loaded(busy);
	take_in_call(busy, taken, 10);
	on_barrier = NULL;
	on_sleep = end_call;
}

THREE_TEST(a_call_that_has_not_seen_the_claim_is_waited_for)
{
	need_barriers();
	busy = (struct hone_cache *)t->a;
	on_barrier = take_from_busy;
	assert_int_equal(hone_mempool_get_burst(t->c, t->objs, 20), 10);
	assert_null(on_barrier);
	assert_null(on_sleep);
	for (size_t i = 0; i < 10; i++)
		t->objs[10 + i] = taken[i];
}

/* The search that has claimed the cache waits for its call. */
THREE_TEST(an_owner_that_gives_way_is_in_no_call)
{
	struct hone_cache *a;

	need_barriers();
	a = (struct hone_cache *)t->a;
	atomic_store(&a->claimed, true);
	assert_false(hone_mempool_enter_quickly(a));
	assert_int_equal(atomic_load(&a->calls) % 2, 0);
	atomic_store(&a->claimed, false);
	assert_true(hone_mempool_enter_quickly(a));
	assert_int_equal(atomic_load(&a->calls) % 2, 1);
	hone_mempool_leave(a);
	assert_ok(hone_mempool_get_bulk(t->c, t->objs, 20));
}

static void
end_claim(void)
{
	/* A search would wait for a call. */
	assert_int_equal(atomic_load(&busy->calls) % 2, 0);
	atomic_store(&busy->claimed, false);
	on_sleep = NULL;
}

THREE_TEST(an_owner_waits_until_a_claim_ends)
{
	busy = (struct hone_cache *)t->a;
	atomic_store(&busy->claimed, true);
	on_sleep = end_claim;
	assert_ok(hone_mempool_get_bulk(t->a, t->objs, 11));
	assert_null(on_sleep);
	hone_mempool_put_bulk(t->a, t->objs, 11);
	/* The process of the search died. */
	atomic_store(&busy->claimed, true);
	sleeps = 0;
	assert_ok(hone_mempool_get_bulk(t->a, t->objs, 11));
	assert_int_equal(sleeps, 10000);
	assert_ok(hone_mempool_get_bulk(t->a, t->objs + 11, 9));
	assert_int_equal(sleeps, 10000);
}

THREE_TEST(a_call_that_does_not_end_is_given_up)
{
	struct hone_cache *a;

	a = (struct hone_cache *)t->a;
	hone_mempool_enter(a);
	sleeps = 0;
	assert_int_equal(hone_mempool_get_bulk(t->c, t->objs, 20), -ENOBUFS);
	assert_int_equal(sleeps, 10000);
	/* nobody waits again */
	sleeps = 0;
	assert_ok(hone_mempool_get_bulk(t->c, t->objs, 9));
	assert_null(hone_mempool_get(t->c));
	assert_int_equal(sleeps, 0);
	assert_int_equal(hone_mempool_available(t->pool), 0);
	hone_mempool_leave(a);
	assert_ok(hone_mempool_get_bulk(t->c, t->objs + 9, 11));
}

THREE_TEST(a_closed_cache_is_not_waited_for)
{
	hone_mempool_cache_close(t->a);
	sleeps = 0;
	assert_ok(hone_mempool_get_bulk(t->c, t->objs, 20));
	assert_null(hone_mempool_get(t->c));
	assert_int_equal(sleeps, 0);
	t->a = opened(t->pool);
}

/* Caches of the next tests, in the order in which a search visits them; the
 * fourth one searches. */
static struct hone_mempool_cache *first, *second, *third, *fourth;
static void *spare;

static struct hone_mempool *
open_four(size_t capacity)
{
	struct hone_mempool *pool = exact_pool(capacity, 3, 4);

	first = opened(pool);
	second = opened(pool);
	third = opened(pool);
	fourth = opened(pool);
	return pool;
}

static void
close_four(struct hone_mempool *pool, void *const *objs, size_t n)
{
	hone_mempool_put_bulk(fourth, objs, n);
	hone_mempool_cache_close(first);
	hone_mempool_cache_close(second);
	hone_mempool_cache_close(third);
	closed_and_destroyed(pool, fourth);
}

static void
second_sleep(void)
{
	void *obj = hone_mempool_get(first);

	assert_non_null(obj);
	hone_mempool_put(first, obj);
	hone_mempool_leave((struct hone_cache *)second);
	on_sleep = NULL;
}

/* The third cache passes its magazine on, for room for one object. */
static void
first_sleep(void)
{
	struct hone_cache *c = (struct hone_cache *)third;

	hone_mempool_give(c, &spare, 1);
	assert_int_equal(hone_mempool_take(c, &spare, 1), 1);
	hone_mempool_leave(c);
	hone_mempool_enter((struct hone_cache *)second);
	on_sleep = second_sleep;
}

/*
 * The search waits twice: for the third cache before it begins, and for the
 * second. Meanwhile, the first one, which the search has found empty, loads the
 * only magazine with objects, which was in the deque of the third.
 */
TEST(a_magazine_that_moves_during_the_search_is_found)
{
	struct hone_mempool *pool = open_four(4);
	void *objs[4];

	assert_ok(hone_mempool_get_bulk(third, objs, 4));
	hone_mempool_put_bulk(third, objs, 3);
	spare = objs[3];
	assert_int_equal(stats_of(pool).loaded, 3);
	hone_mempool_enter((struct hone_cache *)third);
	on_sleep = first_sleep;
	assert_ok(hone_mempool_get_bulk(fourth, objs, 3));
	assert_null(on_sleep);
	objs[3] = spare;
	all_different(objs, 4);
	close_four(pool, objs, 4);
}

/* An object comes where the search was, and one goes where the search arrives.
 */
static void
put_and_take(void)
{
	struct hone_cache *c = (struct hone_cache *)second;

	hone_mempool_put(first, spare);
	take_in_call(c, &spare, 1);
	hone_mempool_leave(c);
	on_sleep = NULL;
}

static void
leave_third(void)
{
	hone_mempool_leave((struct hone_cache *)third);
	hone_mempool_enter((struct hone_cache *)second);
	on_sleep = put_and_take;
}

/* The search waits for the third cache before it begins, and for the second. */
TEST(an_object_that_is_put_during_the_search_is_found)
{
	struct hone_mempool *pool = open_four(2);
	void *objs[2];

	assert_ok(hone_mempool_get_bulk(second, objs, 2));
	hone_mempool_put(second, objs[0]);
	spare = objs[1];
	hone_mempool_enter((struct hone_cache *)third);
	on_sleep = leave_third;
	objs[0] = hone_mempool_get(fourth);
	assert_non_null(objs[0]);
	assert_null(on_sleep);
	objs[1] = spare;
	all_different(objs, 2);
	close_four(pool, objs, 2);
}

static void
give_back(void)
{
	hone_mempool_give(busy, taken, 11);
	leave_busy();
}

/* A bulk that is too large takes all and gives it back. So the length in the
 * middle of a call does not count. */
THREE_TEST(the_length_in_a_call_does_not_count)
{
	busy = (struct hone_cache *)t->a;
	hone_mempool_enter(busy);
	assert_int_equal(hone_mempool_take(busy, taken, 11), 11);
	on_sleep = give_back;
	assert_ok(hone_mempool_get_bulk(t->c, t->objs, 20));
	assert_null(on_sleep);
}

/* Exchanges of loaded magazines so far. */
static size_t
exchanges(struct hone_mempool *pool)
{
	struct hone_mempool_stats stats = stats_of(pool);

	return stats.refills + stats.flushes;
}

static void
get_and_put(struct hone_mempool_cache *c, void **objs, size_t n)
{
	assert_ok(hone_mempool_get_bulk(c, objs, n));
	hone_mempool_put_bulk(c, objs, n);
}

static void
put_and_get(struct hone_mempool_cache *c, void **objs, size_t n)
{
	hone_mempool_put_bulk(c, objs, n);
	assert_ok(hone_mempool_get_bulk(c, objs, n));
}

/* Wherever it begins. A full magazine has 12 objects here. */
POOL_TEST(a_loop_exchanges_no_magazine_at_each_turn, exact_pool(100, 16, 2))
{
	void *objs[5], *held[100];
	size_t n = 0;

	for (; n < 40; n++) {
		for (size_t k = 1; k <= 5; k++) {
			size_t before = exchanges(pool);

			for (int turn = 0; turn < 20; turn++)
				get_and_put(c, objs, k);
			assert_true(exchanges(pool) - before <= 1);
			before = exchanges(pool);
			for (int turn = 0; turn < 20 && k <= n; turn++)
				put_and_get(c, held, k);
			assert_true(exchanges(pool) - before <= 1);
		}
		held[n] = hone_mempool_get(c);
		assert_non_null(held[n]);
	}
	hone_mempool_put_bulk(c, held, n);
}

/* The last in is the first out, and the count is right at each moment. */
TEST(a_cache_that_is_full_keeps_what_was_put_last)
{
	struct hone_mempool *pool = exact_pool(40, 16, 2);
	struct hone_mempool_cache *c = opened(pool), *other;
	void *objs[40], *got[40];

	assert_ok(hone_mempool_get_bulk(c, objs, 40));
	for (size_t n = 0; n < 17; n++) {
		hone_mempool_put(c, objs[n]);
		audited(pool, 40 - n - 1);
	}
	assert_int_equal(stats_of(pool).flushes, 1);
	assert_int_equal(stats_of(pool).loaded, 5);
	assert_int_equal(stats_of(pool).shared, 12);
	assert_ok(hone_mempool_get_bulk(c, got, 5));
	assert_memory_equal(got, objs + 12, 5 * sizeof(void *));
	hone_mempool_put_bulk(c, got, 5);
	/* More than there is room for: full magazines are not copied. */
	hone_mempool_put_bulk(c, objs + 17, 23);
	assert_int_equal(stats_of(pool).flushes, 2);
	assert_int_equal(stats_of(pool).loaded, 16);
	audited(pool, 0);
	/* A cache that is closed has more than a full magazine. */
	other = opened(pool);
	hone_mempool_cache_close(c);
	assert_int_equal(stats_of(pool).loaded, 0);
	audited(pool, 0);
	assert_ok(hone_mempool_get_bulk(other, got, 40));
	all_different(got, 40);
	hone_mempool_put_bulk(other, got, 40);
	closed_and_destroyed(pool, other);
}

/* Magazines of the user's with n of 16 objects, of which 12 make a full one. */
POOL_TEST(a_magazine_that_is_put_is_divided, exact_pool(100, 16, 2))
{
	static const size_t sizes[] = {0, 1, 11, 12, 13, 16};
	void *all[100];

	for (int i = 0; i < 36; i++) {
		size_t n = sizes[i / 6], loaded = sizes[i % 6];
		struct hone_mempool_magazine *m = hone_mempool_get_magazine(c);
		size_t left = 100 - m->count;

		assert_ok(hone_mempool_get_bulk(c, all, left));
		while (m->count > n)
			all[left++] = m->objects[--m->count];
		while (m->count < n)
			m->objects[m->count++] = all[--left];
		for (size_t k = 0; k < loaded; k++)
			hone_mempool_put(c, all[--left]);
		audited(pool, n + left);
		hone_mempool_put_magazine(c, m);
		audited(pool, left);
		hone_mempool_put_bulk(c, all, left);
		audited(pool, 0);
	}
}

/* The pool has one magazine for each 448 of 512 objects. */
TEST(there_are_magazines_for_all_objects)
{
	enum { FULL = 448, OUT = 60, N = FULL * OUT };
	struct hone_mempool *pool = exact_pool(N, 512, 1);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_magazine *m, *out[OUT];

	for (size_t i = 0; i < OUT; i++) {
		out[i] = hone_mempool_get_magazine(c);
		assert_non_null(out[i]);
		assert_int_equal(out[i]->count, FULL);
	}
	assert_null(hone_mempool_get(c));
	for (size_t i = 0; i < OUT; i++)
		hone_mempool_put_magazine(c, out[i]);
	/* The one that is loaded, and not full: no other one is there. */
	for (size_t i = 0; i < OUT; i++)
		out[i] = hone_mempool_get_magazine(c);
	m = out[0];
	while (m->count > 0)
		hone_mempool_put(c, m->objects[--m->count]);
	hone_mempool_put_magazine(c, m);
	m = hone_mempool_get_magazine(c);
	assert_int_equal(m->count, FULL);
	assert_null(hone_mempool_get_magazine(c));
	hone_mempool_put_magazine(c, m);
	for (size_t i = 1; i < OUT; i++)
		hone_mempool_put_magazine(c, out[i]);
	closed_and_destroyed(pool, c);
}

TEST(the_default_cache_size_assumes_sixteen_busy_caches)
{
	static const struct {
		size_t capacity;
		unsigned caches, flags;
		size_t size;
	} cases[] = {{2047, 113, 0, 9}, {2047, 129, HONE_MEMPOOL_EXACT, 63},
		{2047, 4, HONE_MEMPOOL_EXACT, 255},
		{31, 129, HONE_MEMPOOL_EXACT, 8},
		{100000, 129, HONE_MEMPOOL_EXACT, 512}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hone_mempool *pool = flagged_pool(
			cases[i].flags, cases[i].capacity, 0, cases[i].caches);

		assert_int_equal(stats_of(pool).cache_size, cases[i].size);
		destroyed(pool);
	}
}

#define WORKERS 3
#define SIZE 4   /* of a cache, and most objects that a worker holds */
#define ALWAYS 9 /* objects that are in the pool whatever the workers hold */

struct run {
	struct hone_mempool *pool;
	bool same_cpu;
	/* Objects that a worker puts for the main thread, so that its next get
	 * needs what the worker has loaded; NULL once they are in the pool. */
	_Atomic(void **) returned;
	_Atomic bool underway;
	_Atomic bool stop;
	_Atomic unsigned errors;
};

struct worker {
	pthread_t id;
	struct run *run;
	uint64_t seed;
};

static void
pin(const struct run *run)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (run->same_cpu)
		(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void
put_returned(struct run *run, struct hone_mempool_cache *c)
{
	void **objs = atomic_exchange(&run->returned, NULL);

	if (!objs)
		return;
	hone_mempool_put_bulk(c, objs, ALWAYS);
	atomic_store(&run->underway, false);
}

/* Each way to take at most SIZE objects and to give them back. */
static void
take_and_give(struct worker *w, struct hone_mempool_cache *c)
{
	struct hone_mempool_magazine *m;
	size_t n = support_below(&w->seed, SIZE + 1), got;
	void *objs[SIZE];

	switch (support_below(&w->seed, 3)) {
	case 0:
		m = hone_mempool_get_magazine(c);
		EXPECT(m && m->count > 0 && m->count <= SIZE, w->run);
		if (m)
			hone_mempool_put_magazine(c, m);
		return;
	case 1:
		got = hone_mempool_get_bulk(c, objs, n) == 0 ? n : 0;
		break;
	default:
		got = hone_mempool_get_burst(c, objs, n);
	}
	/* more than they all can hold was there all the time */
	EXPECT(got == n, w->run);
	hone_mempool_put_bulk(c, objs, got);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct hone_mempool_cache *c = NULL;

	pin(w->run);
	while (!atomic_load_explicit(&w->run->stop, memory_order_relaxed)) {
		if (!c)
			EXPECT(hone_mempool_cache_open(w->run->pool, &c) == 0,
				w->run);
		for (int i = 0; i < 50; i++) {
			take_and_give(w, c);
			put_returned(w->run, c);
		}
		if (support_below(&w->seed, 8) == 0) {
			hone_mempool_cache_close(c);
			c = NULL;
		}
	}
	hone_mempool_cache_close(c);
	return NULL;
}

/* One thread gets what the workers cannot hold: always. */
static void
nothing_is_missed(bool same_cpu)
{
	struct run run = {.same_cpu = same_cpu};
	struct worker workers[WORKERS];
	struct hone_mempool_cache *c;
	uint64_t seed = support_seed();
	unsigned turns = same_cpu ? 250 : 2000;
	void *objs[ALWAYS];

	threads = true;
	run.pool = exact_pool(ALWAYS + WORKERS * SIZE, SIZE, WORKERS + 1);
	c = opened(run.pool);
	for (size_t i = 0; i < WORKERS; i++) {
		workers[i].run = &run;
		workers[i].seed = support_random(&seed);
		assert_ok(pthread_create(
			&workers[i].id, NULL, work, &workers[i]));
	}
	pin(&run);
	/* A get that misses an object searches for long: the first one ends it.
	 */
	for (unsigned turn = 0; turn < turns && run.errors == 0; turn++) {
		size_t got = 0;

		if (turn % 2 == 0)
			got = hone_mempool_get_bulk(c, objs, ALWAYS) == 0
				      ? ALWAYS
				      : 0;
		while (got < ALWAYS && (objs[got] = hone_mempool_get(c)))
			got++;
		EXPECT(got == ALWAYS, &run);
		/* Not on one CPU, where each turn waits for a time slice. */
		if (same_cpu || turn % 20 != 0) {
			hone_mempool_put_bulk(c, objs, got);
			continue;
		}
		atomic_store(&run.underway, true);
		atomic_store(&run.returned, objs);
		while (atomic_load(&run.underway))
			(void)sched_yield();
	}
	atomic_store_explicit(&run.stop, true, memory_order_relaxed);
	for (size_t i = 0; i < WORKERS; i++)
		assert_ok(pthread_join(workers[i].id, NULL));
	threads = false;
	assert_int_equal(run.errors, 0);
	hone_mempool_cache_close(c);
	destroyed(run.pool);
}

TEST(nothing_is_missed_while_others_get_and_put)
{
	nothing_is_missed(false);
	nothing_is_missed(true);
}

TEST(nothing_that_spilled_is_missed)
{
	deque_slots = 1;
	nothing_is_missed(false);
	deque_slots = 0;
}

TEST(nothing_is_missed_without_barriers)
{
	refused = true;
	forget_barriers();
	nothing_is_missed(false);
	nothing_is_missed(true);
	refused = false;
	forget_barriers();
}
