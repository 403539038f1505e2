/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of one pool, compiled together with its inline functions. The
 * pattern is that of DPDK's test mempool_perf, and its halves for two threads.
 *
 *	POOL		prefix of all names that this file defines
 *	POOL_BEGIN(t)	declares variables, from the handle of enter()
 *	POOL_END()	ends their use
 *	POOL_GET(p, n)	takes n objects into p[0..n), or none; 0 if it took n
 *	POOL_PUT(p, n)	gives them back
 *
 * All are undefined at the end: a file may include this header again.
 */
#include "pools.h"

#ifndef HONE_BENCH_MEMPOOL_LOOP_H
#define HONE_BENCH_MEMPOOL_LOOP_H
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

/* Acquire: pairs with the release in pool_queue_advance() of the other end. */
POOL_INLINE uint32_t
pool_queue_peer(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* n divides POOL_QUEUE_SIZE, so the n slots are contiguous. */
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

/* Takes objects into the slots of the queue. */
POOL_INLINE void
POOL_FN(fill)(void *thread, const struct pool_work *w, unsigned n)
{
	POOL_BEGIN(thread);

	for (unsigned turn = 0; turn < w->rounds; turn++) {
		void **slots = pool_queue_space(w->queue, POOL_QUEUE_BATCH);

		for (unsigned i = 0; i < POOL_QUEUE_BATCH; i += n)
			while (POOL_GET(slots + i, n) != 0)
				pool_pause();
		pool_queue_advance(&w->queue->head, POOL_QUEUE_BATCH);
	}
	POOL_END();
}

POOL_INLINE void
POOL_FN(drain)(void *thread, const struct pool_work *w, unsigned n)
{
	POOL_BEGIN(thread);

	for (unsigned turn = 0; turn < w->rounds; turn++) {
		void **slots = pool_queue_filled(w->queue, POOL_QUEUE_BATCH);

		for (unsigned i = 0; i < POOL_QUEUE_BATCH; i += n)
			POOL_PUT(slots + i, n);
		pool_queue_advance(&w->queue->tail, POOL_QUEUE_BATCH);
	}
	POOL_END();
}

/* One function for each burst size, and the table of all. */
#define POOL_LOOP(name, call)                                                  \
	static void POOL_FN(name)(void *t, const struct pool_work *w)          \
	{                                                                      \
		call;                                                          \
	}
#define POOL_CYCLE(size, n)                                                    \
	POOL_LOOP(cycle_##size, POOL_FN(turns)(t, w, n, false))                \
	POOL_LOOP(touch_##size, POOL_FN(turns)(t, w, n, true))                 \
	POOL_LOOP(produce_##size, POOL_FN(fill)(t, w, n))                      \
	POOL_LOOP(consume_##size, POOL_FN(drain)(t, w, n))
#define POOL_TABLE(name)                                                       \
	static pool_loop *const POOL_FN(name)[POOL_SIZES] = {                  \
		POOL_FN(name##_1), POOL_FN(name##_4), POOL_FN(name##_8),       \
		POOL_FN(name##_32), POOL_FN(name##_64), POOL_FN(name##_256),   \
		POOL_FN(name##_any)};

POOL_CYCLE(1, 1)
POOL_CYCLE(4, 4)
POOL_CYCLE(8, 8)
POOL_CYCLE(32, 32)
POOL_CYCLE(64, 64)
POOL_CYCLE(256, 256)
POOL_CYCLE(any, w->n)
POOL_TABLE(cycle)
POOL_TABLE(touch)
POOL_TABLE(produce)
POOL_TABLE(consume)

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
#undef POOL_LOOP
#undef POOL_TABLE
#undef POOL_BEGIN
#undef POOL_END
#undef POOL_GET
#undef POOL_PUT
#undef POOL
