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
	uint64_t sequence;
	void *element;
};

static inline struct hone_ring_slot *
slot_of(struct hone_ring *ring, uint64_t position)
{
	return (struct hone_ring_slot *)(ring + 1) + (position & ring->mask);
}

/* hone_ring_init() with another first position than 0, for the tests. */
int hone_ring_init_at(
	struct hone_ring *ring, size_t capacity, unsigned flags, uint64_t from);

#endif
