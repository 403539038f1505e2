/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a queue promises to threads that wait: each wait ends by an element, by
 * room, by its deadline or by the end of the queue, and nothing is left behind.
 */
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <hone/queue.h>
#include "support.h"

#define MODES 4 /* every value of enum hone_ring_flags */
#define MAX_THREADS 3
#define ELEMENTS 6000u
#define FEW 600u /* if each element may cost a switch of threads */

#ifdef SYS_futex_time64
#define FUTEX SYS_futex_time64
#else
#define FUTEX SYS_futex
#endif

/* The system calls of the library: how many of each, and what comes of them. */
static struct {
	_Atomic unsigned barriers, waits, wakes;
	bool refuses_barriers;
	/* In place of a sleep: returns an error number, or 0 for a wake. */
	int (*on_wait)(void);
	void (*on_barrier)(void);
	/* Of the last sleep. */
	bool for_ever;
	int64_t when[2];
	int cpu; /* 0: the real one */
	/* Each reading of the clock adds the step; 0: the real clock. */
	int64_t clock, step;
	unsigned readings, event_at; /* at this reading, at_reading() */
	void (*at_reading)(void);
	unsigned yields;
	void (*on_yield)(void);
} kernel;

static int fail_allocation; /* posix_memalign() fails when set */
static struct hone_queue *queue;
static unsigned turns; /* for on_wait */

/* The first members of struct hone_queue, which each call reads. */
struct line {
	struct {
		uint32_t state; /* 2 for each that waits, 1 if one is woken */
		uint32_t sequence;
		int32_t cpu;
		uint32_t brief;
		int64_t resume;
	} getters, putters;
	uint32_t closed; /* 1: it is being closed */
	uint32_t barriers, order;
};

static struct line *
line_of(struct hone_queue *q)
{
	return (struct line *)q;
}

/* queue.c asserts the place. */
static struct hone_ring *
ring_of(struct hone_queue *q)
{
	return (struct hone_ring *)((char *)q + 256);
}

/* Of the single producer. */
static uint32_t *
putting_of(struct hone_queue *q)
{
	return (uint32_t *)((char *)q + 128);
}

STANDS_FOR(int, posix_memalign, void **memory, size_t alignment, size_t size)
{
	if (fail_allocation)
		return ENOMEM;
	return __real_posix_memalign(memory, alignment, size);
}

static long wait_on(uint32_t *word, uint32_t value, const int64_t *when);

/* Only membarrier() and two kinds of futex() are called through it. */
STANDS_FOR(long, syscall, long number, ...)
{
	va_list args;
	long result;

	va_start(args, number);
	if (number == SYS_membarrier) {
		int command = va_arg(args, int);

		atomic_fetch_add(&kernel.barriers, 1);
		if (kernel.on_barrier)
			kernel.on_barrier();
		errno = EPERM;
		result = kernel.refuses_barriers
				 ? -1
				 : __real_syscall(number, command, 0, 0);
	} else {
		uint32_t *word = va_arg(args, uint32_t *);
		int operation = va_arg(args, int);
		uint32_t value = va_arg(args, uint32_t);

		assert_int_equal(number, FUTEX);
		if (operation == FUTEX_WAIT_BITSET_PRIVATE) {
			result = wait_on(
				word, value, va_arg(args, const int64_t *));
		} else {
			assert_int_equal(operation, FUTEX_WAKE_PRIVATE);
			atomic_fetch_add(&kernel.wakes, 1);
			result = __real_syscall(
				number, word, operation, value, NULL, NULL, 0);
		}
	}
	va_end(args);
	return result;
}

static long
wait_on(uint32_t *word, uint32_t value, const int64_t *when)
{
	int error;

	atomic_fetch_add(&kernel.waits, 1);
	if (!kernel.on_wait)
		return __real_syscall(FUTEX, word, FUTEX_WAIT_BITSET_PRIVATE,
			value, when, NULL, FUTEX_BITSET_MATCH_ANY);
	kernel.for_ever = !when;
	if (when)
		memcpy(kernel.when, when, sizeof(kernel.when));
	error = kernel.on_wait();
	errno = error;
	return error ? -1 : 0;
}

static unsigned
system_calls(void)
{
	return kernel.barriers + kernel.waits + kernel.wakes;
}

STANDS_FOR(int, sched_getcpu, void)
{
	return kernel.cpu ? kernel.cpu : __real_sched_getcpu();
}

