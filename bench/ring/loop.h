/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of one kind of ring, compiled together with its inline functions.
 *
 *	RING		prefix of all names here: _turn, _add, _take
 *	RING_TYPE	the type of the ring
 *	RING_ADD	(ring, pointers, n): adds elements, returns how many
 *	RING_TAKE	(ring, pointers, n): takes elements, returns how many
 *
 * All are undefined at the end: a file may include this header again.
 */
#include <sched.h>
#include "rings.h"

#ifndef HONE_BENCH_RING_LOOP_H
#define HONE_BENCH_RING_LOOP_H
#define RING_PASTE_(a, b) a##_##b
#define RING_PASTE(a, b) RING_PASTE_(a, b)
#define RING_FN(name) RING_PASTE(RING, name)
#define RING_INLINE static inline __attribute__((always_inline))
#define RING_MOST 256
/* Aligned, so that no subject has an array that crosses more cache lines than
 * that of another. */
#define RING_ELEMENTS(name) void *name[RING_MOST] __attribute__((aligned(64)))

static inline void
ring_wait(const struct ring_work *work)
{
	if (work->yield)
		sched_yield();
#if defined(__x86_64__)
	else
		__builtin_ia32_pause();
#endif
}

static inline void
ring_number(void **elements, unsigned n)
{
	for (uintptr_t i = 0; i < n; i++)
		elements[i] = (void *)(i + 1);
}
#endif

RING_INLINE void
RING_FN(add_n)(RING_TYPE *ring, const struct ring_work *work, void **elements,
	unsigned n)
{
	unsigned done = RING_ADD(ring, elements, n);

	while (done < n) {
		ring_wait(work);
		done += RING_ADD(ring, elements + done, n - done);
	}
}

RING_INLINE void
RING_FN(take_n)(RING_TYPE *ring, struct ring_work *work, unsigned n)
{
	RING_ELEMENTS(elements);
	unsigned done = RING_TAKE(ring, elements, n);
	/* Not work->sum: to the compiler, a pointer that went to a function
	 * out of line may point to *work. */
	uintptr_t sum = 0;

	while (done < n) {
		ring_wait(work);
		done += RING_TAKE(ring, elements + done, n - done);
	}
	for (unsigned i = 0; i < n; i++)
		sum += (uintptr_t)elements[i];
	work->sum += sum;
}

RING_INLINE void
RING_FN(work)(RING_TYPE *ring, struct ring_work *work, bool adds, bool takes,
	unsigned n)
{
	RING_ELEMENTS(elements);

	ring_number(elements, n);
	for (unsigned i = 0; i < work->groups; i++) {
		if (adds)
			RING_FN(add_n)(ring, work, elements, n);
		if (takes)
			RING_FN(take_n)(ring, work, n);
	}
}

/* A group of one is a constant, as in a program without groups. */
static void
RING_FN(turn)(void *ring, struct ring_work *work)
{
	if (work->n == 1)
		RING_FN(work)((RING_TYPE *)ring, work, true, true, 1);
	else
		RING_FN(work)((RING_TYPE *)ring, work, true, true, work->n);
}

static void
RING_FN(add)(void *ring, struct ring_work *work)
{
	if (work->n == 1)
		RING_FN(work)((RING_TYPE *)ring, work, true, false, 1);
	else
		RING_FN(work)((RING_TYPE *)ring, work, true, false, work->n);
}

static void
RING_FN(take)(void *ring, struct ring_work *work)
{
	if (work->n == 1)
		RING_FN(work)((RING_TYPE *)ring, work, false, true, 1);
	else
		RING_FN(work)((RING_TYPE *)ring, work, false, true, work->n);
}

#undef RING
#undef RING_TYPE
#undef RING_ADD
#undef RING_TAKE
