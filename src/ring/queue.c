/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting at both ends of a ring, and the end of all waits.
 *
 * A thread that waits announces itself, makes a barrier, looks into the ring
 * once more, and sleeps only if the sequence number of its end has not changed
 * meanwhile. A call that moved elements looks for a thread that waits at the
 * other end. One of the two sees the other. The barrier of a thread that goes
 * to sleep, membarrier(), is one of all threads. So a call that moves elements
 * needs none, and does not wait for its own store.
 *
 * At most one woken thread of an end has not run yet: more elements cause no
 * further system call. When that thread has run, it owes a look to the others
 * that wait: it wakes the next one if there is more.
 *
 * Closing takes effect at one instant, although a put has no lock:
 * - several producers take their places by an exchange of the ring's tail. A
 *   closed queue has all remaining places taken, so each exchange fails;
 * - a single producer shows by `putting` that it is inside. If it is, closing
 *   ends when it leaves.
 */
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <hone/queue.h>

/* The kernel's time of 64 bits, on CPUs of 32 bits too. */
#ifdef SYS_futex_time64
#define QUEUE_FUTEX SYS_futex_time64
#else
#define QUEUE_FUTEX SYS_futex
#endif

/* Numbers of the kernel. Its headers are no part of musl, and may be absent. */
#define QUEUE_FUTEX_WAKE 129           /* FUTEX_WAKE_PRIVATE */
#define QUEUE_FUTEX_WAIT 137           /* FUTEX_WAIT_BITSET_PRIVATE */
#define QUEUE_FUTEX_ANY 0xffffffffu    /* FUTEX_BITSET_MATCH_ANY */
#define QUEUE_BARRIER (1 << 3)         /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */
#define QUEUE_BARRIER_ALLOWED (1 << 4) /* the same with _REGISTER */

#define QUEUE_SECOND 1000000000
/* Looks before a thread sleeps: together 1 us or less. */
#define QUEUE_LOOKS 20
/* A wait that takes less is brief: longer than the 41 us of two threads that
 * answer each other and both sleep (docs/design/ring.md). */
#define QUEUE_BRIEF_NS 50000
/* Less than a time slice of Linux, which has 0.7 ms or more. */
#define QUEUE_SLICE_NS 500000
/* No yields after one that lost a time slice, and after one in vain. */
#define QUEUE_PAUSE_NS 1000000000
#define QUEUE_VAIN_NS 20000000
/* A deadline from here on is not missed if another program gets the CPU. */
#define QUEUE_FAR_NS 100000000
/* After this time, each CPU has completed a store. */
#define QUEUE_SETTLED_NS 1000000
/* Bit of the ring's tail that takes all remaining places. The ring computes
 * with signed differences of positions, which stay below the bit above. */
#define QUEUE_LAST (UINT64_C(1) << 62)
#define QUEUE_ALIGN 128

/* The threads that wait at one end. */
struct queue_end {
	uint32_t state;    /* 2 for each, and 1 if one of them is woken */
	uint32_t sequence; /* the futex; goes up before each wake */
	int32_t cpu;       /* of the last thread that woke one, plus 1 */
	uint32_t brief;    /* the last wait with a sleep was: queue_spin() */
	int64_t resume;    /* when queue_give_way() may yield again */
};

#define QUEUE_WAITER 2u
#define QUEUE_WOKEN 1u

enum { QUEUE_OPEN, QUEUE_CLOSING, QUEUE_CLOSED };

struct hone_queue {
	/* Each call reads this line. Only threads that wait or close write it:
	 * or without membarrier(), all. */
	struct queue_end getters, putters;
	uint32_t closed;
	uint32_t barriers; /* membarrier() is allowed */
	uint32_t order;    /* counts in place of barriers */
	char pad_shared[QUEUE_ALIGN - 60];
	uint32_t putting; /* the single producer is inside */
	char pad_producer[QUEUE_ALIGN - 4];
	struct hone_ring ring; /* the slots follow */
};

_Static_assert(offsetof(struct hone_queue, ring) == 2 * QUEUE_ALIGN,
	"the producer has a line of its own");

/* A call that may wait. */
struct queue_call {
	struct hone_queue *queue;
	void *const *from; /* NULL: a get */
	void **to;
	size_t n;
	int64_t deadline;
};