STANDS_FOR(int, clock_gettime, clockid_t id, struct timespec *now)
{
	if (kernel.step == 0)
		return __real_clock_gettime(id, now);
	kernel.clock += kernel.step;
	if (++kernel.readings == kernel.event_at)
		kernel.at_reading();
	*now = (struct timespec){.tv_nsec = kernel.clock};
	return 0;
}

STANDS_FOR(int, sched_yield, void)
{
	if (kernel.step == 0)
		return __real_sched_yield();
	kernel.yields++;
	if (kernel.on_yield)
		kernel.on_yield();
	return 0;
}

/* A new queue, and a kernel that has seen no call. */
static void
open_queue(size_t capacity, unsigned flags)
{
	assert_ok(hone_queue_create(&queue, capacity, flags));
	kernel.barriers = kernel.waits = kernel.wakes = 0;
	turns = 0;
}

static void
close_kernel(void)
{
	hone_queue_destroy(queue);
	memset(&kernel, 0, sizeof(kernel));
}

/* A test with a queue of this capacity in each of so many modes; 1: any number
 * of threads at both ends. */
#define QUEUE_TEST(name, capacity, modes)                                      \
	static void in_mode_##name(unsigned flags);                            \
	TEST(name)                                                             \
	{                                                                      \
		for (unsigned flags = 0; flags < (modes); flags++) {           \
			open_queue(capacity, flags);                           \
			in_mode_##name(flags);                                 \
			close_kernel();                                        \
		}                                                              \
	}                                                                      \
	static void in_mode_##name(__attribute__((unused)) unsigned flags)

/* Elements are numbers here: the queue does not dereference them. */
static void *
element(size_t number)
{
	return (void *)(uintptr_t)number;
}

/* Elements without a value. */
static ssize_t
put_burst(size_t n, int64_t deadline)
{
	void *some[8] = {NULL};

	return hone_queue_put_burst(queue, some, n, deadline);
}

static ssize_t
get_burst(size_t n, int64_t deadline)
{
	void *some[8];

	return hone_queue_get_burst(queue, some, n, deadline);
}

static int
put(int64_t deadline)
{
	return hone_queue_put(queue, &queue, deadline);
}

static int
get(int64_t deadline)
{
	void *got = element(7);
	int error = hone_queue_get(queue, &got, deadline);

	if (error)
		assert_ptr_equal(got, element(7));
	return error;
}

TEST(what_cannot_be_made_is_refused)
{
	struct hone_queue *made = NULL;

	assert_int_equal(hone_queue_create(&made, 0, 0), -EINVAL);
	assert_int_equal(hone_queue_create(&made, SIZE_MAX, 0), -EINVAL);
	assert_int_equal(hone_queue_create(&made, 1, 4), -EINVAL);
	fail_allocation = 1;
	assert_int_equal(hone_queue_create(&made, 1, 0), -ENOMEM);
	fail_allocation = 0;
	assert_null(made);
	hone_queue_destroy(NULL);
}

QUEUE_TEST(nobody_waits_so_there_is_no_system_call, 5, MODES)
{
	for (size_t i = 0; i < 1000; i++) {
		assert_ok(put(INT64_MAX));
		assert_int_equal(put_burst(4, INT64_MAX), 4);
		assert_ok(get(HONE_QUEUE_FOREVER));
		assert_int_equal(hone_queue_count(queue), 4);
		assert_int_equal(get_burst(5, INT64_MAX), 4);
	}
	assert_int_equal(system_calls(), 0);
}

QUEUE_TEST(a_deadline_in_the_past_is_a_try, 3, MODES)
{
	int64_t past = flags % 2 ? INT64_MIN : HONE_QUEUE_NOW;

	assert_int_equal(get(past), -ETIMEDOUT);
	assert_int_equal(get_burst(5, past), -ETIMEDOUT);
	assert_ok(put(past));
	assert_int_equal(put_burst(5, past), 2);
	assert_int_equal(put_burst(5, past), -ETIMEDOUT);
	assert_int_equal(put(past), -ETIMEDOUT);
	assert_int_equal(hone_queue_get_burst(queue, NULL, 0, past), 0);
	assert_int_equal(hone_queue_put_burst(queue, NULL, 0, past), 0);
	assert_int_equal(hone_queue_count(queue), 3);
	assert_int_equal(system_calls(), 0);
}

