/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_RIVALS_MEMPOOL_H
#define HONE_BENCH_RIVALS_MEMPOOL_H
/*
 * What the mempool part is measured beside, and Hone itself: each pool behind
 * the same functions, with its loops compiled where its inline functions are.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool as a case needs it. memory is zeroed, page-aligned, and its own. */
struct pool_shape {
	size_t object_size;
	unsigned capacity;
	unsigned cache_size;
	void *memory;
	size_t memory_size;
};

/* What a loop is asked for. keep is a multiple of n, n at most keep. */
struct pool_work {
	void **objects; /* room for keep pointers, owned by the thread */
	unsigned keep;
	unsigned n;
	unsigned rounds;
	struct pool_queue *queue; /* between producer and consumer */
};

/* A loop that finds the pool empty tries again until it is not. */
typedef void pool_loop(void *thread, const struct pool_work *work);

enum { POOL_SIZES = 7 }; /* of a burst: 1, 4, 8, 32, 64, 256, any other */

/* One row for each pool. Functions that a pool has not are NULL. */
struct pool_subject {
	const char *name;
	const char *kind; /* what open() makes: the name of DPDK's ops */

	/* NULL, or why this machine cannot run it. */
	const char *(*missing)(const struct pool_subject *);
	/* A pool, or NULL; what it uses is never freed. */
	void *(*open)(const struct pool_subject *, const struct pool_shape *);
	/* The calling thread's handle, or NULL; it lives as long as that. */
	void *(*enter)(void *pool);

	/* rounds times: keep objects in bursts of n, and back. */
	pool_loop *const *cycle;
	/* The same, and a word of each object is written. */
	pool_loop *const *touch;
	/* rounds times: POOL_QUEUE_BATCH objects in bursts of n into the
	 * queue; and as many out of it and back. */
	pool_loop *const *produce, *const *consume;
	/* Once: keep objects into work->objects; and back from there. */
	pool_loop *take, *give;
};

/* Each list ends with a row without a name. */
extern const struct pool_subject pool_dpdk[];
extern const struct pool_subject pool_mallocs[];
extern const struct pool_subject pool_ck[];
extern const struct pool_subject pool_ceilings[];

/*
 * The queue that all share, of the simplest kind: one thread at each end. So
 * many objects change hands at once that it costs little beside the pool.
 */
enum { POOL_QUEUE_SIZE = 4096, POOL_QUEUE_BATCH = 256 };

struct pool_queue {
	void *slots[POOL_QUEUE_SIZE];
	uint32_t head, tail_seen; /* written by the producer */
	char apart[120];
	uint32_t tail, head_seen; /* written by the consumer */
	char apart_too[120];
};

#ifdef __cplusplus
}
#endif
#endif
