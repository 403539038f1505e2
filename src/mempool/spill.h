/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_SPILL_H
#define HONE_MEMPOOL_SPILL_H
/*
 * Magazines for which the deque of a cache has no room: two stacks of the pool,
 * after Treiber. Any thread pushes and pops, and none waits.
 *
 * The word of a stack has the number of its top magazine plus 1, or 0, and a
 * tag that each change raises. A thread that pops may read the link of a
 * magazine which another thread has popped, and perhaps pushed again. The tag
 * has changed then, so the compare-and-swap fails, unless 2^32 changes came
 * between.
 */
#include "mempool.h"

/* Passes on a magazine to which no other thread has access. */
void hone_mempool_spill(struct hone_mempool *pool, enum hone_mempool_side side,
	struct hone_mempool_magazine *m);
/* Returns NULL if there is none; word: what the stack had when it was loaded by
 * acquire. */
struct hone_mempool_magazine *hone_mempool_pop_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side, uint64_t word);
/* The first magazine of a stack, and the next one, or NULL. */
struct hone_mempool_magazine *hone_mempool_first_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side);
struct hone_mempool_magazine *hone_mempool_next_spilled(
	struct hone_mempool *pool, struct hone_mempool_magazine *m);
/* Their number. While other threads change the stack it is any number, but not
 * above that of all magazines. */
size_t hone_mempool_n_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side);

/* Returns NULL if there is none. */
static inline struct hone_mempool_magazine *
hone_mempool_take_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side)
{
	/* Acquire: pairs with the releases in spill.c. */
	_Atomic uint64_t *stack = &pool->spilled[side];
	uint64_t word = atomic_load_explicit(stack, memory_order_acquire);

	if (!HONE_DETAIL_RARE((uint32_t)word != 0))
		return NULL;
	return hone_mempool_pop_spilled(pool, side, word);
}

#endif