static int
time_out(void)
{
	return ETIMEDOUT;
}

QUEUE_TEST(a_deadline_is_a_time_of_the_monotonic_clock, 1, 1)
{
	int64_t now = hone_queue_deadline(1);

	assert_int_equal(hone_queue_deadline(0), HONE_QUEUE_NOW);
	assert_int_equal(hone_queue_deadline(-1), HONE_QUEUE_NOW);
	assert_true(hone_queue_deadline(INT64_MAX) == HONE_QUEUE_FOREVER);
	assert_true(hone_queue_deadline(3000000000) >= now + 2999999999);
	kernel.on_wait = time_out;
	assert_int_equal(get(5000000007), -ETIMEDOUT);
	assert_int_equal(kernel.waits, 1);
	assert_true(kernel.when[0] == 5 && kernel.when[1] == 7);
	assert_int_equal(put_burst(2, 8000000009), 1);
	assert_int_equal(kernel.waits, 2);
	assert_true(kernel.when[0] == 8 && kernel.when[1] == 9);
	assert_false(kernel.for_ever);
	/* the real kernel: a time that has passed */
	kernel.on_wait = NULL;
	assert_int_equal(put(now), -ETIMEDOUT);
	assert_int_equal(kernel.wakes, 0);
}

static int
put_and_time_out(void)
{
	assert_ok(put(HONE_QUEUE_NOW));
	return ETIMEDOUT;
}

QUEUE_TEST(what_comes_at_the_deadline_is_taken, 1, MODES)
{
	kernel.on_wait = put_and_time_out;
	assert_ok(get(1));
	assert_int_equal(kernel.waits, 1);
}

static int
wake_for_nothing(void)
{
	static const int results[] = {EINTR, EAGAIN, 0};

	if (turns < 3)
		return results[turns++];
	assert_ok(put(HONE_QUEUE_NOW));
	assert_ok(put(HONE_QUEUE_NOW));
	assert_ok(put(HONE_QUEUE_NOW));
	return 0;
}

QUEUE_TEST(a_signal_does_not_end_a_wait_and_one_wake_is_enough, 3, MODES)
{
	kernel.on_wait = wake_for_nothing;
	assert_ok(get(HONE_QUEUE_FOREVER));
	assert_true(kernel.for_ever);
	assert_int_equal(kernel.waits, 4);
	assert_int_equal(kernel.wakes, 1);
	/* one before each sleep */
	assert_int_equal(kernel.barriers, line_of(queue)->barriers ? 4 : 0);
	/* nobody waits any more */
	assert_ok(get(HONE_QUEUE_FOREVER));
	assert_ok(put(HONE_QUEUE_FOREVER));
	assert_int_equal(kernel.wakes, 1);
}

TEST(without_membarrier_alone_each_call_writes_what_all_read)
{
	for (unsigned refuses = 0; refuses < 2; refuses++) {
		struct line before;

		kernel.refuses_barriers = refuses;
		open_queue(3, 0);
		before = *line_of(queue);
		assert_ok(put(HONE_QUEUE_NOW));
		assert_ok(get(HONE_QUEUE_NOW));
		before.order += before.barriers ? 0 : 2;
		assert_memory_equal(queue, &before, sizeof(before));
		close_kernel();
	}
}

static int
put_two(void)
{
	/* another thread waits, too */
	line_of(queue)->getters.state += 2;
	assert_int_equal(put_burst(2, HONE_QUEUE_NOW), 2);
	return 0;
}

static int
add_two_without_a_wake(void)
{
	line_of(queue)->getters.state += 2;
	assert_ok(hone_ring_enqueue(ring_of(queue), queue));
	assert_ok(hone_ring_enqueue(ring_of(queue), queue));
	return EINTR;
}

TEST(a_woken_thread_wakes_the_next_one_if_there_is_more)
{
	open_queue(3, 0);
	kernel.on_wait = put_two;
	assert_ok(get(HONE_QUEUE_FOREVER));
	assert_int_equal(kernel.wakes, 2);
	assert_int_equal(line_of(queue)->getters.state, 3);
	close_kernel();
	open_queue(3, 0);
	kernel.on_wait = add_two_without_a_wake;
	assert_ok(get(HONE_QUEUE_FOREVER));
	assert_int_equal(kernel.wakes, 0);
	close_kernel();
}

