/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishing by several producers that finish out of order. */
#include "ring/ring.h"

size_t
hone_ring_publish_late(struct hone_ring *ring, uint64_t from, size_t n)
{
	/*
	 * Release: pairs with the acquire in after_marks(): a thread that sees
	 * the mark sees the slots, and what the elements point to.
	 */
	__atomic_store_n(
		&ends_of(ring)[from & ring->mask], from + n, __ATOMIC_RELEASE);
	/*
	 * The previous producer may have finished without seeing the mark, and
	 * no other thread may ever come. If this thread misses that too,
	 * consumers find the mark; but then the next producer is late as well.
	 */
	hone_ring_follow_marks(ring, from + n);
	return n;
}

/* Follows the marks from a position to about `to`; returns the last position.
 */
static inline uint64_t
after_marks(struct hone_ring *ring, uint64_t position, uint64_t to)
{
	while ((int64_t)(to - position) > 0) {
		/* Acquire: pairs with the release of the mark above. */
		uint64_t end =
			__atomic_load_n(&ends_of(ring)[position & ring->mask],
				__ATOMIC_ACQUIRE);

		/* An earlier position left this mark, or a later one wrote it:
		 * then filled has moved. */
		if (end - position - 1 > ring->mask)
			break;
		position = end;
	}
	return position;
}

uint64_t
hone_ring_follow_marks(struct hone_ring *ring, uint64_t to)
{
	/* Acquire: pairs with the release below and in add_multi() of add.c. */
	uint64_t filled = __atomic_load_n(&ring->filled, __ATOMIC_ACQUIRE);

	for (;;) {
		uint64_t end = after_marks(ring, filled, to);

		if (end == filled)
			return filled;
		/*
		 * Release: publishes what the marks and filled have shown.
		 * Acquire: as for the load above. The exchange fails if another
		 * thread has moved filled: then there may be more marks.
		 */
		if (__atomic_compare_exchange_n(&ring->filled, &filled, end,
			    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return end;
	}
}
