/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_RING_H
#define HONE_DETAIL_RING_H
/*
 * Positions only grow: tail is the next position to fill, head the next to
 * empty, and position p lies in slot p & mask. 64 bits do not wrap in the life
 * of a machine, so equal values are the same position.
 *
 * A single producer publishes slots by tail. Several producers take places by
 * tail and publish them by filled and by marks after the slots: see
 * src/ring/ring.h.
 *
 * head_seen and tail_seen are the last values that one end saw of the other
 * end. As long as they suffice, the end does not access the cache line of the
 * other end.
 */
#include <hone/detail/tsan.h>

HONE_BEGIN_DECLS

/* Addresses that stand for two orders, for ThreadSanitizer: of what is enqueued
 * before what is dequeued, and of a slot that is read before it is filled. */
#define HONE_DETAIL_FILLED(ring) ((void *)(ring))
#define HONE_DETAIL_EMPTIED(ring) ((void *)((ring) + 1))

/* Private: the slow paths of the inline functions. */
HONE_API int hone_detail_ring_enqueue(struct hone_ring *ring, void *element);
HONE_API int hone_detail_ring_dequeue(struct hone_ring *ring, void **element);

/* The slot of a position, in a ring with a single producer. */
static inline void **
hone_detail_ring_slot(struct hone_ring *ring, uint64_t position)
{
	void *slots = ring + 1;

	return (void **)slots + (position & ring->mask);
}

HONE_INLINE int
hone_ring_enqueue(struct hone_ring *ring, void *element)
{
	int error;

	HONE_DETAIL_RELEASE(HONE_DETAIL_FILLED(ring));
	if (ring->flags & HONE_RING_SINGLE_PRODUCER) {
		/* Only this thread writes tail and head_seen in this mode. */
		uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
		uint64_t head =
			__atomic_load_n(&ring->head_seen, __ATOMIC_RELAXED);

		if (tail - head >= ring->capacity) {
			/*
			 * Acquire: pairs with the release of head below and in
			 * leave() of src/ring/take.c: the slot was read.
			 */
			head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
			HONE_DETAIL_ACQUIRE(HONE_DETAIL_EMPTIED(ring));
			__atomic_store_n(
				&ring->head_seen, head, __ATOMIC_RELAXED);
			if (tail - head >= ring->capacity)
				return -ENOBUFS;
		}
		/*
		 * Relaxed: a late consumer may read this slot; it discards the
		 * value.
		 */
		__atomic_store_n(hone_detail_ring_slot(ring, tail), element,
			__ATOMIC_RELAXED);
		/*
		 * Release: pairs with the acquire of tail below and in
		 * src/ring/take.c: a thread that sees the new tail sees the
		 * slot, and what the element points to.
		 */
		__atomic_store_n(&ring->tail, tail + 1, __ATOMIC_RELEASE);
		return 0;
	}
	error = hone_detail_ring_enqueue(ring, element);
	HONE_DETAIL_ACQUIRE(HONE_DETAIL_EMPTIED(ring));
	return error;
}

HONE_INLINE int
hone_ring_dequeue(struct hone_ring *ring, void **element)
{
	void *taken;
	int error;

	HONE_DETAIL_RELEASE(HONE_DETAIL_EMPTIED(ring));
	if (ring->flags == HONE_RING_SPSC) {
		/* Only this thread writes head and tail_seen in this mode. */
		uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
		uint64_t tail =
			__atomic_load_n(&ring->tail_seen, __ATOMIC_RELAXED);

		if (head == tail) {
			/* Acquire: pairs with the release of tail above and in
			 * add_single() of src/ring/add.c. */
			tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
			HONE_DETAIL_ACQUIRE(HONE_DETAIL_FILLED(ring));
			__atomic_store_n(
				&ring->tail_seen, tail, __ATOMIC_RELAXED);
			if (head == tail)
				return -ENOENT;
		}
		/* Not atomic: no thread writes the slot before head moves. A
		 * sanitizer would report a violation. */
		*element = *hone_detail_ring_slot(ring, head);
		/*
		 * Release: pairs with the acquire of head above and in
		 * room_after() of src/ring/add.c: the slot is read before the
		 * producer may fill it again.
		 */
		__atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
		return 0;
	}
	/* Not element: a variable of the caller that went to a function out of
	 * line would not stay in a register. */
	error = hone_detail_ring_dequeue(ring, &taken);
	HONE_DETAIL_ACQUIRE(HONE_DETAIL_FILLED(ring));
	if (error < 0)
		return error;
	*element = taken;
	return 0;
}

HONE_INLINE size_t
hone_ring_capacity(const struct hone_ring *ring)
{
	return ring->capacity;
}

#if HONE_DETAIL_TSAN
/* The calls that are never inline. */
static inline int
hone_detail_tsan_enqueue_bulk(
	struct hone_ring *ring, void *const *elements, size_t n)
{
	HONE_DETAIL_TSAN_CALL(int, hone_ring_enqueue_bulk(ring, elements, n),
		HONE_DETAIL_FILLED(ring), HONE_DETAIL_EMPTIED(ring));
}

static inline size_t
hone_detail_tsan_enqueue_burst(
	struct hone_ring *ring, void *const *elements, size_t n)
{
	HONE_DETAIL_TSAN_CALL(size_t,
		hone_ring_enqueue_burst(ring, elements, n),
		HONE_DETAIL_FILLED(ring), HONE_DETAIL_EMPTIED(ring));
}

static inline int
hone_detail_tsan_dequeue_bulk(struct hone_ring *ring, void **elements, size_t n)
{
	HONE_DETAIL_TSAN_CALL(int, hone_ring_dequeue_bulk(ring, elements, n),
		HONE_DETAIL_EMPTIED(ring), HONE_DETAIL_FILLED(ring));
}

static inline size_t
hone_detail_tsan_dequeue_burst(
	struct hone_ring *ring, void **elements, size_t n)
{
	HONE_DETAIL_TSAN_CALL(size_t,
		hone_ring_dequeue_burst(ring, elements, n),
		HONE_DETAIL_EMPTIED(ring), HONE_DETAIL_FILLED(ring));
}

#define hone_ring_enqueue_bulk(ring, elements, n)                              \
	hone_detail_tsan_enqueue_bulk(ring, elements, n)
#define hone_ring_enqueue_burst(ring, elements, n)                             \
	hone_detail_tsan_enqueue_burst(ring, elements, n)
#define hone_ring_dequeue_bulk(ring, elements, n)                              \
	hone_detail_tsan_dequeue_bulk(ring, elements, n)
#define hone_ring_dequeue_burst(ring, elements, n)                             \
	hone_detail_tsan_dequeue_burst(ring, elements, n)
#endif

HONE_END_DECLS
#endif
