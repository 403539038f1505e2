/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ring promises to threads: every element arrives once, in the order
 * of its producer, with the data that it points to. Full and empty are reported
 * only if they are true, wherever a thread was preempted.
 */
#include <sched.h>
#include <stdatomic.h>
#include <hone/ring.h>
#include "support.h"

#define MAX_THREADS 4
#define ELEMENTS 7200u /* of one run, from all producers */
#define FEW 1200u      /* if each turn costs a switch of threads */
#define MAX_GROUP 7
#define MAX_YIELDS (1u << 25) /* of a wait for a turn that does not come */

enum way { SINGLE, BULK, BURST, MIXED, WAYS };

/* What the pointers point to; not atomic, so that a sanitizer sees a pointer
 * that arrives before its data. */
struct payload {
	unsigned producer, serial;
};

struct run {
	struct hone_ring *ring;
	enum way way;
	bool single_producer;
	unsigned producers, consumers;
	unsigned each; /* elements from each producer */
	struct payload *payloads;
	_Atomic unsigned char *arrived;
	_Atomic size_t left; /* to arrive */
	_Atomic unsigned errors;
};

struct thread {
	pthread_t id;
	struct run *run;
	unsigned number;
};

/* How many elements this turn uses. */
static size_t
group_of(enum way way, uint64_t *random)
{
	return way == SINGLE ? 1 : 1 + support_below(random, MAX_GROUP);
}

static size_t
add_some(struct run *run, enum way way, void **some, size_t n)
{
	int error;

	if (way == BURST)
		return hone_ring_enqueue_burst(run->ring, some, n);
	error = way == SINGLE ? hone_ring_enqueue(run->ring, some[0])
			      : hone_ring_enqueue_bulk(run->ring, some, n);
	EXPECT(error == 0 || error == -ENOBUFS, run);
	return error ? 0 : n;
}

static size_t
take_some(struct run *run, enum way way, void **some, size_t n)
{
	int error;

	if (way == BURST)
		return hone_ring_dequeue_burst(run->ring, some, n);
	error = way == SINGLE ? hone_ring_dequeue(run->ring, some)
			      : hone_ring_dequeue_bulk(run->ring, some, n);
	EXPECT(error == 0 || error == -ENOENT || error == -EAGAIN, run);
	EXPECT(error != -EAGAIN || !run->single_producer, run);
	return error ? 0 : n;
}

/* Turns without an element after which one must be lost: some seconds, since a
 * turn yields the CPU. */
#define IDLE 10000000

/* Whether a thread goes on: not after an error. */
static bool
goes_on(struct run *run, unsigned idle)
{
	EXPECT(idle < IDLE, run);
	return atomic_load_explicit(&run->errors, memory_order_relaxed) == 0;
}

