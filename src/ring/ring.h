/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_RING_RING_H
#define HONE_RING_RING_H
/*
 * How several producers publish filled slots, and what the files of the ring
 * share.
 *
 * All slots before `filled` are filled. `filled` moves from position to
 * position in order, but no producer waits for another:
 *
 * - If a producer finds `filled` at its first place, it is the next in order.
 *   No other thread can move `filled` from there, so the producer stores the
 *   end of its places into `filled`.
 * - Any other producer writes a mark: the end of its places, into ends[] at its
 *   first place. A thread that finds a mark at the position `filled` may move
 *   `filled` to the end in the mark. Producers look for marks after they wrote
 *   one, consumers if they need slots after `filled`.
 *
 * So a preempted producer keeps the slots after its places from being taken,
 * but does not delay other producers. When it continues, one step publishes all
 * these slots.
 *
 * A mark is never cleared. A valid mark of position p is greater than p by at
 * most the number of slots. A mark that an earlier position left in the same
 * place is at most p; a mark of a later position is greater by more than that.
 */
#include <stdbool.h>
#include <string.h>
#include <hone/ring.h>

/* Offset of the marks after the slots, whose number is a power of two. Aligned,
 * because an atomic access must not cross the end of a cache line. */
static inline size_t
marks_offset(size_t slots)
{
	size_t bytes = slots * sizeof(void *);

	return bytes < sizeof(uint64_t) ? sizeof(uint64_t) : bytes;
}

/* The marks: as many as slots, after the slots. */
static inline uint64_t *
ends_of(struct hone_ring *ring)
{
	return (uint64_t *)((char *)(ring + 1) +
			    marks_offset((size_t)ring->mask + 1));
}

/* Publishes n filled places from `from` on by a mark. Returns n. */
size_t hone_ring_publish_late(struct hone_ring *ring, uint64_t from, size_t n);

/*
 * Moves filled along the marks, until it is at least `to` or there is no mark.
 * Returns the new filled.
 */
uint64_t hone_ring_follow_marks(struct hone_ring *ring, uint64_t to);

/*
 * A call whose exchange fails tries again after one pause of the CPU, and after
 * 256 pauses if it fails once more: these take about 12 us on Intel and less
 * elsewhere. Meanwhile the faster threads have the cache lines of the ring for
 * themselves. Two threads that add and take are 2 to 6 times as fast on Emerald
 * Rapids, the only CPU on which this was measured (bench/ring, both-n1 to
 * both-n256). A longer first wait costs threads that work between their calls
 * more than it gains.
 */
#define RING_WAIT_FIRST 1
#define RING_WAIT_NEXT 256

/* Waits; returns how long to wait the next time. */
static inline unsigned
wait_apart(unsigned wait)
{
	for (unsigned i = 0; i < wait; i++) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("isb");
#else
		__asm__ volatile("");
#endif
	}
	return wait ? RING_WAIT_NEXT : 0;
}

/*
 * Copies of two slots at a time, if a consumer may read slots that a producer
 * is writing. The consumer then discards the values, so they may be torn.
 * volatile keeps the compiler from assuming anything about them. Relaxed
 * atomics would copy one slot at a time, and a later load of 16 bytes of the
 * elements would wait for two stores. ThreadSanitizer requires atomics.
 */
#if defined(__SANITIZE_THREAD__)
#define RING_PAIRS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RING_PAIRS 0
#endif
#endif
#ifndef RING_PAIRS
#define RING_PAIRS 1
#endif

#if RING_PAIRS
typedef uintptr_t hone_ring_pair __attribute__((
	vector_size(2 * sizeof(void *)), aligned(sizeof(void *)), may_alias));

static inline void
load_pair(void **elements, void *const *slots)
{
	hone_ring_pair pair = *(const volatile hone_ring_pair *)slots;

	memcpy(elements, &pair, sizeof(pair));
}

static inline void
store_pair(void **slots, void *const *elements)
{
	hone_ring_pair pair;

	memcpy(&pair, elements, sizeof(pair));
	*(volatile hone_ring_pair *)slots = pair;
}
#else
static inline void
load_pair(void **elements, void *const *slots)
{
	elements[0] = __atomic_load_n(&slots[0], __ATOMIC_RELAXED);
	elements[1] = __atomic_load_n(&slots[1], __ATOMIC_RELAXED);
}

static inline void
store_pair(void **slots, void *const *elements)
{
	__atomic_store_n(&slots[0], elements[0], __ATOMIC_RELAXED);
	__atomic_store_n(&slots[1], elements[1], __ATOMIC_RELAXED);
}
#endif

/* Number of contiguous slots, of n slots from a position on; the other slots
 * begin at slot 0. */
static inline size_t
contiguous(uint64_t position, size_t n, uint32_t mask)
{
	size_t first = (size_t)mask + 1 - (size_t)(position & mask);

	if (__builtin_constant_p(n) && n == 1) /* so that there is no loop */
		return 1;
	return first < n ? first : n;
}

#endif