static int
take_all(void)
{
	assert_int_equal(get_burst(3, HONE_QUEUE_NOW), 3);
	return 0;
}

QUEUE_TEST(room_ends_the_wait_of_a_put, 3, MODES)
{
	kernel.on_wait = take_all;
	assert_int_equal(put_burst(8, HONE_QUEUE_FOREVER), 8);
	assert_int_equal(kernel.waits, 2);
	assert_int_equal(kernel.wakes, 2);
	assert_int_equal(hone_queue_count(queue), 2);
}

static void
put_one(void)
{
	assert_ok(put(HONE_QUEUE_NOW));
}

static int
put_from_cpu_5(void)
{
	int cpu = kernel.cpu;

	kernel.cpu = 5;
	put_one();
	kernel.cpu = cpu;
	return 0;
}

/* Gets an element, and returns how often the clock was read. */
static unsigned
readings_of_get(unsigned event_after)
{
	unsigned before = kernel.readings;

	kernel.event_at = event_after > 0 ? before + event_after : 0;
	assert_ok(get(HONE_QUEUE_FOREVER));
	return kernel.readings - before;
}

QUEUE_TEST(after_a_brief_wait_a_thread_looks_longer_before_it_sleeps, 1, 1)
{
	kernel.on_wait = put_from_cpu_5;
	kernel.cpu = 4;
	kernel.step = 1000;
	kernel.at_reading = put_one;
	/* when the wait began, and when it ended: it was brief */
	assert_int_equal(readings_of_get(0), 2);
	assert_int_equal(kernel.waits, 1);
	assert_int_equal(readings_of_get(5), 5);
	assert_int_equal(kernel.waits, 1);
	/* in vain: the wait was longer than a brief one */
	assert_int_equal(readings_of_get(0), 52);
	assert_int_equal(kernel.waits, 2);
	assert_int_equal(readings_of_get(0), 2);
	assert_int_equal(kernel.waits, 3);
	/* not beyond the deadline */
	kernel.on_wait = time_out;
	kernel.readings = 0;
	assert_int_equal(get(kernel.clock + 3000), -ETIMEDOUT);
	assert_int_equal(kernel.readings, 3);
	/* that wait was in vain, so it was not brief */
	kernel.on_wait = put_from_cpu_5;
	assert_int_equal(readings_of_get(0), 2);
}

static int
come_late(void)
{
	if (turns++ > 0)
		return put_from_cpu_5();
	kernel.clock += 60000;
	return EINTR;
}

QUEUE_TEST(a_wait_of_several_sleeps_has_the_length_of_all, 1, 1)
{
	kernel.on_wait = come_late;
	kernel.cpu = 4;
	kernel.step = 1000;
	assert_int_equal(readings_of_get(0), 2);
	assert_int_equal(readings_of_get(0), 2);
}

static void
close_now(void)
{
	hone_queue_close(queue);
}

QUEUE_TEST(the_end_of_the_queue_ends_the_looks, 1, 1)
{
	kernel.on_wait = put_from_cpu_5;
	kernel.cpu = 4;
	kernel.step = 1000;
	kernel.at_reading = close_now;
	assert_int_equal(readings_of_get(0), 2);
	kernel.readings = 0;
	kernel.event_at = 5;
	assert_int_equal(get(HONE_QUEUE_FOREVER), -ESHUTDOWN);
	assert_int_equal(kernel.readings, 5);
}

/* That thread can do nothing until this one yields or sleeps. */
QUEUE_TEST(no_looks_if_the_last_waker_ran_on_the_same_cpu, 1, 1)
{
	kernel.on_wait = put_from_cpu_5;
	kernel.cpu = 4;
	kernel.step = 1000;
	kernel.at_reading = put_one;
	assert_int_equal(readings_of_get(0), 2);
	kernel.cpu = 5;
	/* a yield in vain: when it began, and after it */
	assert_int_equal(readings_of_get(0), 3);
	assert_int_equal(kernel.waits, 2);
	/* the thread has moved to another CPU */
	kernel.cpu = 4;
	assert_int_equal(readings_of_get(3), 3);
	assert_int_equal(kernel.waits, 2);
}

/* After a yield of 499 us, and with the next reading of the clock 500. */
static void
put_late(void)
{
	put_one();
	kernel.clock += 499000;
}

static void
come_too_late(void)
{
	kernel.clock += 499000;
}