static inline bool
queue_rare(bool holds)
{
	return __builtin_expect(holds, false);
}

static int64_t
queue_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)QUEUE_SECOND + now.tv_nsec;
}

/* Sleeps while the futex has the value. Returns false if the deadline passed.
 */
static bool
queue_sleep(uint32_t *futex, uint32_t value, int64_t deadline)
{
	const int64_t when[2] = {
		deadline / QUEUE_SECOND, deadline % QUEUE_SECOND};

	return syscall(QUEUE_FUTEX, futex, QUEUE_FUTEX_WAIT, value,
		       deadline == HONE_QUEUE_FOREVER ? NULL : when, NULL,
		       QUEUE_FUTEX_ANY) == 0 ||
	       errno != ETIMEDOUT;
}

static void
queue_wake(struct queue_end *end, int threads)
{
	/* Release: pairs with the acquire in queue_park(): a thread that does
	 * not sleep because of this number sees why. */
	__atomic_fetch_add(&end->sequence, 1, __ATOMIC_RELEASE);
	(void)syscall(QUEUE_FUTEX, &end->sequence, QUEUE_FUTEX_WAKE, threads,
		NULL, NULL, 0);
}

static bool
queue_membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* Between two threads that both come here, the second one sees what the first
 * one did before. */
static inline void
queue_order(struct hone_queue *q)
{
	__atomic_fetch_add(&q->order, 1, __ATOMIC_ACQ_REL);
}

