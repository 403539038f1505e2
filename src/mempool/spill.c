/* SPDX-License-Identifier: BSD-3-Clause */
/* The stacks of magazines for which deques have no room: see mempool.h. */
#include "mempool/mempool.h"

/* The number of a magazine plus 1, or 0. */
static size_t
top_of(uint64_t word)
{
	return (uint32_t)word;
}

/* What follows a word if the stack has another top then. */
static uint64_t
changed(uint64_t word, size_t top)
{
	return ((word >> 32) + 1) << 32 | top;
}

static struct hone_mempool_magazine *
magazine(struct hone_mempool *pool, size_t top)
{
	return top > 0 ? hone_mempool_magazine(pool, top - 1) : NULL;
}

/* The magazine below another one. Relaxed: its reader has acquired the word
 * that named the magazine above, or else fails to swap. The links of a reserve
 * are not atomic, so they are others. */
static size_t
below(struct hone_mempool_magazine *m)
{
	return __atomic_load_n(&m->hidden[1], __ATOMIC_RELAXED);
}

static void
put_on(struct hone_mempool_magazine *m, size_t top)
{
	__atomic_store_n(&m->hidden[1], top, __ATOMIC_RELAXED);
}

void
hone_mempool_spill(struct hone_mempool *pool, enum hone_mempool_side side,
	struct hone_mempool_magazine *m)
{
	_Atomic uint64_t *stack = &pool->spilled[side];
	size_t top = 1 + (size_t)((char *)m - pool->magazines) /
				 pool->magazine_stride;
	/* Relaxed: used as a number only. */
	uint64_t word = atomic_load_explicit(stack, memory_order_relaxed);

	do {
		put_on(m, top_of(word));
		/* Release: pairs with the acquires of those who take m. Only
		 * swaps change the word, so later ones pass this one on. */
	} while (!atomic_compare_exchange_weak_explicit(stack, &word,
		changed(word, top), memory_order_release,
		memory_order_relaxed));
}

struct hone_mempool_magazine *
hone_mempool_pop_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side, uint64_t word)
{
	_Atomic uint64_t *stack = &pool->spilled[side];
	struct hone_mempool_magazine *m;

	do {
		m = magazine(pool, top_of(word));
		/* Release, too: whoever finds the stack empty, in the search of
		 * an exact pool, sees the call of the thread that took m. */
	} while (m && !atomic_compare_exchange_weak_explicit(stack, &word,
			      changed(word, below(m)), memory_order_acq_rel,
			      memory_order_acquire));
	return m;
}

struct hone_mempool_magazine *
hone_mempool_first_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side)
{
	return magazine(pool, top_of(atomic_load_explicit(&pool->spilled[side],
				      memory_order_acquire)));
}

struct hone_mempool_magazine *
hone_mempool_next_spilled(
	struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	return magazine(pool, below(m));
}

size_t
hone_mempool_n_spilled(struct hone_mempool *pool, enum hone_mempool_side side)
{
	struct hone_mempool_magazine *m =
		hone_mempool_first_spilled(pool, side);
	size_t n = 0;

	while (m && n < pool->n_magazines) {
		m = hone_mempool_next_spilled(pool, m);
		n++;
	}
	return n;
}
