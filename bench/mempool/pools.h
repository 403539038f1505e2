/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_MEMPOOL_POOLS_H
#define HONE_BENCH_MEMPOOL_POOLS_H
/*
 * Hone's pool and its rivals behind the same functions. The loops of a pool are
 * compiled together with its inline functions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What open() makes. memory is zeroed, page-aligned and of this pool alone. */
struct pool_shape {
	size_t object_size;
	unsigned capacity;
	unsigned cache_size;
	void *memory;
	size_t memory_size;
};

/* The work of a loop. keep is a multiple of n, and n is at most keep. */
struct pool_work {
	void **objects; /* keep pointers, owned by the thread */
	unsigned keep;
	unsigned n;
	unsigned rounds;
	struct pool_queue *queue; /* between producer and consumer */
};

/* If the pool is empty, a loop tries again until it is not. */
typedef void pool_loop(void *thread, const struct pool_work *work);

enum { POOL_SIZES = 7 }; /* of a burst: 1, 4, 8, 32, 64, 256, any other */

/* One row for each pool. Functions that a pool lacks are NULL. */
struct pool_subject {
	const char *name;
	const char *kind; /* an argument of open(): the name of DPDK's ops */

	/* Returns NULL, or the reason why this machine cannot run the pool. */
	const char *(*missing)(const struct pool_subject *);
	/* Returns a pool, or NULL. Its memory is never freed. */
	void *(*open)(const struct pool_subject *, const struct pool_shape *);
	/* Returns the handle of the calling thread, or NULL. The handle is
	 * valid until the thread ends. */
	void *(*enter)(void *pool);

	/* rounds times: takes keep objects in bursts of n, and gives them back
	 * in bursts of n. */
	pool_loop *const *cycle;
	/* The same, and writes a word of each object. */
	pool_loop *const *touch;
	/* rounds times: produce takes POOL_QUEUE_BATCH objects in bursts of n
	 * into the queue; consume gives as many from the queue back. */
	pool_loop *const *produce, *const *consume;
	/* Once: takes keep objects into work->objects; gives them back. */
	pool_loop *take, *give;
};

/* Each list ends with a row without a name. */
extern const struct pool_subject pool_dpdk[];
extern const struct pool_subject pool_mallocs[];
extern const struct pool_subject pool_ck[];
extern const struct pool_subject pool_ceilings[];

/*
 * A simple queue with one thread at each end, the same for all pools. It moves
 * so many objects at once that its cost is small beside that of the pool.
 */
enum { POOL_QUEUE_SIZE = 4096, POOL_QUEUE_BATCH = 256 };

struct pool_queue {
	void *slots[POOL_QUEUE_SIZE];
	uint32_t head, tail_seen; /* written by the producer */
	char apart[120];
	uint32_t tail, head_seen; /* written by the consumer */
	char apart_too[120];
};

extern const struct pool_subject pool_hone[];
extern const struct pool_subject pool_hone_cursor[];
extern const struct pool_subject pool_hone_magazine[];

/*
 * Loops of callers that are compiled for this machine (-march=native), where
 * inline functions may use its widest vectors. Each row has the pool of another
 * row: only the loops differ. And the ceiling of DPDK's pool, whose ops differ.
 */
extern const struct pool_subject pool_hone_native[];
extern const struct pool_subject pool_dpdk_native[];
extern const struct pool_subject pool_dpdk_ceiling[];

/* Those of pool_dpdk. */
const char *pool_dpdk_missing(const struct pool_subject *s);
void *pool_dpdk_open(
	const struct pool_subject *s, const struct pool_shape *shape);
void *pool_dpdk_enter(void *pool);
/* Those of pool_hone. */
const char *pool_hone_missing(const struct pool_subject *s);
void *pool_hone_open(
	const struct pool_subject *s, const struct pool_shape *shape);
void *pool_hone_enter(void *pool);

#ifdef __cplusplus
}
#endif
#endif
