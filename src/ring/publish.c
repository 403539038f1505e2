/* SPDX-License-Identifier: BSD-3-Clause */
/* What several producers have filled, when it was not in order. */
#include "ring/ring.h"

size_t
hone_ring_publish_late(struct hone_ring *ring, uint64_t from, size_t n)
{
	/*
	 * Release: pairs with the acquire in after_marks(): whoever sees the
	 * mark sees the slots, and what is behind the pointers.
	 */
	__atomic_store_n(
		&ends_of(ring)[from & ring->mask], from + n, __ATOMIC_RELEASE);
	/*
	 * The one before may be done by now, without having seen the mark, and
	 * nobody else might ever come. If it is missed here too, consumers find
	 * it; but then the next producer is late as well.
	 */
	hone_ring_follow_marks(ring, from + n);
	return n;
}

/* Where the marks from a position on lead to, up to about `to`. */
static inline uint64_t
after_marks(struct hone_ring *ring, uint64_t position, uint64_t to)
{
	while ((int64_t)(to - position) > 0) {
		/* Acquire: pairs with the release of the mark above. */
		uint64_t end =
			__atomic_load_n(&ends_of(ring)[position & ring->mask],
				__ATOMIC_ACQUIRE);

		/* Left by an earlier position, or by a later one: then filled
		 * has moved on. */
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
		 * Release: passes on what the marks and filled have shown.
		 * Acquire: as for the load above. It fails if somebody else
		 * has moved filled, which is worth another look.
		 */
		if (__atomic_compare_exchange_n(&ring->filled, &filled, end,
			    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return end;
	}
}