/* Gets an element: by a sleep, or by a yield, which on_yield() follows. */
static void
get_by(unsigned waits, unsigned yields, void (*on_yield)(void))
{
	kernel.on_yield = on_yield;
	waits += kernel.waits;
	yields += kernel.yields;
	assert_ok(get(HONE_QUEUE_FOREVER));
	assert_int_equal(kernel.waits, waits);
	assert_int_equal(kernel.yields, yields);
}

/* After this sleep, a wait on this CPU yields. */
static void
sleep_briefly_on_cpu_5(void)
{
	kernel.on_wait = put_from_cpu_5;
	kernel.step = 1000;
	kernel.cpu = 5;
	get_by(1, 0, NULL);
}

QUEUE_TEST(after_a_brief_wait_threads_of_a_cpu_yield_to_each_other, 1, 1)
{
	sleep_briefly_on_cpu_5();
	get_by(0, 1, put_one);
	get_by(0, 1, put_one);
	/* a deadline that a time slice could miss, and one that it could not */
	assert_ok(get(kernel.clock + 100000000));
	assert_int_equal(kernel.waits, 2);
	assert_ok(get(kernel.clock + 100001000));
	assert_int_equal(kernel.yields, 3);
	/* in vain: the sleep is not brief */
	kernel.step = 60000;
	get_by(1, 1, NULL);
	kernel.step = 1000;
	kernel.clock += 20000000;
	get_by(1, 0, NULL);
	get_by(0, 1, put_one);
	/* the waker comes from another CPU */
	kernel.cpu = 4;
	get_by(1, 0, NULL);
}

/* After this yield, the calls of so many ns only sleep. */
static void
pauses_for(int64_t ns, unsigned waits, void (*on_yield)(void))
{
	int64_t began = kernel.clock + kernel.step;

	get_by(waits, 1, on_yield);
	get_by(1, 0, NULL);
	kernel.clock = began + ns - 2000;
	get_by(1, 0, NULL);
	kernel.clock = began + ns - 1000;
	get_by(0, 1, put_one);
}

QUEUE_TEST(after_a_lost_time_slice_no_thread_yields_for_a_second, 1, 1)
{
	sleep_briefly_on_cpu_5();
	kernel.step = 999; /* less than a time slice */
	get_by(0, 1, put_late);
	kernel.step = 1000;
	pauses_for(1000000000, 0, put_late);
	pauses_for(1000000000, 1, come_too_late);
}

/* Each of several threads at this end would yield for one element. */
QUEUE_TEST(after_a_yield_in_vain_no_thread_yields_for_20_ms, 1, 1)
{
	sleep_briefly_on_cpu_5();
	pauses_for(20000000, 1, NULL);
}

static void
fill_place(void)
{
	ring_of(queue)->tail--;
	put_one();
}

/* A barrier of all threads would interrupt the producer. */
QUEUE_TEST(a_place_that_is_not_filled_yet_ends_no_looks, 2, 1)
{
	kernel.on_wait = put_from_cpu_5;
	kernel.cpu = 4;
	kernel.step = 1000;
	kernel.at_reading = fill_place;
	assert_int_equal(readings_of_get(0), 2);
	kernel.barriers = 0;
	ring_of(queue)->tail++;
	assert_int_equal(readings_of_get(5), 5);
	assert_int_equal(kernel.waits, 1);
	assert_int_equal(kernel.barriers, 0);
}

static int
close_it(void)
{
	close_now();
	return 0;
}

QUEUE_TEST(a_closed_queue_refuses_puts_and_gives_what_it_has, 3, MODES)
{
	assert_int_equal(put_burst(2, 0), 2);
	hone_queue_close(queue);
	hone_queue_close(queue);
	for (int again = 0; again < 3; again++) {
		assert_int_equal(put(HONE_QUEUE_FOREVER), -ESHUTDOWN);
		assert_int_equal(put_burst(4, 0), -ESHUTDOWN);
	}
	assert_int_equal(hone_queue_count(queue), 2);
	assert_ok(get(HONE_QUEUE_NOW));
	assert_int_equal(get_burst(4, HONE_QUEUE_FOREVER), 1);
	assert_int_equal(get(HONE_QUEUE_NOW), -ESHUTDOWN);
	assert_int_equal(get_burst(4, HONE_QUEUE_FOREVER), -ESHUTDOWN);
	assert_int_equal(hone_queue_count(queue), 0);
	assert_int_equal(kernel.waits, 0);
}

