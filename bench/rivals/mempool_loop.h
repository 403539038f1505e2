/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of one pool, compiled where its inline functions are: the pattern
 * of DPDK's own mempool_perf test, and its two halves for two threads.
 *
 *	POOL		prefix of what is defined here
 *	POOL_BEGIN(t)	declare what the rest needs, from enter()'s handle
 *	POOL_END()	undo that
 *	POOL_GET(p, n)	n objects into p[0..n); 0 if all were had, else none
 *	POOL_PUT(p, n)	and back
 *
 * All are undefined at the end, so that a file may include this again.
 */
#include "mempool.h"

#ifndef HONE_BENCH_RIVALS_MEMPOOL_LOOP_H
#define HONE_BENCH_RIVALS_MEMPOOL_LOOP_H
#define POOL_PASTE_(a, b) a##_##b
#define POOL_PASTE(a, b) POOL_PASTE_(a, b)
#define POOL_FN(name) POOL_PASTE(POOL, name)
#define POOL_INLINE static inline __attribute__((always_inline))

POOL_INLINE void
pool_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Acquire: pairs with the release of the other end, which is done with them. */
POOL_INLINE uint32_t
pool_queue_peer(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* n divides POOL_QUEUE_SIZE, so that no burst wraps round. */
POOL_INLINE void **
pool_queue_space(struct pool_queue *q, unsigned n)
{
	while (q->head + n - q->tail_seen > POOL_QUEUE_SIZE) {
		q->tail_seen = pool_queue_peer(&q->tail);
		pool_pause();
	}
	return &q->slots[q->head % POOL_QUEUE_SIZE];
}

POOL_INLINE void **
pool_queue_filled(struct pool_queue *q, unsigned n)
{
	while (q->head_seen - q->tail < n) {
		q->head_seen = pool_queue_peer(&q->head);
		pool_pause();
	}
	return &q->slots[q->tail % POOL_QUEUE_SIZE];
}

/* Release: pairs with pool_queue_peer(). */
POOL_INLINE void
pool_queue_advance(uint32_t *word, unsigned n)
{
	__atomic_store_n(word, *word + n, __ATOMIC_RELEASE);
}
#endif

POOL_INLINE void
POOL_FN(turns)(void *thread, const struct pool_work *w, unsigned n, bool touch)
{
	void **objects = w->objects;
	const unsigned keep = w->keep;
	POOL_BEGIN(thread);

	for (unsigned turn = 0; turn < w->rounds; turn++) {
		for (unsigned i = 0; i < keep; i += n)
			while (POOL_GET(objects + i, n) != 0)
				pool_pause();
		for (unsigned i = 0; touch && i < keep; i++)
			*(volatile uint64_t *)objects[i] = i;
		for (unsigned i = 0; i < keep; i += n)
			POOL_PUT(objects + i, n);
	}
	POOL_END();
}

#define POOL_CYCLE(name, n, touch)                                             \
	static void POOL_FN(name)(void *thread, const struct pool_work *w)     \
	{                                                                      \
		POOL_FN(turns)(thread, w, n, touch);                           \
	}

POOL_CYCLE(cycle_1, 1, false)
POOL_CYCLE(cycle_4, 4, false)
POOL_CYCLE(cycle_8, 8, false)
POOL_CYCLE(cycle_32, 32, false)
POOL_CYCLE(cycle_64, 64, false)
POOL_CYCLE(cycle_256, 256, false)
POOL_CYCLE(cycle_any, w->n, false)
POOL_CYCLE(touch_1, 1, true)
POOL_CYCLE(touch_4, 4, true)
POOL_CYCLE(touch_8, 8, true)
POOL_CYCLE(touch_32, 32, true)
POOL_CYCLE(touch_64, 64, true)
POOL_CYCLE(touch_256, 256, true)
POOL_CYCLE(touch_any, w->n, true)

static pool_loop *const POOL_FN(cycle)[POOL_SIZES] = {POOL_FN(cycle_1),
	POOL_FN(cycle_4), POOL_FN(cycle_8), POOL_FN(cycle_32),
	POOL_FN(cycle_64), POOL_FN(cycle_256), POOL_FN(cycle_any)};
static pool_loop *const POOL_FN(touch)[POOL_SIZES] = {POOL_FN(touch_1),
	POOL_FN(touch_4), POOL_FN(touch_8), POOL_FN(touch_32),
	POOL_FN(touch_64), POOL_FN(touch_256), POOL_FN(touch_any)};

static void
POOL_FN(produce)(void *thread, const struct pool_work *w)
{
	const unsigned n = w->n;
	POOL_BEGIN(thread);

	for (unsigned turn = 0; turn < w->rounds; turn++) {
		while (POOL_GET(w->objects, n) != 0)
			pool_pause();
		__builtin_memcpy(pool_queue_space(w->queue, n), w->objects,
			n * sizeof(void *));
		pool_queue_advance(&w->queue->head, n);
	}
	POOL_END();
}

static void
POOL_FN(consume)(void *thread, const struct pool_work *w)
{
	const unsigned n = w->n;
	POOL_BEGIN(thread);

	for (unsigned turn = 0; turn < w->rounds; turn++) {
		__builtin_memcpy(w->objects, pool_queue_filled(w->queue, n),
			n * sizeof(void *));
		pool_queue_advance(&w->queue->tail, n);
		POOL_PUT(w->objects, n);
	}
	POOL_END();
}

static void
POOL_FN(take)(void *thread, const struct pool_work *w)
{
	POOL_BEGIN(thread);

	for (unsigned i = 0; i < w->keep; i += w->n)
		while (POOL_GET(w->objects + i, w->n) != 0)
			pool_pause();
	POOL_END();
}

static void
POOL_FN(give)(void *thread, const struct pool_work *w)
{
	POOL_BEGIN(thread);

	for (unsigned i = 0; i < w->keep; i += w->n)
		POOL_PUT(w->objects + i, w->n);
	POOL_END();
}

#undef POOL_CYCLE
#undef POOL_BEGIN
#undef POOL_END
#undef POOL_GET
#undef POOL_PUT
#undef POOL
