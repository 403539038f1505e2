/* SPDX-License-Identifier: BSD-3-Clause */
/* The chunks of a pipeline, their ring, and their slots for the order stage. */
#include <errno.h>
#include <stdlib.h>
#include "memory.h"
#include "pipeline/state.h"
#include "store/store.h"

static size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/*
 * An object has the task, the memory of the stages and the buffer, each on its
 * own cache lines. The buffer begins at a page, for O_DIRECT.
 */
static size_t
head_size(const struct image_plan *plan)
{
	size_t task = round_up(sizeof(struct task), 64);
	return round_up(task + plan->own, IMAGE_ALIGN);
}

static void
construct(void *object, size_t index, void *arg)
{
	const struct image_plan *plan = arg;
	struct task *task = object;

	(void)index;
	task->chunk.own = (char *)object + round_up(sizeof(*task), 64);
	task->chunk.data = (unsigned char *)object + head_size(plan);
}

/*
 * Chunks in progress: for each thread, one in the work stage and one that waits
 * for its ticket. A single thread needs no second chunk.
 */
static size_t
wanted_chunks(unsigned threads)
{
	return threads == 1 ? 1 : 2 * (size_t)threads;
}

/*
 * Each thread needs its scratch and at least one chunk. The first thread gets
 * them even if they exceed the limit.
 */
static void
divide_memory(struct pipeline *p, size_t chunk, unsigned *threads)
{
	const struct image_plan *plan = p->plan;
	size_t share = image_memory(p->run->memory).chunks;
	size_t memory = share + plan->spare;
	size_t affordable = (share + plan->spare_chunks) / chunk;
	size_t most = memory / (chunk + plan->scratch);

	if (most > affordable)
		most = affordable;
	if (*threads > most)
		*threads = most ? (unsigned)most : 1;
	if (most && affordable > (memory - *threads * plan->scratch) / chunk)
		affordable = (memory - *threads * plan->scratch) / chunk;
	p->n_chunks = wanted_chunks(*threads);
	if (p->n_chunks > affordable)
		p->n_chunks = affordable ? affordable : 1;
}

static int
create_pool(struct pipeline *p, unsigned *threads)
{
	const struct image_plan *plan = p->plan;
	struct hone_mempool_attr attr;

	hone_mempool_attr_init(&attr);
	attr.object_size = head_size(plan) + plan->buffer;
	attr.alignment = IMAGE_ALIGN;
	/* With O_DIRECT, a huge page is one request: 1 GiB takes 1.6 s, not
	 * 3. */
	attr.flags = HONE_MEMPOOL_HUGE_ADVISE;
	attr.cache_size = 1;
	attr.max_caches = 1;
	attr.constructor = construct;
	attr.constructor_arg = (void *)(uintptr_t)plan;
	attr.name = "image chunks";

	divide_memory(p, attr.object_size, threads);
	attr.capacity = p->n_chunks;
	int rc = hone_mempool_create(&p->pool, &attr);
	if (rc == 0)
		rc = hone_mempool_cache_open(p->pool, &p->cache);
	return rc;
}

int
pipeline_create(struct pipeline *p, unsigned *threads)
{
	pthread_condattr_t attr;

	int rc = create_pool(p, threads);
	if (rc == 0)
		rc = hone_ring_create(&p->ready, p->n_chunks, HONE_RING_SPSC);
	if (rc == 0) {
		p->worked = calloc(p->n_chunks, sizeof(struct task *));
		if (!p->worked)
			rc = -ENOMEM;
	}
	/* Initialised also after a failure, because pipeline_destroy() destroys
	 * both. */
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (rc < 0)
		pipeline_destroy(p);
	return rc;
}

void
pipeline_destroy(struct pipeline *p)
{
	void *element;

	/* After an error, chunks are still in the ring and in the slots. */
	while (p->ready && hone_ring_dequeue(p->ready, &element) == 0)
		hone_mempool_put(p->cache, element);
	for (size_t i = 0; p->worked && i < p->n_chunks; i++)
		if (p->worked[i])
			hone_mempool_put(p->cache, p->worked[i]);
	free(p->worked);
	hone_ring_destroy(p->ready);
	if (p->cache)
		hone_mempool_cache_close(p->cache);
	if (p->pool)
		hone_mempool_destroy(p->pool);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
}