QUEUE_TEST(closing_ends_the_wait_of_a_get, 3, MODES)
{
	kernel.on_wait = close_it;
	assert_int_equal(get(HONE_QUEUE_FOREVER), -ESHUTDOWN);
}

QUEUE_TEST(closing_ends_the_wait_of_a_put, 3, MODES)
{
	kernel.on_wait = close_it;
	assert_int_equal(put_burst(4, HONE_QUEUE_FOREVER), 3);
	assert_int_equal(put(HONE_QUEUE_FOREVER), -ESHUTDOWN);
}

/* After the looks, and before the thread sleeps. */
QUEUE_TEST(what_comes_at_the_last_moment_ends_the_wait, 3, MODES)
{
	if (!line_of(queue)->barriers) {
		close_kernel();
		printf("# skipped: membarrier() is missing here\n");
		skip();
	}
	kernel.on_wait = time_out;
	kernel.on_barrier = put_one;
	assert_ok(get(HONE_QUEUE_FOREVER));
	kernel.on_barrier = close_now;
	assert_int_equal(get(HONE_QUEUE_FOREVER), -ESHUTDOWN);
	assert_int_equal(kernel.waits, 0);
}

TEST(a_producer_that_is_inside_finishes_the_closing)
{
	open_queue(3, HONE_RING_SINGLE_PRODUCER);
	*putting_of(queue) = 1;
	hone_queue_close(queue);
	assert_int_equal(get(HONE_QUEUE_NOW), -ETIMEDOUT);
	*putting_of(queue) = 0;
	assert_int_equal(put(HONE_QUEUE_FOREVER), -ESHUTDOWN);
	assert_int_equal(get(HONE_QUEUE_NOW), -ESHUTDOWN);
	close_kernel();
	/* one of several producers does not: others may be inside */
	open_queue(3, 0);
	line_of(queue)->closed = 1;
	assert_ok(put(HONE_QUEUE_NOW));
	assert_ok(get(HONE_QUEUE_NOW));
	assert_int_equal(get(HONE_QUEUE_NOW), -ETIMEDOUT);
	close_kernel();
}

QUEUE_TEST(a_place_that_is_not_filled_yet_is_not_the_end, 3, 1)
{
	ring_of(queue)->tail++;
	hone_queue_close(queue);
	assert_int_equal(get(HONE_QUEUE_NOW), -ETIMEDOUT);
}

TEST(a_kernel_without_membarrier_is_enough)
{
	for (unsigned flags = 0; flags < MODES; flags++) {
		kernel.refuses_barriers = true;
		open_queue(3, flags);
		kernel.on_wait = wake_for_nothing;
		assert_ok(get(HONE_QUEUE_FOREVER));
		assert_int_equal(kernel.barriers, 0);
		assert_int_equal(kernel.waits, 4);
		hone_queue_close(queue);
		assert_int_equal(kernel.barriers, 0);
		close_kernel();
	}
}

/* Then a wait for the stores of all CPUs comes before each sleep. */
QUEUE_TEST(membarrier_may_be_refused_later, 3, 1)
{
	kernel.refuses_barriers = true;
	kernel.on_wait = time_out;
	assert_int_equal(get(1), -ETIMEDOUT);
	/* without membarrier() from the beginning, there is one sleep */
	assert_int_equal(kernel.waits, kernel.barriers ? 2 : 1);
}

struct run {
	unsigned flags, producers, consumers;
	bool burst;
	unsigned each; /* elements from each producer; 0: until it is refused */
	_Atomic unsigned working; /* producers */
	_Atomic unsigned put, got, errors;
	_Atomic unsigned char arrived[ELEMENTS];
};

static void *
produce(void *arg)
{
	struct run *run = arg;
	unsigned i = 0;

	while (run->each == 0 || i < run->each) {
		unsigned n = run->burst ? 3 : 1;
		void *some[3];
		ssize_t done;

		for (unsigned k = 0; k < 3; k++)
			some[k] = &run->arrived[(i + k) % ELEMENTS];
		if (run->each && n > run->each - i)
			n = run->each - i;
		done = n > 1 ? hone_queue_put_burst(
				       queue, some, n, HONE_QUEUE_FOREVER)
			     : hone_queue_put(
				       queue, some[0], HONE_QUEUE_FOREVER);
		if (done == -ESHUTDOWN)
			break;
		EXPECT(done == (n > 1 ? (ssize_t)n : 0) || !run->each, run);
		i += n > 1 ? (unsigned)done : 1;
	}
	atomic_fetch_add(&run->put, i);
	/* The last one closes. */
	if (atomic_fetch_sub(&run->working, 1) == 1)
		hone_queue_close(queue);
	return NULL;
}

