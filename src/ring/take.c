/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The consumers' end of a ring.
 *
 * One of several consumers first reads the elements and then exchanges head.
 * If that succeeds, head had not moved since, so no producer may have touched
 * the slots meanwhile; if not, what was read is thrown away. So a consumer
 * never owns a slot, and one that is preempted holds nothing.
 */
#include <string.h>
#include "ring/ring.h"

/*
 * Move head from what it was, over n slots that were read. False, and *head
 * brought up to date, if another consumer was faster.
 */
static inline bool
leave(struct hone_ring *ring, uint64_t *head, size_t n, bool single)
{
	/*
	 * Release, both times: pairs with the acquire of head in room_behind()
	 * of add.c: the slots were read before a producer fills them again.
	 */
	if (single) {
		__atomic_store_n(&ring->head, *head + n, __ATOMIC_RELEASE);
		return true;
	}
	/*
	 * Acquire: pairs with the release of the faster consumer, so that tail
	 * is not seen older than the head that it left. Of use on failure
	 * only, but C11 wants no less for success.
	 */
	return __atomic_compare_exchange_n(&ring->head, head, *head + n, false,
		__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/*
 * How many elements there are from head on, for rings with a single producer:
 * at least n if tail_seen shows that, else what the tail itself shows. With a
 * head that is out of date, these are too many, but never too few.
 */
static inline int64_t
there_from(struct hone_ring *ring, uint64_t head, size_t n)
{
	/*
	 * Acquire: pairs with the release below by another consumer, who had
	 * seen the slots up to there filled.
	 */
	uint64_t tail = __atomic_load_n(&ring->tail_seen, __ATOMIC_ACQUIRE);

	if ((int64_t)(tail - head) >= (int64_t)n)
		return (int64_t)(tail - head);
	/*
	 * Acquire: pairs with the release of tail in add_single() of add.c and
	 * in hone_ring_enqueue(): the slots before it are filled.
	 */
	tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	/* Release: pairs with the acquire above. It may go back, if another
	 * consumer was faster: that costs a look at tail, nothing else. */
	__atomic_store_n(&ring->tail_seen, tail, __ATOMIC_RELEASE);
	return (int64_t)(tail - head);
}

/* The only consumer: nobody writes to these slots before head moves. */
static inline void
copy_out(void **elements, void *const *slots, uint64_t head, size_t n,
	uint32_t mask)
{
	size_t run = run_of(head, n, mask);

	memcpy(elements, slots + (head & mask), run * sizeof(*slots));
	memcpy(elements + run, slots, (n - run) * sizeof(*slots));
}

static inline void *
load(void *const *slot)
{
	/* Relaxed: leave() tells whether it was what it should be. */
	return __atomic_load_n(slot, __ATOMIC_RELAXED);
}

/* n slots in a row, four a turn: compilers do not unroll atomics. */
static inline void
read_run(void **elements, void *const *slots, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		elements[i] = load(&slots[i]);
		elements[i + 1] = load(&slots[i + 1]);
		elements[i + 2] = load(&slots[i + 2]);
		elements[i + 3] = load(&slots[i + 3]);
	}
	for (; i < n; i++)
		elements[i] = load(&slots[i]);
}

/* One of several: the producer may write to them, if we are too late. */
static inline void
read_out(void **elements, void *const *slots, uint64_t head, size_t n,
	uint32_t mask)
{
	size_t run = run_of(head, n, mask);

	read_run(elements, slots + (head & mask), run);
	read_run(elements + run, slots, n - run);
}

/*
 * Take at least `least` and up to n elements, n at most the capacity, from a
 * ring with a single producer. Returns how many, or -ENOENT.
 */
static inline int64_t
take_published(struct hone_ring *ring, void **elements, size_t n, size_t least,
	bool single)
{
	void **slots = hone_detail_ring_slot(ring, 0);
	/*
	 * Acquire: pairs with the release of another consumer in leave(), so
	 * that tail is not seen older than the head that it left.
	 */
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	size_t take;

	do {
		int64_t there = there_from(ring, head, n);

		if (there < (int64_t)least)
			return -ENOENT;
		take = there < (int64_t)n ? (size_t)there : n;
		if (single)
			copy_out(elements, slots, head, take, ring->mask);
		else
			read_out(elements, slots, head, take, ring->mask);
	} while (!leave(ring, &head, take, single));
	return (int64_t)take;
}

/*
 * Why fewer than `least` slots from *head on were filled: -ENOENT, -EAGAIN,
 * or 0 if *head was out of date; it has been brought up to date.
 */
static int
why_not(const struct hone_ring *ring, uint64_t *head, size_t least)
{
	/* Acquire: the load of head below comes after this one. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	/* Acquire: pairs with the release of another consumer in leave(), so
	 * that tail is not seen older than this head, if there is a next turn.
	 */
	uint64_t now = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	if (tail - *head < least) /* and even fewer if head has moved */
		return -ENOENT;
	if (now == *head)
		return -EAGAIN;
	*head = now;
	return 0;
}

/* Read up to n slots in a row, for the positions from `from` on, until one is
 * not filled; returns how many were. */
static inline size_t
filled_run(void **elements, const struct hone_ring_slot *slots, uint64_t from,
	size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		/*
		 * Acquire: pairs with the release of sequence in publish_run()
		 * of add.c: the element is there.
		 */
		if (__atomic_load_n(&slots[i].sequence, __ATOMIC_ACQUIRE) !=
			from + i + 1)
			break;
		elements[i] = load(&slots[i].element);
	}
	return i;
}

/* The same from a ring with several producers; or -EAGAIN. */
static inline int64_t
take_sequenced(struct hone_ring *ring, void **elements, size_t n, size_t least,
	bool single)
{
	struct hone_ring_slot *slots = slot_of(ring, 0);
	uint32_t mask = ring->mask;
	/* Acquire: as in take_published(), for the tail in why_not(). */
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	for (;;) {
		size_t run = run_of(head, n, mask);
		size_t take =
			filled_run(elements, slots + (head & mask), head, run);

		if (take == run)
			take += filled_run(
				elements + run, slots, head + run, n - run);
		if (take < least) {
			int error = why_not(ring, &head, least);

			if (error)
				return error;
		} else if (leave(ring, &head, take, single)) {
			return (int64_t)take;
		}
	}
}

/* As the flags of the ring want it. */
static inline int64_t
take(struct hone_ring *ring, void **elements, size_t n, size_t least)
{
	bool single = ring->flags & HONE_RING_SINGLE_CONSUMER;

	if (ring->flags & HONE_RING_SINGLE_PRODUCER)
		return take_published(ring, elements, n, least, single);
	return take_sequenced(ring, elements, n, least, single);
}

int
hone_detail_ring_dequeue(struct hone_ring *ring, void **element)
{
	int64_t taken = take(ring, element, 1, 1);

	return taken < 0 ? (int)taken : 0;
}

int
hone_ring_dequeue_bulk(struct hone_ring *ring, void **elements, size_t n)
{
	int64_t taken;

	if (n == 0)
		return 0;
	if (n > ring->capacity)
		return -ENOENT;
	taken = take(ring, elements, n, n);
	return taken < 0 ? (int)taken : 0;
}

size_t
hone_ring_dequeue_burst(struct hone_ring *ring, void **elements, size_t n)
{
	int64_t taken;

	if (n > ring->capacity)
		n = ring->capacity;
	if (n == 0)
		return 0;
	taken = take(ring, elements, n, 1);
	return taken < 0 ? 0 : (size_t)taken;
}
