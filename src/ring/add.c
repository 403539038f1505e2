/* SPDX-License-Identifier: BSD-3-Clause */
/* The producers' end of a ring. */
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

/* n slots in a row, which one consumer only reads, and only once they are
 * published. */
static inline void
copy_run(void **slots, void *const *elements, size_t n)
{
	if (n >= RING_LONG) {
		memcpy(slots, elements, n * sizeof(*slots));
		return;
	}
	for (; n >= 4; n -= 4, elements += 4, slots += 4)
		memcpy(slots, elements, 4 * sizeof(*slots));
	for (; n > 0; n--)
		*slots++ = *elements++;
}

/* The same where one of several consumers may read when it is too late; it
 * throws away what it read. */
static inline void
write_run(void **slots, void *const *elements, size_t n)
{
	for (; n >= 4; n -= 4, elements += 4, slots += 4) {
		store_pair(slots, elements);
		store_pair(slots + 2, elements + 2);
	}
	for (; n > 0; n--) /* relaxed, as above */
		__atomic_store_n(slots++, *elements++, __ATOMIC_RELAXED);
}

static inline void
fill_run(void **slots, void *const *elements, size_t n, bool single)
{
	if (single)
		copy_run(slots, elements, n);
	else
		write_run(slots, elements, n);
}

static inline void
fill(struct hone_ring *ring, uint64_t tail, void *const *elements, size_t n,
	bool single)
{
	size_t run = run_of(tail, n, ring->mask);

	fill_run(hone_detail_ring_slot(ring, tail), elements, run, single);
	if (run < n)
		fill_run(hone_detail_ring_slot(ring, 0), elements + run,
			n - run, single);
}

/* Add at least `least` and up to n elements, n at most the capacity. */
static inline __attribute__((always_inline)) size_t
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
	fill(ring, tail, elements, n, ring->flags & HONE_RING_SINGLE_CONSUMER);
	/*
	 * Release: pairs with the acquire of tail in take.c and in
	 * hone_ring_dequeue(): whoever sees the new tail sees the slots, and
	 * what is behind the pointers.
	 */
	__atomic_store_n(&ring->tail, tail + n, __ATOMIC_RELEASE);
	return n;
}

/* The same for one of several producers. */
static inline __attribute__((always_inline)) size_t
add_multi(struct hone_ring *ring, void *const *elements, size_t n, size_t least,
	bool single)
{
	/*
	 * Acquire: pairs with the release of another producer below, so that
	 * head is not seen older than that one saw it: room_behind() would
	 * show too few.
	 */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	size_t take;

	do {
		int64_t room = room_behind(ring, tail, n);

		if (room < (int64_t)least)
			return 0;
		take = room < (int64_t)n ? (size_t)room : n;
		/*
		 * Acquire: as for the load above. Release: pairs with it, and
		 * with the acquire of tail in hone_ring_count(), likewise for
		 * the sake of head. What lies in the slots is published by
		 * filled.
		 */
	} while (!__atomic_compare_exchange_n(&ring->tail, &tail, tail + take,
		false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	fill(ring, tail, elements, take, single);
	/*
	 * Acquire: pairs with the release of filled below and in
	 * hone_ring_follow_marks(), so that ours passes on what lies before.
	 */
	if (__atomic_load_n(&ring->filled, __ATOMIC_ACQUIRE) != tail)
		return hone_ring_publish_late(ring, tail, take);
	/*
	 * No exchange: there is no mark at tail, so nobody else moves it.
	 * Release: pairs with the acquire of filled in take.c:
	 * whoever sees it sees the slots, and what is behind the pointers.
	 */
	__atomic_store_n(&ring->filled, tail + take, __ATOMIC_RELEASE);
	return take;
}

/* Groups, where the compiler need not save registers for memcpy(). */
static __attribute__((noinline)) size_t
add_mpmc(struct hone_ring *ring, void *const *elements, size_t n, size_t least)
{
	return add_multi(ring, elements, n, least, false);
}

static size_t
add_group(struct hone_ring *ring, void *const *elements, size_t n, size_t least)
{
	if (ring->flags == HONE_RING_MPMC)
		return add_mpmc(ring, elements, n, least);
	if (ring->flags == HONE_RING_SINGLE_CONSUMER)
		return add_multi(ring, elements, n, least, true);
	return add_single(ring, elements, n, least);
}

int
hone_detail_ring_enqueue(struct hone_ring *ring, void *element)
{
	size_t added;

	if (ring->flags & HONE_RING_SINGLE_PRODUCER)
		added = add_single(ring, &element, 1, 1);
	else
		added = add_multi(ring, &element, 1, 1,
			ring->flags & HONE_RING_SINGLE_CONSUMER);
	return added ? 0 : -ENOBUFS;
}

int
hone_ring_enqueue_bulk(struct hone_ring *ring, void *const *elements, size_t n)
{
	if (n == 0)
		return 0;
	if (n > ring->capacity)
		return -ENOBUFS;
	return add_group(ring, elements, n, n) ? 0 : -ENOBUFS;
}

size_t
hone_ring_enqueue_burst(struct hone_ring *ring, void *const *elements, size_t n)
{
	if (n > ring->capacity)
		n = ring->capacity;
	if (n == 0)
		return 0;
	return add_group(ring, elements, n, 1);
}
