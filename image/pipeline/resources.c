/* SPDX-License-Identifier: BSD-3-Clause */
/* The chunks of a pipeline, their queue, and the slots where they wait. */
#include <errno.h>
#include <stdlib.h>
#include "pipeline/state.h"
#include "store/store.h"

/* As said in image_run.memory. */
#define DEFAULT_MEMORY ((size_t)64 << 20)

static size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/*
 * An object: the task, what the stages keep, and the buffer, each on lines of
 * its own. The buffer begins at a page, for O_DIRECT.
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

/* Chunks of a disk under way, for each thread: one that is worked on, and one
 * that waits for its turn. One thread alone needs no second. */
static size_t
wanted_chunks(unsigned threads)
{
	return threads == 1 ? 1 : 2 * (size_t)threads;
}

/* Each thread takes its scratch and at least one chunk. The first one takes
 * them in any case. */
static void
divide_memory(struct pipeline *p, size_t chunk, unsigned *threads)
{
	size_t memory = p->run->memory ? p->run->memory : DEFAULT_MEMORY;
	size_t most = memory / (chunk + p->plan->scratch);

	if (*threads > most)
		*threads = most ? (unsigned)most : 1;
	p->n_chunks = wanted_chunks(*threads);
	size_t affordable =
		most ? (memory - *threads * p->plan->scratch) / chunk : 1;
	if (p->n_chunks > affordable)
		p->n_chunks = affordable;
}

static int
create_pool(struct pipeline *p, unsigned *threads)
{
	const struct image_plan *plan = p->plan;
	struct hone_mempool_attr attr;

	hone_mempool_attr_init(&attr);
	attr.object_size = head_size(plan) + plan->buffer;
	attr.alignment = IMAGE_ALIGN;
	/* O_DIRECT sends a huge page as one piece: 1 GiB takes 1.6 s, not 3. */
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
	/* Initialised in every case, so that destroy may end them. */
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

	/* After an error, chunks are still where they waited. */
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
