/* SPDX-License-Identifier: BSD-3-Clause */
/* The producers' end of a ring. */
#include "ring/few.h"
#include "ring/ring.h"

/*
 * Returns how many elements fit after tail: at least n if head_seen shows that,
 * otherwise the exact number by head. If one of several producers has an
 * outdated tail, the result is too large, even above the capacity, and the
 * exchange of tail fails. The result is never too small.
 */
static inline int64_t
room_after(struct hone_ring *ring, uint64_t tail, size_t n)
{
	/*
	 * Acquire: pairs with the release below by another producer, which saw
	 * that consumers had read the slots up to there.
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
	/* Release: pairs with the acquire above. The store may set head_seen
	 * back, if another producer was faster: this costs one load of head. */
	__atomic_store_n(&ring->head_seen, head, __ATOMIC_RELEASE);
	return (int64_t)(ring->capacity - (tail - head));
}

/* Fills n contiguous slots for several consumers: a late consumer may read the
 * slots during the call, and discards the values. */
static inline void
write_slots(void **slots, void *const *elements, size_t n)
{
	for (; n >= 4; n -= 4, elements += 4, slots += 4) {
		store_pair(slots, elements);
		store_pair(slots + 2, elements + 2);
	}
	for (; n > 0; n--) /* relaxed, as above */
		__atomic_store_n(slots++, *elements++, __ATOMIC_RELAXED);
}

static inline void
fill_slots(void **slots, void *const *elements, size_t n, bool single)
{
	if (single)
		copy_slots(slots, elements, n);
	else
		write_slots(slots, elements, n);
}

static inline void
fill(struct hone_ring *ring, uint64_t tail, void *const *elements, size_t n,
	bool single)
{
	size_t first = contiguous(tail, n, ring->mask);

	fill_slots(hone_detail_ring_slot(ring, tail), elements, first, single);
	if (first < n)
		fill_slots(hone_detail_ring_slot(ring, 0), elements + first,
			n - first, single);
}

/* Adds at least `least` and at most n elements; n is at most the capacity. */
static inline __attribute__((always_inline)) size_t
add_single(
	struct hone_ring *ring, void *const *elements, size_t n, size_t least)
{
	/* Relaxed: only this thread writes tail. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	int64_t room = room_after(ring, tail, n);

	if (room < (int64_t)least)
		return 0;
	if (room < (int64_t)n)
		n = (size_t)room;
	fill(ring, tail, elements, n, ring->flags & HONE_RING_SINGLE_CONSUMER);
	/*
	 * Release: pairs with the acquire of tail in take.c and in
	 * hone_ring_dequeue(): a thread that sees the new tail sees the slots,
	 * and what the elements point to.
	 */
	__atomic_store_n(&ring->tail, tail + n, __ATOMIC_RELEASE);
	return n;
}

/*
 * Takes places for one of several producers: at least `least` and at most n,
 * from *tail on. Returns how many; 0 if there is no room; -1 if another
 * producer was faster.
 */
static inline int64_t
take_places(struct hone_ring *ring, uint64_t *tail, size_t n, size_t least)
{
	int64_t room;

	/*
	 * Acquire: pairs with the release of another producer below. This
	 * thread then sees no older head than that producer saw; with an older
	 * head, room_after() would return too few.
	 */
	*tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	room = room_after(ring, *tail, n);
	if (room < (int64_t)least)
		return 0;
	if (room > (int64_t)n)
		room = (int64_t)n;
	/*
	 * Acquire: as for the load above. Release: pairs with that load and
	 * with the acquire of tail in hone_ring_count(), also because of head.
	 * filled, not tail, publishes the content of the slots.
	 */
	return __atomic_compare_exchange_n(&ring->tail, tail,
		       *tail + (uint64_t)room, false, __ATOMIC_ACQ_REL,
		       __ATOMIC_ACQUIRE)
		       ? room
		       : -1;
}

/* Fills and publishes n places from tail on. Returns n. */
static inline __attribute__((always_inline)) size_t
fill_places(struct hone_ring *ring, uint64_t tail, void *const *elements,
	size_t n, bool single)
{
	fill(ring, tail, elements, n, single);
	/*
	 * Acquire: pairs with the release of filled below and in
	 * hone_ring_follow_marks(), so that our release also publishes the
	 * earlier slots.
	 */
	if (__atomic_load_n(&ring->filled, __ATOMIC_ACQUIRE) != tail)
		return hone_ring_publish_late(ring, tail, n);
	/*
	 * No exchange: there is no mark at tail, so no other thread moves
	 * filled. Release: pairs with the acquire of filled in take.c: a thread
	 * that sees the new filled sees the slots, and what the elements point
	 * to.
	 */
	__atomic_store_n(&ring->filled, tail + n, __ATOMIC_RELEASE);
	return n;
}

/* Adds after another producer was faster. */
static __attribute__((noinline)) size_t
add_again(struct hone_ring *ring, void *const *elements, size_t n, size_t least)
{
	unsigned wait = RING_WAIT_FIRST;
	uint64_t tail;
	int64_t taken;

	do {
		wait = wait_apart(wait);
		taken = take_places(ring, &tail, n, least);
	} while (taken < 0);
	if (taken == 0)
		return 0;
	return fill_places(ring, tail, elements, (size_t)taken,
		ring->flags & HONE_RING_SINGLE_CONSUMER);
}

/* Adds as add_single(), for one of several producers. */
static inline __attribute__((always_inline)) size_t
add_multi(struct hone_ring *ring, void *const *elements, size_t n, size_t least,
	bool single)
{
	uint64_t tail;
	int64_t taken = take_places(ring, &tail, n, least);

	if (taken == 0)
		return 0;
	if (taken < 0)
		return add_again(ring, elements, n, least);
	return fill_places(ring, tail, elements, (size_t)taken, single);
}

static inline __attribute__((always_inline)) size_t
add_some(struct hone_ring *ring, void *const *elements, size_t n, size_t least)
{
	if (ring->flags & HONE_RING_SINGLE_PRODUCER)
		return add_single(ring, elements, n, least);
	return add_multi(ring, elements, n, least,
		ring->flags & HONE_RING_SINGLE_CONSUMER);
}

int
hone_detail_ring_enqueue(struct hone_ring *ring, void *element)
{
	return add_some(ring, &element, 1, 1) ? 0 : -ENOBUFS;
}

int
hone_ring_enqueue_bulk(struct hone_ring *ring, void *const *elements, size_t n)
{
	if (is_few(ring, n) && add_few(ring, elements, n))
		return 0;
	if (n == 0)
		return 0;
	if (n > ring->capacity)
		return -ENOBUFS;
	return add_some(ring, elements, n, n) ? 0 : -ENOBUFS;
}

size_t
hone_ring_enqueue_burst(struct hone_ring *ring, void *const *elements, size_t n)
{
	if (is_few(ring, n) && add_few(ring, elements, n))
		return n;
	if (n > ring->capacity)
		n = ring->capacity;
	if (n == 0)
		return 0;
	return add_some(ring, elements, n, 1);
}
