/* SPDX-License-Identifier: BSD-3-Clause */
/* The producers' end of a ring. */
#include <string.h>
#include "ring/ring.h"

/*
 * How many elements fit behind tail: at least n if head_seen shows that, else
 * what the head itself shows. One of several producers may come with a tail
 * that is out of date: then this is too many, even more than the capacity, and
 * the exchange of tail fails; too few it never is.
 */
static inline int64_t
room_behind(struct hone_ring *ring, uint64_t tail, size_t n)
{
	/*
	 * Acquire: pairs with the release below by another producer, who had
	 * seen that the consumers were done with the slots up to there.
	 */
	uint64_t head = __atomic_load_n(&ring->head_seen, __ATOMIC_ACQUIRE);
	int64_t room = (int64_t)(ring->capacity - (tail - head));

	if (room >= (int64_t)n)
		return room;
	/*
	 * Acquire: pairs with the release of head in take.c and in
	 * hone_ring_dequeue(): slots are filled only after they were read.
	 */
	head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	/* Release: pairs with the acquire above. It may go back, if another
	 * producer was faster: that costs a look at head, nothing else. */
	__atomic_store_n(&ring->head_seen, head, __ATOMIC_RELEASE);
	return (int64_t)(ring->capacity - (tail - head));
}

/* Nobody but one consumer reads these slots, and it only once tail says so. */
static inline void
copy_in(void **slots, uint64_t tail, void *const *elements, size_t n,
	uint32_t mask)
{
	size_t run = run_of(tail, n, mask);

	memcpy(slots + (tail & mask), elements, run * sizeof(*slots));
	memcpy(slots, elements + run, (n - run) * sizeof(*slots));
}

static inline void
store(void **slot, void *element)
{
	/* Relaxed: a consumer that is too late throws away what it read. */
	__atomic_store_n(slot, element, __ATOMIC_RELAXED);
}

/* n slots in a row, four a turn: compilers do not unroll atomics. */
static inline void
write_run(void **slots, void *const *elements, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		store(&slots[i], elements[i]);
		store(&slots[i + 1], elements[i + 1]);
		store(&slots[i + 2], elements[i + 2]);
		store(&slots[i + 3], elements[i + 3]);
	}
	for (; i < n; i++)
		store(&slots[i], elements[i]);
}

/* One of several consumers may read them when it is too late. */
static inline void
write_in(void **slots, uint64_t tail, void *const *elements, size_t n,
	uint32_t mask)
{
	size_t run = run_of(tail, n, mask);

	write_run(slots + (tail & mask), elements, run);
	write_run(slots, elements + run, n - run);
}

/* Add at least `least` and up to n elements, n at most the capacity. */
static inline size_t
add_single(
	struct hone_ring *ring, void *const *elements, size_t n, size_t least)
{
	/* Relaxed: nobody else writes it. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	int64_t room = room_behind(ring, tail, n);

	if (room < (int64_t)least)
		return 0;
	if (room < (int64_t)n)
		n = (size_t)room;
	if (ring->flags & HONE_RING_SINGLE_CONSUMER)
		copy_in(hone_detail_ring_slot(ring, 0), tail, elements, n,
			ring->mask);
	else
		write_in(hone_detail_ring_slot(ring, 0), tail, elements, n,
			ring->mask);
	/*
	 * Release: pairs with the acquire of tail in there_from() of take.c:
	 * whoever sees the new tail sees the slots, and what is behind the
	 * pointers.
	 */
	__atomic_store_n(&ring->tail, tail + n, __ATOMIC_RELEASE);
	return n;
}

/* Fill slots that are ours, for the positions from `from` on. */
static inline void
publish_run(struct hone_ring_slot *slots, uint64_t from, void *const *elements,
	size_t n)
{
	for (size_t i = 0; i < n; i++) {
		store(&slots[i].element, elements[i]);
		/*
		 * Release: pairs with the acquire of sequence in filled_run()
		 * of take.c: whoever sees the number sees the element.
		 */
		__atomic_store_n(
			&slots[i].sequence, from + i + 1, __ATOMIC_RELEASE);
	}
}

/* The same for one of several producers. */
static inline size_t
add_multi(struct hone_ring *ring, void *const *elements, size_t n, size_t least)
{
	/*
	 * Acquire: pairs with the release of another producer below, so that
	 * head is not seen older than that one saw it: room_behind() would
	 * show too few.
	 */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	struct hone_ring_slot *slots = slot_of(ring, 0);
	uint32_t mask = ring->mask;
	size_t take, run;

	do {
		int64_t room = room_behind(ring, tail, n);

		if (room < (int64_t)least)
			return 0;
		take = room < (int64_t)n ? (size_t)room : n;
		/*
		 * Acquire: as for the load above. Release: pairs with it, and
		 * with the acquire of tail in hone_ring_count(), likewise for
		 * the sake of head. What lies in the slots is published by
		 * their sequence numbers.
		 */
	} while (!__atomic_compare_exchange_n(&ring->tail, &tail, tail + take,
		false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	run = run_of(tail, take, mask);
	publish_run(slots + (tail & mask), tail, elements, run);
	publish_run(slots, tail + run, elements + run, take - run);
	return take;
}

static inline bool
is_single(const struct hone_ring *ring)
{
	return ring->flags & HONE_RING_SINGLE_PRODUCER;
}

int
hone_detail_ring_enqueue(struct hone_ring *ring, void *element)
{
	size_t added = is_single(ring) ? add_single(ring, &element, 1, 1)
				       : add_multi(ring, &element, 1, 1);

	return added ? 0 : -ENOBUFS;
}

int
hone_ring_enqueue_bulk(struct hone_ring *ring, void *const *elements, size_t n)
{
	size_t added;

	if (n == 0)
		return 0;
	if (n > ring->capacity)
		return -ENOBUFS;
	added = is_single(ring) ? add_single(ring, elements, n, n)
				: add_multi(ring, elements, n, n);
	return added ? 0 : -ENOBUFS;
}

size_t
hone_ring_enqueue_burst(struct hone_ring *ring, void *const *elements, size_t n)
{
	if (n > ring->capacity)
		n = ring->capacity;
	if (n == 0)
		return 0;
	return is_single(ring) ? add_single(ring, elements, n, 1)
			       : add_multi(ring, elements, n, 1);
}
