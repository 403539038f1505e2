/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_RING_RING_H
#define HONE_RING_RING_H
/*
 * How a ring of several producers tells a filled slot from one that is only
 * taken, and what the files of the ring share.
 */
#include <stdbool.h>
#include <hone/ring.h>

/*
 * The slot of position p has been filled once sequence is p + 1. Before, it
 * is what the position one lap earlier left there. Nobody resets it: that the
 * slot may be filled again is told by head alone, which is why a dequeue is
 * one step.
 */
struct hone_ring_slot {
	/* Aligned, since where 64 bits are aligned to 4 bytes and slots are 12
	 * bytes long, an atomic access would cross the end of a line. */
	_Alignas(16) uint64_t sequence;
	void *element;
};

_Static_assert(sizeof(struct hone_ring_slot) == 16, "as ring.h says");

static inline struct hone_ring_slot *
slot_of(struct hone_ring *ring, uint64_t position)
{
	return (struct hone_ring_slot *)(ring + 1) + (position & ring->mask);
}

/* How many of n slots from a position on lie side by side; the rest begins at
 * slot 0. */
static inline size_t
run_of(uint64_t position, size_t n, uint32_t mask)
{
	size_t run = (size_t)mask + 1 - (size_t)(position & mask);

	if (__builtin_constant_p(n) && n == 1) /* so that there is no loop */
		return 1;
	return run < n ? run : n;
}

/* hone_ring_init() with another first position than 0, for the tests. */
int hone_ring_init_at(
	struct hone_ring *ring, size_t capacity, unsigned flags, uint64_t from);

#endif
