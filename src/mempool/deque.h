/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_DEQUE_H
#define HONE_MEMPOOL_DEQUE_H
/*
 * A deque of pointers after Chase and Lev (2005): its owner pushes and pops at
 * the bottom, any thread steals at the top. Its capacity never changes: it has
 * room for everything that could ever be pushed, so a push cannot fail and
 * need not look at top.
 *
 * Indices only grow; index i lives in slot i & mask. What is in the deque are
 * the indices from top to bottom - 1. Each is handed out once:
 *
 * - Thieves agree among themselves by the compare-and-swap of top.
 * - An owner that pops index b, and finds top < b after it stored bottom = b,
 *   takes b without a compare-and-swap. A thief would have to read top == b and
 *   then bottom > b. All four accesses are seq_cst, so they have one order. In
 *   it the thief's load of bottom comes before the owner's store of bottom
 *   (else it reads b), and its load of top before that. But then top was b
 *   before the owner's load of top, which hence cannot have found top < b.
 * - For the last one, index b == top, owner and thieves meet at top.
 *
 * An acquire load of top in steal is too weak: it is outside that one order,
 * so a thief may see another thief's new top which the owner does not see yet,
 * and still the old bottom; then owner and thief both take index b.
 *
 * There are no fences, which ThreadSanitizer does not understand.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Two lines: some CPUs fetch lines in pairs. */
#define HONE_DEQUE_APART 128

struct hone_deque {
	/* Index behind the newest. Written by the owner only. */
	_Alignas(HONE_DEQUE_APART) _Atomic size_t bottom;
	/* A power of two of them, mask + 1; set once. */
	void *_Atomic *slots;
	size_t mask;
	/* Index of the oldest. Grows by compare-and-swap only. */
	_Alignas(HONE_DEQUE_APART) _Atomic size_t top;
};

/* slots: mask + 1 of them, more than will ever be in the deque at a time. */
static inline void
hone_deque_init(struct hone_deque *d, void *_Atomic *slots, size_t mask)
{
	d->slots = slots;
	d->mask = mask;
	atomic_init(&d->bottom, 0);
	atomic_init(&d->top, 0);
}

/* How many there are from top to bottom; the difference of two that wrap. */
static inline ptrdiff_t
hone_deque_span(size_t top, size_t bottom)
{
	return (ptrdiff_t)(bottom - top);
}

/* Owner: add one. */
static inline void
hone_deque_push(struct hone_deque *d, void *item)
{
	/* Relaxed: only this thread writes bottom. */
	size_t b = atomic_load_explicit(&d->bottom, memory_order_relaxed);

	/*
	 * Relaxed: a thief that reads this slot for the index before, which
	 * lies mask + 1 lower, loses at its compare-and-swap.
	 */
	atomic_store_explicit(
		&d->slots[b & d->mask], item, memory_order_relaxed);
	/*
	 * Release: pairs with the load of bottom in hone_deque_steal(), so that
	 * the slot, and what the item points to, is written before it is seen.
	 */
	atomic_store_explicit(&d->bottom, b + 1, memory_order_release);
}

/* Owner: take the newest; NULL if there is none. */
static inline void *
hone_deque_pop(struct hone_deque *d)
{
	/* Relaxed: only this thread writes bottom. */
	size_t b = atomic_load_explicit(&d->bottom, memory_order_relaxed);
	/* Relaxed: top only grows, so an old value cannot hide an empty deque.
	 */
	size_t t = atomic_load_explicit(&d->top, memory_order_relaxed);
	void *item;

	if (hone_deque_span(t, b) <= 0)
		return NULL;
	b--;
	/*
	 * seq_cst, store before load: with the two loads in
	 * hone_deque_steal(), either the thief sees bottom == b or this thread
	 * sees what top was for the thief.
	 */
	atomic_store_explicit(&d->bottom, b, memory_order_seq_cst);
	t = atomic_load_explicit(&d->top, memory_order_seq_cst);
	/* Relaxed: this thread wrote it. */
	item = atomic_load_explicit(
		&d->slots[b & d->mask], memory_order_relaxed);
	if (hone_deque_span(t, b) > 0)
		return item;
	/*
	 * The last one, or it is gone already. seq_cst: pairs with the same in
	 * hone_deque_steal(); one of the two moves top.
	 */
	if (t != b ||
		!atomic_compare_exchange_strong_explicit(&d->top, &t, b + 1,
			memory_order_seq_cst, memory_order_relaxed))
		item = NULL;
	/*
	 * Empty now: bottom == top. Release: pairs with the load of bottom in
	 * hone_deque_steal(), as every store of bottom does.
	 */
	atomic_store_explicit(&d->bottom, b + 1, memory_order_release);
	return item;
}

/*
 * Anyone: take the oldest; NULL if there is none. When the compare-and-swap is
 * lost, another thread has taken one: somebody always gets on.
 */
static inline void *
hone_deque_steal(struct hone_deque *d)
{
	for (;;) {
		/*
		 * Both seq_cst, top before bottom: pairs with the store of
		 * bottom and the load of top in hone_deque_pop(). The load of
		 * bottom also acquires what hone_deque_push() released.
		 */
		size_t t = atomic_load_explicit(&d->top, memory_order_seq_cst);
		size_t b =
			atomic_load_explicit(&d->bottom, memory_order_seq_cst);
		void *item;

		if (hone_deque_span(t, b) <= 0)
			return NULL;
		/* Relaxed: worth something only if top is still t below. */
		item = atomic_load_explicit(
			&d->slots[t & d->mask], memory_order_relaxed);
		/*
		 * seq_cst: pairs with the same here and in hone_deque_pop().
		 * As a release it keeps the load of the slot in front of it.
		 */
		if (atomic_compare_exchange_strong_explicit(&d->top, &t, t + 1,
			    memory_order_seq_cst, memory_order_relaxed))
			return item;
	}
}

/*
 * Anyone: how many are in it. Exact while nobody changes the deque; the last
 * one is not counted while its owner is about to take it.
 */
static inline size_t
hone_deque_count(struct hone_deque *d)
{
	/* Relaxed: orders nothing, the number is old when it is read. */
	size_t t = atomic_load_explicit(&d->top, memory_order_relaxed);
	size_t b = atomic_load_explicit(&d->bottom, memory_order_relaxed);
	ptrdiff_t n = hone_deque_span(t, b);

	return n > 0 ? (size_t)n : 0;
}

#endif