static void *
consume(void *arg)
{
	struct run *run = arg;
	void *some[4];
	ssize_t n;

	for (;;) {
		if (run->burst)
			n = hone_queue_get_burst(
				queue, some, 4, HONE_QUEUE_FOREVER);
		else
			n = hone_queue_get(queue, some, HONE_QUEUE_FOREVER)
				    ? -ESHUTDOWN
				    : 1;
		if (n < 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			atomic_fetch_add((_Atomic unsigned char *)some[i], 1);
		/* Closed by a consumer, while others put. */
		if (atomic_fetch_add(&run->got, (unsigned)n) > FEW &&
			run->each == 0)
			hone_queue_close(queue);
	}
	EXPECT(n == -ESHUTDOWN, run);
	return NULL;
}

/* Returns the elements that arrived. */
static unsigned
transfer(struct run *run, size_t capacity)
{
	unsigned threads = run->producers + run->consumers, got;
	pthread_t ids[2 * MAX_THREADS];

	open_queue(capacity, run->flags);
	run->working = run->producers;
	for (unsigned i = 0; i < threads; i++)
		assert_int_equal(
			pthread_create(&ids[i], NULL,
				i < run->producers ? produce : consume, run),
			0);
	for (unsigned i = 0; i < threads; i++)
		assert_ok(pthread_join(ids[i], NULL));
	got = run->got;
	if (run->errors || run->put != got || hone_queue_count(queue) != 0)
		fail_msg("%u errors: %u of %u elements, flags %u, capacity %zu",
			run->errors, got, run->put, run->flags, capacity);
	close_kernel();
	return got;
}

/* Each mode with as many threads as it allows, each capacity with each way of
 * the calls, and both with and without barriers. */
static void
transfer_in_pairs(bool until_refused)
{
	static const size_t capacities[] = {1, 3, 64};

	for (unsigned i = 0; i < 12; i++) {
		struct run *run = calloc(1, sizeof(*run));
		size_t capacity = capacities[i % 3];

		assert_non_null(run);
		run->flags = i % MODES;
		run->producers = run->flags & HONE_RING_SINGLE_PRODUCER ? 1 : 2;
		run->consumers = run->flags & HONE_RING_SINGLE_CONSUMER ? 1 : 3;
		run->burst = i / 3 % 2;
		kernel.refuses_barriers = i / 6;
		if (!until_refused)
			run->each = (capacity < 64 ? FEW : ELEMENTS) /
				    run->producers;
		(void)transfer(run, capacity);
		if (!until_refused)
			for (unsigned k = 0; k < run->each; k++)
				assert_int_equal(
					run->arrived[k], run->producers);
		free(run);
	}
}

TEST(no_wake_is_lost)
{
	transfer_in_pairs(false);
}

TEST(no_element_is_left_behind_by_closing)
{
	transfer_in_pairs(true);
}

/* One wake for two elements: the thread that is woken wakes the other one. */
TEST(each_element_ends_a_wait)
{
	void *some[2] = {NULL};

	for (unsigned flags = 0; flags < 2; flags++)
		for (unsigned i = 0; i < 50; i++) {
			struct run *run = calloc(1, sizeof(*run));
			pthread_t ids[3];

			assert_non_null(run);
			some[0] = some[1] = run->arrived;
			open_queue(2, flags);
			for (unsigned k = 0; k < 3; k++)
				assert_ok(pthread_create(
					&ids[k], NULL, consume, run));
			while (kernel.waits < 3)
				sched_yield();
			assert_int_equal(
				hone_queue_put_burst(queue, some, 2, 0), 2);
			while (run->got < 2)
				sched_yield();
			hone_queue_close(queue);
			for (unsigned k = 0; k < 3; k++)
				assert_ok(pthread_join(ids[k], NULL));
			assert_int_equal(run->errors, 0);
			free(run);
			close_kernel();
		}
}
