/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_DEQUE_H
#define HONE_MEMPOOL_DEQUE_H
/*
 * A deque of pointers after Chase and Lev (2005). Its owner pushes and pops at
 * the bottom, any thread steals at the top. The capacity is fixed: a push into
 * a full deque fails. The owner remembers up to which index there is room for
 * certain, so that most pushes need not read top.
 *
 * Indices only grow; index i lies in slot i & mask. The deque contains the
 * indices from top to bottom - 1. Each index is taken once:
 *
 * - Between thieves, the compare-and-swap of top decides.
 * - An owner that pops index b, and finds top < b after it stored bottom = b,
 *   takes b without a compare-and-swap. A thief that takes b must read top == b
 *   and then bottom > b. All four accesses are seq_cst, so they have one total
 *   order. In this order the thief's load of bottom comes before the owner's
 *   store of bottom (else the thief reads b), and the thief's load of top comes
 *   before its load of bottom. But then top was b before the owner's load of
 *   top, and the owner cannot have found top < b.
 * - For the last item, index b == top, the owner uses the compare-and-swap too.
 *
 * An acquire load of top in hone_deque_steal() is too weak: such a load has no
 * place in the total order. A thief could then read another thief's new top,
 * which the owner does not see yet, and still the old bottom; owner and thief
 * would both take index b.
 *
 * There are no fences, because ThreadSanitizer does not support them.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Two lines: some CPUs fetch lines in pairs. */
#define HONE_DEQUE_APART 128

struct hone_deque {
	/* Index after the newest item. Only the owner writes it. */
	_Alignas(HONE_DEQUE_APART) _Atomic size_t bottom;
	/* An index before which there was room when the owner looked: top was
	 * end - mask - 1. Only the owner uses it. */
	size_t end;
	/* mask + 1 slots, a power of two; neither changes. */
	void *_Atomic *slots;
	size_t mask;
	/* Index of the oldest item. Changes only by compare-and-swap. */
	_Alignas(HONE_DEQUE_APART) _Atomic size_t top;
};

/* slots: mask + 1 of them. */
static inline void
hone_deque_init(struct hone_deque *d, void *_Atomic *slots, size_t mask)
{
	d->slots = slots;
	d->mask = mask;
	d->end = mask + 1;
	atomic_init(&d->bottom, 0);
	atomic_init(&d->top, 0);
}

/* Number of items from top to bottom; both indices may wrap. */
static inline ptrdiff_t
hone_deque_span(size_t top, size_t bottom)
{
	return (ptrdiff_t)(bottom - top);
}

/* Owner: adds an item; returns false if there is no room. */
static inline bool
hone_deque_push(struct hone_deque *d, void *item)
{
	/* Relaxed: only this thread writes bottom. */
	size_t b = atomic_load_explicit(&d->bottom, memory_order_relaxed);

	if (b == d->end) {
		/* Acquire: pairs with the compare-and-swap of a thief, which
		 * has read the slot before. An old value shows less room. */
		d->end = atomic_load_explicit(&d->top, memory_order_acquire) +
			 d->mask + 1;
		if (b == d->end)
			return false;
	}
	/*
	 * Relaxed: a thief may read this slot for an index that is mask + 1
	 * lower, but its compare-and-swap then fails.
	 */
	atomic_store_explicit(
		&d->slots[b & d->mask], item, memory_order_relaxed);
	/*
	 * Release: pairs with the load of bottom in hone_deque_steal(). A thief
	 * that sees the new bottom sees the slot and what the item points to.
	 */
	atomic_store_explicit(&d->bottom, b + 1, memory_order_release);
	return true;
}

/* Owner: takes the newest item; returns NULL if there is none. */
static inline void *
hone_deque_pop(struct hone_deque *d)
{
	/* Relaxed: only this thread writes bottom. */
	size_t b = atomic_load_explicit(&d->bottom, memory_order_relaxed);
	/* Relaxed: top only grows. If an old value shows an empty deque, the
	 * deque is empty. */
	size_t t = atomic_load_explicit(&d->top, memory_order_relaxed);
	void *item;

	if (hone_deque_span(t, b) <= 0)
		return NULL;
	b--;
	/*
	 * seq_cst, store before load: together with the two loads in
	 * hone_deque_steal(), either the thief sees bottom == b, or this thread
	 * sees the top that the thief saw.
	 */
	atomic_store_explicit(&d->bottom, b, memory_order_seq_cst);
	t = atomic_load_explicit(&d->top, memory_order_seq_cst);
	/* Relaxed: this thread wrote it. */
	item = atomic_load_explicit(
		&d->slots[b & d->mask], memory_order_relaxed);
	if (hone_deque_span(t, b) > 0)
		return item;
	/*
	 * This was the last item, or a thief took it. seq_cst: pairs with the
	 * compare-and-swap in hone_deque_steal(); one of the two succeeds.
	 */
	if (t != b ||
		!atomic_compare_exchange_strong_explicit(&d->top, &t, b + 1,
			memory_order_seq_cst, memory_order_relaxed))
		item = NULL;
	/*
	 * The deque is empty: bottom == top. Release: pairs with the load of
	 * bottom in hone_deque_steal(), as every store of bottom does.
	 */
	atomic_store_explicit(&d->bottom, b + 1, memory_order_release);
	return item;
}

/*
 * Any thread: takes the oldest item; returns NULL if there is none. Lock-free:
 * if the compare-and-swap fails, another thread has taken an item.
 */
static inline void *
hone_deque_steal(struct hone_deque *d)
{
	for (;;) {
		/*
		 * Both seq_cst, top before bottom: they pair with the store of
		 * bottom and the load of top in hone_deque_pop(). The load of
		 * bottom also pairs with the release in hone_deque_push().
		 */
		size_t t = atomic_load_explicit(&d->top, memory_order_seq_cst);
		size_t b =
			atomic_load_explicit(&d->bottom, memory_order_seq_cst);
		void *item;

		if (hone_deque_span(t, b) <= 0)
			return NULL;
		/* Relaxed: used only if top is still t at the swap below. */
		item = atomic_load_explicit(
			&d->slots[t & d->mask], memory_order_relaxed);
		/*
		 * seq_cst: pairs with the compare-and-swaps here and in
		 * hone_deque_pop(). As a release, it keeps the load of the slot
		 * before it.
		 */
		if (atomic_compare_exchange_strong_explicit(&d->top, &t, t + 1,
			    memory_order_seq_cst, memory_order_relaxed))
			return item;
	}
}

/*
 * Any thread: the number of items. Exact while no thread changes the deque. The
 * last item is not counted while the owner is taking it.
 */
static inline size_t
hone_deque_count(struct hone_deque *d)
{
	/* Relaxed: orders nothing; the result is outdated anyway. */
	size_t t = atomic_load_explicit(&d->top, memory_order_relaxed);
	size_t b = atomic_load_explicit(&d->bottom, memory_order_relaxed);
	ptrdiff_t n = hone_deque_span(t, b);

	return n > 0 ? (size_t)n : 0;
}

#endif
