/* SPDX-License-Identifier: BSD-3-Clause */
/* Hone's ring, in each of its modes. */
#include <hone/ring.h>
#include "rings.h"

static inline unsigned
add(struct hone_ring *ring, void **elements, unsigned n)
{
	if (n == 1)
		return hone_ring_enqueue(ring, *elements) == 0;
	return (unsigned)hone_ring_enqueue_burst(ring, elements, n);
}

static inline unsigned
take(struct hone_ring *ring, void **elements, unsigned n)
{
	if (n == 1)
		return hone_ring_dequeue(ring, elements) == 0;
	return (unsigned)hone_ring_dequeue_burst(ring, elements, n);
}

#define RING hone
#define RING_TYPE struct hone_ring
#define RING_ADD(r, p, n) add(r, p, n)
#define RING_TAKE(r, p, n) take(r, p, n)
#include "loop.h"

static void *
open_ring(const struct ring_subject *s)
{
	struct hone_ring *ring;

	return hone_ring_create(&ring, RING_CAPACITY, s->flags) == 0 ? ring
								     : NULL;
}

#define ROW(name, many, flags)                                                 \
	{                                                                      \
		name, many, flags, open_ring, hone_turn, hone_add, hone_take   \
	}

const struct ring_subject ring_hone[] = {
	ROW("hone-spsc", false, HONE_RING_SPSC),
	ROW("hone-spmc", false, HONE_RING_SINGLE_PRODUCER),
	ROW("hone-mpsc", false, HONE_RING_SINGLE_CONSUMER),
	ROW("hone-mpmc", true, HONE_RING_MPMC),
	{0},
};
