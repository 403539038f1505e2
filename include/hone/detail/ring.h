/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_RING_H
#define HONE_DETAIL_RING_H
/*
 * Positions count up for ever: tail is the next one to fill, head the next one
 * to empty, and position p lies in slot p & mask. 64 bits do not come round in
 * the life of a machine, so a position seen again is the same position.
 *
 * A single producer publishes slots by its tail. Several take places by tail
 * and publish them by filled, and by marks behind the slots: see
 * src/ring/ring.h.
 *
 * head_seen and tail_seen are what an end last saw of the other end: as long
 * as that suffices, it leaves the other's cache line where it is.
 */
HONE_BEGIN_DECLS

/* Everything that is not inline; private. */
HONE_API int hone_detail_ring_enqueue(struct hone_ring *ring, void *element);
HONE_API int hone_detail_ring_dequeue(struct hone_ring *ring, void **element);

#if defined(__GNUC__)
/* The slot of a position, in a ring with a single producer. */
static inline void **
hone_detail_ring_slot(struct hone_ring *ring, uint64_t position)
{
	return (void **)(ring + 1) + (position & ring->mask);
}
#endif

HONE_INLINE int
hone_ring_enqueue(struct hone_ring *ring, void *element)
{
#if defined(__GNUC__)
	if (ring->flags & HONE_RING_SINGLE_PRODUCER) {
		/* Only this thread writes tail and head_seen in this mode. */
		uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
		uint64_t head =
			__atomic_load_n(&ring->head_seen, __ATOMIC_RELAXED);

		if (tail - head >= ring->capacity) {
			/*
			 * Acquire: pairs with the release of head below and in
			 * leave() of src/ring/take.c: the slot has been read.
			 */
			head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
			__atomic_store_n(
				&ring->head_seen, head, __ATOMIC_RELAXED);
			if (tail - head >= ring->capacity)
				return -ENOBUFS;
		}
		/*
		 * Relaxed: a consumer that is too late may read this slot; it
		 * throws away what it read.
		 */
		__atomic_store_n(hone_detail_ring_slot(ring, tail), element,
			__ATOMIC_RELAXED);
		/*
		 * Release: pairs with the acquire of tail below and in
		 * src/ring/take.c: whoever sees the new tail sees the slot, and
		 * what the element points to.
		 */
		__atomic_store_n(&ring->tail, tail + 1, __ATOMIC_RELEASE);
		return 0;
	}
#endif
	return hone_detail_ring_enqueue(ring, element);
}

HONE_INLINE int
hone_ring_dequeue(struct hone_ring *ring, void **element)
{
#if defined(__GNUC__)
	if (ring->flags == HONE_RING_SPSC) {
		/* Only this thread writes head and tail_seen in this mode. */
		uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
		uint64_t tail =
			__atomic_load_n(&ring->tail_seen, __ATOMIC_RELAXED);

		if (head == tail) {
			/* Acquire: pairs with the release of tail above and in
			 * add_single() of src/ring/add.c. */
			tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
			__atomic_store_n(
				&ring->tail_seen, tail, __ATOMIC_RELAXED);
			if (head == tail)
				return -ENOENT;
		}
		/* Not atomic: nobody writes to it before head moves, and a
		 * sanitizer sees if that were not so. */
		*element = *hone_detail_ring_slot(ring, head);
		/*
		 * Release: pairs with the acquire of head above and in
		 * room_behind() of src/ring/add.c: the slot was read before
		 * the producer may fill it again.
		 */
		__atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
		return 0;
	}
#endif
	return hone_detail_ring_dequeue(ring, element);
}

HONE_INLINE size_t
hone_ring_capacity(const struct hone_ring *ring)
{
	return ring->capacity;
}

HONE_END_DECLS
#endif