static void *
produce(void *arg)
{
	struct thread *self = arg;
	struct run *run = self->run;
	uint64_t random = self->number + 1;
	struct payload *own = run->payloads + (size_t)self->number * run->each;
	unsigned sent = 0, idle = 0;

	while (sent < run->each && goes_on(run, idle)) {
		enum way way = run->way == MIXED ? support_below(&random, MIXED)
						 : run->way;
		size_t n = group_of(way, &random);
		void *some[MAX_GROUP] = {NULL};

		if (n > hone_ring_capacity(run->ring))
			n = hone_ring_capacity(run->ring);
		if (n > run->each - sent)
			n = run->each - sent;
		for (unsigned i = 0; i < n; i++) {
			own[sent + i].producer = self->number;
			own[sent + i].serial = sent + i;
			some[i] = &own[sent + i];
		}
		n = add_some(run, way, some, n);
		sent += (unsigned)n;
		idle = n > 0 ? 0 : idle + 1;
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

static void *
consume(void *arg)
{
	struct thread *self = arg;
	struct run *run = self->run;
	uint64_t random = self->number + 100;
	unsigned next[MAX_THREADS] = {0}, idle = 0;
	size_t left;

	while ((left = atomic_load(&run->left)) > 0 && goes_on(run, idle)) {
		enum way way = run->way == MIXED ? support_below(&random, MIXED)
						 : run->way;
		size_t n = group_of(way, &random);
		void *some[MAX_GROUP];

		if (n > left)
			n = left; /* otherwise the last bulk would never be
				   * complete */
		n = take_some(run, way, some, n);
		for (size_t i = 0; i < n; i++) {
			struct payload *p = some[i];
			size_t index = (size_t)(p - run->payloads);

			EXPECT(p->producer < run->producers, run);
			EXPECT(p->serial >= next[p->producer], run);
			EXPECT(run->consumers > 1 ||
					p->serial == next[p->producer],
				run);
			next[p->producer] = p->serial + 1;
			EXPECT(atomic_fetch_add(&run->arrived[index], 1) == 0,
				run);
		}
		atomic_fetch_sub(&run->left, n);
		idle = n > 0 ? 0 : idle + 1;
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

static void
transfer(unsigned flags, enum way way, size_t capacity, unsigned producers,
	unsigned consumers)
{
	struct run run = {.way = way,
		.single_producer = flags & HONE_RING_SINGLE_PRODUCER,
		.producers = producers,
		.consumers = consumers,
		.each = (capacity < 64 ? FEW : ELEMENTS) / producers};
	struct thread threads[2 * MAX_THREADS];
	size_t total = (size_t)run.each * producers;

	assert_ok(hone_ring_create(&run.ring, capacity, flags));
	run.payloads = calloc(total, sizeof(*run.payloads));
	run.arrived = calloc(total, sizeof(*run.arrived));
	assert_true(run.payloads && run.arrived);
	atomic_store(&run.left, total);
	for (unsigned i = 0; i < producers + consumers; i++) {
		bool adds = i < producers;

		threads[i] = (struct thread){
			.run = &run, .number = adds ? i : i - producers};
		assert_int_equal(pthread_create(&threads[i].id, NULL,
					 adds ? produce : consume, &threads[i]),
			0);
	}
	for (unsigned i = 0; i < producers + consumers; i++)
		assert_ok(pthread_join(threads[i].id, NULL));
	if (atomic_load(&run.errors))
		fail_msg("%u errors: flags %u, way %d, capacity %zu, %u to %u",
			atomic_load(&run.errors), flags, way, capacity,
			producers, consumers);
	assert_int_equal(hone_ring_count(run.ring), 0);
	hone_ring_destroy(run.ring);
	free(run.payloads);
	free((void *)run.arrived);
}

/* Every mode, with as many threads as the mode allows, up to four. */
static void
transfer_in_every_mode(enum way way)
{
	static const size_t capacities[] = {1, 3, 64, 1000};

	for (size_t i = 0; i < 4; i++) {
		size_t n = capacities[i];

		transfer(HONE_RING_MPMC, way, n, 2, 2);
		transfer(HONE_RING_SINGLE_PRODUCER, way, n, 1, 3);
		transfer(HONE_RING_SINGLE_CONSUMER, way, n, 3, 1);
		transfer(HONE_RING_SPSC, way, n, 1, 1);
		transfer(HONE_RING_MPMC, way, n, 1, 1);
	}
}

TEST(every_element_arrives_once_and_in_order)
{
	for (int way = 0; way < WAYS; way++)
		transfer_in_every_mode((enum way)way);
}

/* Runs a test with this thread, and those that it creates, on one CPU. */
static void
on_one_cpu(void (*test)(void **))
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	assert_ok(sched_getaffinity(0, sizeof(all), &all));
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0) {
		printf("# this system does not let threads be pinned\n");
		skip();
	}
	test(NULL);
	assert_ok(sched_setaffinity(0, sizeof(all), &all));
}

TEST(the_same_on_one_cpu)
{
	on_one_cpu(every_element_arrives_once_and_in_order);
}

/*
 * The ring has as many tokens as all threads need at once, and room for exactly
 * these. A thread that takes tokens holds none, so the ring has enough of them,
 * and it has room for those that a thread returns. So "empty" and "full" would
 * both be wrong, whichever thread is preempted.
 */
struct tokens {
	struct hone_ring *ring;
	size_t group; /* tokens that a thread takes */
	unsigned turns;
	bool bulk;
	_Atomic unsigned errors;
};

static void *
borrow(void *arg)
{
	struct tokens *t = arg;

	for (unsigned i = 0; i < t->turns; i++) {
		void *held[MAX_GROUP] = {NULL};
		unsigned idle = 0;
		int error;

		while ((error = t->bulk ? hone_ring_dequeue_bulk(
						  t->ring, held, t->group)
					: hone_ring_dequeue(t->ring, held)) ==
				-EAGAIN &&
			++idle < IDLE)
			sched_yield();
		EXPECT(error == 0, t);
		if (error)
			return NULL;
		for (size_t k = 0; k < t->group; k++) {
			unsigned *token = held[k];

			EXPECT(token != NULL, t);
			if (!token)
				return NULL;
			++*token;
		}
		error = t->bulk ? hone_ring_enqueue_bulk(
					  t->ring, held, t->group)
				: hone_ring_enqueue(t->ring, held[0]);
		EXPECT(error == 0, t);
		EXPECT(hone_ring_count(t->ring) <= hone_ring_capacity(t->ring),
			t);
		if (error)
			return NULL;
	}
	return NULL;
}

static void
borrow_tokens(unsigned threads, size_t group)
{
	static unsigned uses[MAX_THREADS * MAX_GROUP];
	struct tokens t = {
		.group = group, .turns = ELEMENTS / threads, .bulk = group > 1};
	unsigned sum = 0;

	assert_ok(hone_ring_create(&t.ring, threads * group, HONE_RING_MPMC));
	for (size_t i = 0; i < threads * group; i++) {
		uses[i] = 0;
		assert_int_equal(hone_ring_enqueue(t.ring, &uses[i]), 0);
	}
	support_threads(borrow, &t, threads, 0);
	assert_int_equal(atomic_load(&t.errors), 0);
	for (size_t i = 0; i < threads * group; i++)
		sum += uses[i];
	assert_int_equal(sum, threads * t.turns * group);
	hone_ring_destroy(t.ring);
}

TEST(full_and_empty_are_facts)
{
	for (unsigned threads = 2; threads <= MAX_THREADS; threads++) {
		borrow_tokens(threads, 1);
		borrow_tokens(threads, 2);
		borrow_tokens(threads, MAX_GROUP);
	}
}

TEST(full_and_empty_are_facts_on_one_cpu)
{
	on_one_cpu(full_and_empty_are_facts);
}

/*
 * Calls that stop where they read the caller's elements, or write them: these
 * lie in a page that is closed. What other threads do meanwhile has one order,
 * by relaxed turns, which pass on nothing that was written. So a sanitizer sees
 * what the ring passes on, each time.
 */
static struct stage {
	struct hone_ring *ring;
	struct payload payloads[8]; /* the elements */
	void **page;
	size_t size;
	unsigned resume; /* the turn that opens the page */
	_Atomic unsigned turn;
	_Atomic unsigned errors;
} stage;

static void
await_turn(unsigned turn)
{
	unsigned yields = 0;

	while (atomic_load_explicit(&stage.turn, memory_order_relaxed) !=
			turn &&
		yields < MAX_YIELDS) {
		sched_yield();
		yields++;
	}
	EXPECT(yields < MAX_YIELDS, &stage);
}

static void
end_turn(void)
{
	atomic_fetch_add_explicit(&stage.turn, 1, memory_order_relaxed);
}

static void
open_page(int number)
{
	(void)number;
	end_turn();
	await_turn(stage.resume);
	if (mprotect(stage.page, stage.size, PROT_READ | PROT_WRITE) != 0)
		abort();
}

static void
close_page(void)
{
	EXPECT(mprotect(stage.page, stage.size, PROT_NONE) == 0, &stage);
}

/* Adds two payloads from `first` on. */
static int
add_two(void **elements, unsigned first)
{
	for (unsigned i = 0; i < 2; i++) {
		stage.payloads[first + i].serial = first + i;
		elements[i] = &stage.payloads[first + i];
	}
	if (elements == stage.page)
		close_page();
	return hone_ring_enqueue_bulk(stage.ring, elements, 2);
}

/* Takes n payloads into these elements; the first is that of this number. */
static void
take_payloads(void **elements, size_t n, unsigned first)
{
	if (elements == stage.page)
		close_page();
	EXPECT(hone_ring_dequeue_bulk(stage.ring, elements, n) == 0, &stage);
	for (unsigned i = 0; i < n; i++) {
		struct payload *p = elements[i];
		EXPECT(p == &stage.payloads[first + i], &stage);
		EXPECT(p && p->serial == first + i, &stage);
	}
}

static void *
produce_in_turn(void *arg)
{
	static const unsigned turns[] = {0, 1, 4, 5};
	unsigned number = (unsigned)(uintptr_t)arg;
	void *elements[2];

	await_turn(turns[number]);
	EXPECT(add_two(number ? elements : stage.page, 2 * number) == 0,
		&stage);
	end_turn();
	return NULL;
}

static void *
consume_in_turn(void *arg)
{
	void *elements[8] = {arg};

	await_turn(2);
	EXPECT(hone_ring_dequeue(stage.ring, elements) == -EAGAIN, &stage);
	end_turn();
	await_turn(6);
	take_payloads(elements, 8, 0);
	return NULL;
}

static void *
consume_first(void *arg)
{
	(void)arg;
	await_turn(1);
	take_payloads(stage.page, 2, 2);
	end_turn();
	return NULL;
}

static void *
consume_second(void *arg)
{
	void *elements[2] = {arg};

	await_turn(3);
	take_payloads(elements, 2, 0);
	end_turn();
	await_turn(6);
	take_payloads(elements, 2, 4);
	return NULL;
}

static void *
produce_for_two(void *arg)
{
	void *elements[2] = {arg};

	EXPECT(add_two(elements, 0) == 0 && add_two(elements, 2) == 0, &stage);
	end_turn();
	await_turn(2);
	EXPECT(add_two(elements, 4) == -ENOBUFS, &stage);
	end_turn();
	await_turn(4);
	EXPECT(add_two(elements, 4) == 0, &stage);
	end_turn();
	return NULL;
}

/* Run these threads; the arguments are their numbers. */
static void
play(unsigned flags, size_t capacity, unsigned resume,
	void *(*const run[])(void *), size_t n)
{
	struct sigaction usual, action = {.sa_handler = open_page,
					.sa_flags = (int)SA_RESETHAND};
	pthread_t threads[5];

	stage = (struct stage){
		.resume = resume, .size = (size_t)sysconf(_SC_PAGESIZE)};
	stage.page = mmap(NULL, stage.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(stage.page != MAP_FAILED);
	assert_ok(hone_ring_create(&stage.ring, capacity, flags));
	assert_ok(sigaction(SIGSEGV, &action, &usual));
	for (uintptr_t i = 0; i < n; i++)
		assert_ok(pthread_create(&threads[i], NULL, run[i], (void *)i));
	for (size_t i = 0; i < n; i++)
		assert_ok(pthread_join(threads[i], NULL));
	assert_ok(sigaction(SIGSEGV, &usual, NULL));
	if (stage.errors)
		fail_msg("%u errors: flags %u", stage.errors, flags);
	assert_int_equal(hone_ring_count(stage.ring), 0);
	hone_ring_destroy(stage.ring);
	munmap(stage.page, stage.size);
}

TEST(elements_of_a_stopped_producer_are_late)
{
	static void *(*const run[])(void *) = {produce_in_turn, produce_in_turn,
		produce_in_turn, produce_in_turn, consume_in_turn};

	play(HONE_RING_MPMC, 8, 3, run, 5);
	play(HONE_RING_SINGLE_CONSUMER, 8, 3, run, 5);
}

TEST(a_stopped_consumer_owns_nothing)
{
	static void *(*const run[])(void *) = {
		produce_for_two, consume_first, consume_second};

	play(HONE_RING_MPMC, 4, 5, run, 3);
	play(HONE_RING_SINGLE_PRODUCER, 4, 5, run, 3);
}
