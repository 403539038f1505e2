/* SPDX-License-Identifier: BSD-3-Clause */
/* Concurrency Kit's ring, which moves one pointer a call. */
#include <ck_ring.h>
#include <stdlib.h>
#include "rings.h"

struct ring {
	struct ck_ring ring;
	struct ck_ring_buffer slots[RING_CAPACITY];
};

#define MOVES(mode)                                                            \
	static inline unsigned add_##mode(                                     \
		struct ring *r, void **elements, unsigned n)                   \
	{                                                                      \
		unsigned i = 0;                                                \
                                                                               \
		while (i < n && ck_ring_enqueue_##mode(                        \
					&r->ring, r->slots, elements[i]))      \
			i++;                                                   \
		return i;                                                      \
	}                                                                      \
                                                                               \
	static inline unsigned take_##mode(                                    \
		struct ring *r, void **elements, unsigned n)                   \
	{                                                                      \
		unsigned i = 0;                                                \
                                                                               \
		while (i < n && ck_ring_dequeue_##mode(                        \
					&r->ring, r->slots, &elements[i]))     \
			i++;                                                   \
		return i;                                                      \
	}

MOVES(spsc)
MOVES(mpmc)

#define RING spsc
#define RING_TYPE struct ring
#define RING_ADD(r, p, n) add_spsc(r, p, n)
#define RING_TAKE(r, p, n) take_spsc(r, p, n)
#include "loop.h"

#define RING mpmc
#define RING_TYPE struct ring
#define RING_ADD(r, p, n) add_mpmc(r, p, n)
#define RING_TAKE(r, p, n) take_mpmc(r, p, n)
#include "loop.h"

static void *
open_ring(const struct ring_subject *s)
{
	void *memory;
	struct ring *r;

	(void)s;
	if (posix_memalign(&memory, 128, sizeof(*r)) != 0)
		return NULL;
	r = memory;
	ck_ring_init(&r->ring, RING_CAPACITY);
	return r;
}

const struct ring_subject ring_ck[] = {
	{"ck-spsc", false, 0, open_ring, spsc_turn, spsc_add, spsc_take},
	{"ck-mpmc", true, 0, open_ring, mpmc_turn, mpmc_add, mpmc_take},
	{0},
};
