/* SPDX-License-Identifier: BSD-3-Clause */
/* Places that a killed producer has taken and not published. */
#include "ring/ring.h"

/*
 * Nothing in the ring shows whether the producer of unpublished places was
 * killed or is only preempted. So the caller must know that no thread is inside
 * a call, and what shows that also orders the memory. The accesses are relaxed,
 * and there is no model: one thread runs.
 */
size_t
hone_ring_recover(struct hone_ring *ring, void *substitute)
{
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	uint64_t position = __atomic_load_n(&ring->filled, __ATOMIC_RELAXED);
	size_t n = 0;

	/* A single producer takes places and publishes them in one step. */
	if (ring->flags & HONE_RING_SINGLE_PRODUCER)
		return 0;
	while (position != tail) {
		uint64_t end =
			__atomic_load_n(&ends_of(ring)[position & ring->mask],
				__ATOMIC_RELAXED);

		/* A call that finished has left a mark at its first place. One
		 * of an earlier lap is out of this range. */
		if (end - position - 1 <= ring->mask) {
			position = end;
			continue;
		}
		__atomic_store_n(hone_detail_ring_slot(ring, position),
			substitute, __ATOMIC_RELAXED);
		position++;
		n++;
	}
	/* Release: pairs with the acquire of filled in take.c, as every store
	 * of filled. */
	__atomic_store_n(&ring->filled, tail, __ATOMIC_RELEASE);
	return n;
}
