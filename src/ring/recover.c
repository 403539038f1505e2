/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places that a killed producer has taken and not published.
 *
 * Nothing in the ring shows whether the owner of such places was killed or is
 * only preempted. So the caller must know that no thread is inside a call, and
 * there is nothing to order: whatever tells the caller so also orders the
 * memory. For the same reason there is no model: one thread runs.
 */
#include "ring/ring.h"

/* Whether a call has filled the places from this position on; sets *end to the
 * end of these places. */
static bool
is_filled(struct hone_ring *ring, uint64_t position, uint64_t *end)
{
	/* Relaxed, as all accesses here: see above. */
	*end = __atomic_load_n(
		&ends_of(ring)[position & ring->mask], __ATOMIC_RELAXED);
	return *end - position - 1 <= ring->mask;
}

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
		uint64_t end;

		/*
		 * The places of a killed call have no mark of this round: a
		 * mark lies at the first place of a call, and only if it
		 * finished.
		 */
		if (is_filled(ring, position, &end)) {
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
