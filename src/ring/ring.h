/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_RING_RING_H
#define HONE_RING_RING_H
/*
 * How several producers publish what they filled, and what the files of the
 * ring share.
 *
 * All slots before `filled` are filled. It moves from position to position in
 * order, but nobody waits for his turn:
 *
 * - A producer who finds filled where his places begin is the next in order.
 *   Nobody else can move it from there, so he stores where his places end.
 * - Any other writes that end down, in ends[] at his first place: his mark.
 *   Whoever finds a mark where filled is, may move filled to that end. All
 *   that want what is behind filled look for marks, producers and consumers.
 *
 * So a preempted producer keeps what lies behind his places from being taken,
 * but no other producer from going on; and when he is done, one step makes all
 * of it visible.
 *
 * A mark is never cleared. That of position p is greater than p, by no more
 * than there are slots; what earlier positions left in the same place is at
 * most p, and what later ones write is greater by more than that.
 */
#include <stdbool.h>
#include <string.h>
#include <hone/ring.h>

/* Where the marks begin behind so many slots: aligned, or an atomic access
 * might cross the end of a line. Slots are a power of two. */
static inline size_t
marks_behind(size_t slots)
{
	size_t bytes = slots * sizeof(void *);

	return bytes < sizeof(uint64_t) ? sizeof(uint64_t) : bytes;
}

/* The marks: as many as slots, behind them. */
static inline uint64_t *
ends_of(struct hone_ring *ring)
{
	return (uint64_t *)((char *)(ring + 1) +
			    marks_behind((size_t)ring->mask + 1));
}

/* Publish n places from `from` on, which are filled, by a mark. Returns n. */
size_t hone_ring_publish_late(struct hone_ring *ring, uint64_t from, size_t n);

/*
 * Move filled by the marks behind it, until it is `to` or more, or there is no
 * mark. Returns what it is then.
 */
uint64_t hone_ring_follow_marks(struct hone_ring *ring, uint64_t to);

/* From how many elements on memcpy() is worth its call: as many as 256 bytes
 * take, where it won in ./dev bench ring. */
#define RING_LONG 32

/*
 * Two slots at a time, where a consumer may read what a producer is writing.
 * It then throws away what it read, so that may be torn; volatile, so that the
 * compiler takes nothing for granted. Relaxed atomics would go one by one, and
 * who then loads 16 bytes of the elements waits for two stores.
 * ThreadSanitizer has to see atomics.
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