/* Of a call that moves elements, between its stores and its look. */
static inline void
queue_light(struct hone_queue *q)
{
	if (queue_rare(!q->barriers))
		queue_order(q);
	/* For the compiler; queue_heavy() does the same for the CPU. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Of a thread that waits or closes, between its store and its look. */
static void
queue_heavy(struct hone_queue *q)
{
	if (!q->barriers)
		queue_order(q);
	else if (!queue_membarrier(QUEUE_BARRIER))
		/* Refused since the queue was created. Nobody writes order. */
		(void)queue_sleep(
			&q->order, 0, hone_queue_deadline(QUEUE_SETTLED_NS));
}

/* Wakes one of the threads at an end, unless one is woken already. */
static __attribute__((noinline)) void
queue_wake_one(struct queue_end *end)
{
	/* Relaxed: queue_light() comes before. */
	uint32_t state = __atomic_load_n(&end->state, __ATOMIC_RELAXED);

	do {
		if (state < QUEUE_WAITER || (state & QUEUE_WOKEN))
			return;
		/* Release: pairs with the acquire in queue_park(): a thread
		 * that comes later sees the elements. */
	} while (!__atomic_compare_exchange_n(&end->state, &state,
		state | QUEUE_WOKEN, false, __ATOMIC_ACQ_REL,
		__ATOMIC_RELAXED));
	/* Relaxed: for queue_may_spin() only. */
	__atomic_store_n(&end->cpu, sched_getcpu() + 1, __ATOMIC_RELAXED);
	queue_wake(end, 1);
}

/* After queue_light(). */
static inline void
queue_look(struct queue_end *end)
{
	/* Relaxed: the order is that of queue_light(). */
	if (queue_rare(__atomic_load_n(&end->state, __ATOMIC_RELAXED)))
		queue_wake_one(end);
}

/* No put is inside, and none will succeed. */
static void
queue_settle(struct hone_queue *q)
{
	uint32_t closing = QUEUE_CLOSING;

	/* Release: pairs with the acquire in queue_is_over(): a get that sees
	 * the end sees the last element. */
	if (__atomic_compare_exchange_n(&q->closed, &closing, QUEUE_CLOSED,
		    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		queue_wake(&q->getters, INT_MAX);
}

static inline size_t
queue_add(struct hone_ring *ring, void *const *elements, size_t n)
{
	if (n == 1)
		return hone_ring_enqueue(ring, *elements) == 0;
	return hone_ring_enqueue_burst(ring, elements, n);
}

/* Puts what there is room for, as the only producer. */
static inline size_t
queue_put_single(struct hone_queue *q, void *const *elements, size_t n)
{
	size_t done = 0;

	/* Relaxed, both: the order is that of queue_light(). */
	__atomic_store_n(&q->putting, 1, __ATOMIC_RELAXED);
	queue_light(q);
	if (__atomic_load_n(&q->closed, __ATOMIC_RELAXED) == QUEUE_OPEN)
		done = queue_add(&q->ring, elements, n);
	/* Release: pairs with the acquire in hone_queue_close(). */
	__atomic_store_n(&q->putting, 0, __ATOMIC_RELEASE);
	queue_light(q);
	/* Relaxed: as above. */
	if (queue_rare(__atomic_load_n(&q->closed, __ATOMIC_RELAXED) ==
		       QUEUE_CLOSING))
		queue_settle(q);
	return done;
}

/* Puts as many as there is room for. Returns 0 also if the queue is closed. */
static inline size_t
queue_put_some(struct hone_queue *q, void *const *elements, size_t n)
{
	size_t done;

	if (q->ring.flags & HONE_RING_SINGLE_PRODUCER) {
		done = queue_put_single(q, elements, n);
	} else {
		done = queue_add(&q->ring, elements, n);
		queue_light(q);
	}
	if (done)
		queue_look(&q->getters);
	return done;
}

/* Gets as many as there are. */
static inline size_t
queue_get_some(struct hone_queue *q, void **elements, size_t n)
{
	size_t done;

	if (n == 1)
		done = hone_ring_dequeue(&q->ring, elements) == 0;
	else
		done = hone_ring_dequeue_burst(&q->ring, elements, n);
	if (done) {
		queue_light(q);
		queue_look(&q->putters);
	}
	return done;
}

static size_t
queue_try(const struct queue_call *c)
{
	if (c->from)
		return queue_put_some(c->queue, c->from, c->n);
	return queue_get_some(c->queue, c->to, c->n);
}

/* Whether the call ends with -ESHUTDOWN. */
static bool
queue_is_over(const struct queue_call *c)
{
	/* Acquire: pairs with the release in queue_settle() and
	 * hone_queue_close(). */
	uint32_t closed = __atomic_load_n(&c->queue->closed, __ATOMIC_ACQUIRE);

	if (c->from)
		return closed != QUEUE_OPEN;
	return closed == QUEUE_CLOSED && hone_queue_count(c->queue) == 0;
}

/* Whether a try may succeed. */
static bool
queue_is_ready(const struct queue_call *c)
{
	size_t count = hone_queue_count(c->queue);

	return c->from ? count < c->queue->ring.capacity : count > 0;
}

static struct queue_end *
queue_end_of(const struct queue_call *c)
{
	return c->from ? &c->queue->putters : &c->queue->getters;
}

/* Whether a thread on another CPU may end the wait meanwhile. */
static bool
queue_may_spin(const struct queue_end *end)
{
	/* Relaxed: an outdated CPU costs looks, or a sleep. */
	int32_t cpu = __atomic_load_n(&end->cpu, __ATOMIC_RELAXED);

	return cpu == 0 || sched_getcpu() + 1 != cpu;
}

/* Looks for some time, and tries if an element or room is there. A producer may
 * not have filled its place yet: then it looks again. */
static size_t
queue_looks(const struct queue_call *c)
{
	size_t done = 0;

	for (int looks = QUEUE_LOOKS; looks > 0; looks--) {
		if (queue_is_ready(c) && (done = queue_try(c)) > 0)
			break;
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
	return done;
}

/*
 * Gives the CPU to the thread that shares it: two threads that answer each
 * other then need 2.6 us for a reply, in place of 6.7 us with a sleep and a
 * wake (docs/design/ring.md). A third program may get the CPU instead, for some
 * time slices. After that the thread sleeps in its waits for a second. After a
 * yield that brought nothing it sleeps for 20 ms: several threads may wait at
 * this end, or the other thread may have a lower priority.
 */
static size_t
queue_give_way(const struct queue_call *c, int64_t *began)
{
	struct queue_end *end = queue_end_of(c);
	int64_t now = queue_now();
	size_t done = 0;

	if (*began == 0)
		*began = now;
	/* Relaxed, all: as cpu. */
	if (!__atomic_load_n(&end->brief, __ATOMIC_RELAXED) ||
		now < __atomic_load_n(&end->resume, __ATOMIC_RELAXED) ||
		c->deadline - now < QUEUE_FAR_NS)
		return 0;
	(void)sched_yield();
	if (queue_is_ready(c))
		done = queue_try(c);
	if (queue_now() - now >= QUEUE_SLICE_NS)
		__atomic_store_n(
			&end->resume, now + QUEUE_PAUSE_NS, __ATOMIC_RELAXED);
	else if (done == 0)
		__atomic_store_n(
			&end->resume, now + QUEUE_VAIN_NS, __ATOMIC_RELAXED);
	return done;
}

/*
 * Looks before the call sleeps; for as long as a brief wait takes if the last
 * wait with a sleep at this end was brief. With fewer looks, two threads that
 * answer each other go on to sleep in turns, once both have slept. Sets *began
 * after the first looks, which often suffice.
 */
static size_t
queue_spin(const struct queue_call *c, int64_t *began)
{
	struct queue_end *end = queue_end_of(c);
	size_t done;
	int64_t now;

	if (!queue_may_spin(end))
		return queue_give_way(c, began);
	done = queue_looks(c);
	if (done > 0)
		return done;
	if (*began == 0)
		*began = queue_now();
	/* Relaxed, as cpu. */
	if (!__atomic_load_n(&end->brief, __ATOMIC_RELAXED))
		return 0;
	do {
		done = queue_looks(c);
	} while (done == 0 && !queue_is_over(c) &&
		 (now = queue_now()) < c->deadline &&
		 now - *began < QUEUE_BRIEF_NS);
	return done;
}

/* After a wait in which the call slept. One in vain is not brief: a thread that
 * tries again and again, with near deadlines, sleeps. */
static void
queue_note(struct queue_end *end, int64_t began, size_t done)
{
	int64_t waited = done > 0 ? queue_now() - began : INT64_MAX;
	uint32_t brief = waited < QUEUE_BRIEF_NS;

	/* Relaxed, as cpu. Each call reads the line, so it changes rarely. */
	if (__atomic_load_n(&end->brief, __ATOMIC_RELAXED) != brief)
		__atomic_store_n(&end->brief, brief, __ATOMIC_RELAXED);
}

/* Does not wait any more. Returns whether this thread owes a look to the
 * threads that still do. */
static bool
queue_leave(struct queue_end *end)
{
	uint32_t left, state = __atomic_load_n(&end->state, __ATOMIC_RELAXED);

	do {
		left = (state - QUEUE_WAITER) & ~QUEUE_WOKEN;
		/* Acquire: pairs with the release in queue_wake_one(). */
	} while (!__atomic_compare_exchange_n(&end->state, &state, left, false,
		__ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return (state & QUEUE_WOKEN) && left;
}

/* Sleeps until it is woken, or until the deadline. */
static size_t
queue_park(const struct queue_call *c, bool *in_time, bool *owes)
{
	struct hone_queue *q = c->queue;
	struct queue_end *end = queue_end_of(c);
	/* Acquire: pairs with the release in queue_wake(). */
	uint32_t sequence = __atomic_load_n(&end->sequence, __ATOMIC_ACQUIRE);
	size_t done;

	/* Acquire: pairs with the release in queue_wake_one(). */
	__atomic_fetch_add(&end->state, QUEUE_WAITER, __ATOMIC_ACQ_REL);
	queue_heavy(q);
	done = queue_try(c);
	if (done == 0 && !queue_is_over(c))
		*in_time = queue_sleep(&end->sequence, sequence, c->deadline);
	if (queue_leave(end))
		*owes = true;
	return done > 0 ? done : queue_try(c);
}

/* The rest of a call whose first try failed. Returns how many elements it
 * moved, or an error. */
static __attribute__((noinline)) ssize_t
queue_wait(struct hone_queue *q, const struct queue_call *c)
{
	bool in_time = c->deadline > HONE_QUEUE_NOW, owes = false;
	bool slept = false;
	int64_t began = 0; /* unless queue_spin() took the time */
	size_t done = 0;
	int error = 0;

	while (done == 0 && error == 0) {
		if (queue_is_over(c))
			error = -ESHUTDOWN;
		else if (!in_time)
			error = -ETIMEDOUT;
		else if ((done = queue_spin(c, &began)) == 0) {
			done = queue_park(c, &in_time, &owes);
			slept = true;
		}
	}
	if (slept)
		queue_note(queue_end_of(c), began, done);
	if (owes) {
		queue_heavy(q);
		if (queue_is_ready(c))
			queue_wake_one(queue_end_of(c));
	}
	return error ? error : (ssize_t)done;
}

int
hone_queue_put(struct hone_queue *queue, void *element, int64_t deadline)
{
	struct queue_call call = {queue, &element, NULL, 1, deadline};
	ssize_t moved;

	if (queue_put_some(queue, &element, 1))
		return 0;
	moved = queue_wait(queue, &call);
	return moved < 0 ? (int)moved : 0;
}

ssize_t
hone_queue_put_burst(struct hone_queue *queue, void *const *elements, size_t n,
	int64_t deadline)
{
	size_t done = 0;

	while (done < n) {
		struct queue_call call = {
			queue, elements + done, NULL, n - done, deadline};
		ssize_t moved =
			(ssize_t)queue_put_some(queue, call.from, call.n);

		if (moved == 0)
			moved = queue_wait(queue, &call);
		if (moved < 0)
			return done > 0 ? (ssize_t)done : moved;
		done += (size_t)moved;
	}
	return (ssize_t)done;
}

int
hone_queue_get(struct hone_queue *queue, void **element, int64_t deadline)
{
	struct queue_call call = {queue, NULL, element, 1, deadline};
	ssize_t moved;

	if (queue_get_some(queue, element, 1))
		return 0;
	moved = queue_wait(queue, &call);
	return moved < 0 ? (int)moved : 0;
}

ssize_t
hone_queue_get_burst(
	struct hone_queue *queue, void **elements, size_t n, int64_t deadline)
{
	struct queue_call call = {queue, NULL, elements, n, deadline};
	size_t done = queue_get_some(queue, elements, n);

	if (done > 0 || n == 0)
		return (ssize_t)done;
	return queue_wait(queue, &call);
}

void
hone_queue_close(struct hone_queue *queue)
{
	uint32_t open = QUEUE_OPEN;

	/* Release: pairs with the acquire in queue_is_over(). */
	if (!__atomic_compare_exchange_n(&queue->closed, &open, QUEUE_CLOSING,
		    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (queue->ring.flags & HONE_RING_SINGLE_PRODUCER) {
		queue_heavy(queue);
		/* Acquire: pairs with the release in queue_put_single(): the
		 * last element is visible. */
		if (!__atomic_load_n(&queue->putting, __ATOMIC_ACQUIRE))
			queue_settle(queue);
	} else {
		/* Acquire: pairs with the release of tail in add_multi() of
		 * add.c, so that a get counts all places. */
		__atomic_fetch_or(
			&queue->ring.tail, QUEUE_LAST, __ATOMIC_ACQ_REL);
		queue_settle(queue);
	}
	queue_wake(&queue->putters, INT_MAX);
}

size_t
hone_queue_count(const struct hone_queue *queue)
{
	uint64_t count = hone_ring_count(&queue->ring);

	return (size_t)(count & ~QUEUE_LAST);
}

int64_t
hone_queue_deadline(int64_t ns)
{
	int64_t deadline;

	if (ns <= 0)
		return HONE_QUEUE_NOW;
	if (__builtin_add_overflow(queue_now(), ns, &deadline))
		return HONE_QUEUE_FOREVER;
	return deadline;
}

int
hone_queue_create(struct hone_queue **queue, size_t capacity, unsigned flags)
{
	size_t size = hone_ring_size(capacity, flags);
	struct hone_queue *q;
	void *memory;

	if (capacity < 1 || capacity > HONE_RING_CAPACITY_MAX ||
		hone_ring_size(1, flags) == 0)
		return -EINVAL;
	if (size == 0 || __builtin_add_overflow(size, sizeof(*q), &size) ||
		posix_memalign(&memory, QUEUE_ALIGN, size) != 0)
		return -ENOMEM;
	q = memory;
	*q = (struct hone_queue){0};
	q->barriers = queue_membarrier(QUEUE_BARRIER_ALLOWED);
	*queue = q;
	return hone_ring_init(&q->ring, capacity, flags);
}

void
hone_queue_destroy(struct hone_queue *queue)
{
	free(queue);
}
