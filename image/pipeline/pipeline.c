/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One mutex guards everything except the work of the stages. A chunk is a
 * megabyte, so the mutex is taken some thousand times a second.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <hone/mempool.h>
#include <hone/ring.h>
#include <pthread.h>
#include "memory.h"
#include "pipeline/pieces.h"
#include "store/store.h"
#include "thread.h"

/* An object of the mempool: a chunk, followed by its buffers. */
struct task {
	struct image_chunk chunk;
	/* the result of cut or work */
	int rc;
	struct image_error err;
};

struct pipeline {
	const struct image_plan *plan;
	const struct image_run *run;
	/* number of chunks */
	size_t n_chunks;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Everything below is used under the lock. */
	struct hone_mempool *pool;
	struct hone_mempool_cache *cache;
	/* chunks that have their places and wait for a writer */
	struct hone_ring *ready;
	/* chunks that wait for the order stage: slot ticket % n_chunks */
	struct task **worked;
	/* plan->size, or less: where the disk ends */
	uint64_t size;
	/* offset of the next chunk, and the extent there */
	uint64_t offset;
	struct image_extent extent;
	uint64_t next_ticket;
	uint64_t next_order;
	unsigned under_way;
	unsigned writing;
	/* for run->rate: bytes cut for reading, and the time of the
	 * beginning */
	uint64_t read;
	uint64_t began_ns;
	/* not 0: stop */
	int rc;
	struct image_error *err;
};

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
	/* For each thread, one in the work stage and one that waits for its
	 * ticket. */
	p->n_chunks = *threads == 1 ? 1 : 2 * (size_t)*threads;
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

static void
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

/*
 * Create the chunks for *threads threads, or for fewer, at least 1, if
 * run->memory requires fewer. Returns 0, or -ENOMEM after freeing everything.
 */
static int
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

/* Cut the next chunk. A hole of several whole chunks becomes one chunk. */
static void
cut(struct pipeline *p, struct task *task)
{
	const struct image_plan *plan = p->plan;
	struct image_chunk *chunk = &task->chunk;
	uint64_t offset = p->offset;
	uint64_t boundary = (offset | (plan->chunk - 1)) + 1;

	chunk->ticket = p->next_ticket++;
	chunk->offset = offset;
	chunk->hole = false;
	if (!p->extent.length || offset >= image_extent_end(&p->extent))
		task->rc =
			plan->cut(plan->opaque, offset, &p->extent, &task->err);
	if (task->rc < 0) {
		chunk->length = 0;
		/* No chunk follows a failure. */
		p->offset = p->size;
		return;
	}
	assert(offset >= p->extent.offset &&
		offset < image_extent_end(&p->extent));
	chunk->first = image_extent_part(&p->extent, offset, UINT64_MAX);

	uint64_t end = boundary < p->size ? boundary : p->size;
	if (chunk->first.kind == IMAGE_HOLE &&
		image_extent_end(&p->extent) >= end) {
		uint64_t hole = image_extent_end(&p->extent);
		chunk->hole = true;
		end = hole >= p->size ? p->size
				      : hole & ~((uint64_t)plan->chunk - 1);
	}
	chunk->length = end - offset;
	p->offset = end;
}

static void
retire(struct pipeline *p, struct task *task)
{
	hone_mempool_put(p->cache, task);
	p->under_way--;
}

static void
stop(struct pipeline *p, int rc, const struct image_error *err)
{
	if (p->rc == 0) {
		p->rc = rc;
		if (rc < 0)
			*p->err = *err;
		if (p->plan->stop)
			p->plan->stop(p->plan->opaque);
	}
}

/* The order stage for the chunk of the next ticket. */
static void
pass_order(struct pipeline *p, struct task *task)
{
	const struct image_plan *plan = p->plan;
	int rc = task->rc;

	if (rc == 0 && task->chunk.length == 0) {
		retire(p, task);
		return;
	}
	if (rc == 0 && plan->order)
		rc = plan->order(plan->opaque, &task->chunk, &task->err);
	if (rc != 0) {
		stop(p, rc, &task->err);
		retire(p, task);
		return;
	}
	if (p->run->progress)
		p->run->progress(p->run->opaque,
			task->chunk.offset + task->chunk.length);
	if (!plan->write || (task->chunk.hole && !plan->write_holes)) {
		retire(p, task);
		return;
	}
	rc = hone_ring_enqueue(p->ready, task);
	/* The ring has room for every chunk. */
	assert(rc == 0);
	(void)rc;
}

/*
 * Add a chunk after its work stage. Run the order stage for all chunks whose
 * ticket is next.
 */
static void
submit(struct pipeline *p, struct task *task)
{
	p->worked[task->chunk.ticket % p->n_chunks] = task;
	for (;;) {
		struct task **slot = &p->worked[p->next_order % p->n_chunks];
		if (!*slot || p->rc != 0)
			break;
		task = *slot;
		*slot = NULL;
		p->next_order++;
		pass_order(p, task);
	}
	pthread_cond_broadcast(&p->changed);
}

/* Returns true if a chunk was written. */
static bool
do_write(struct pipeline *p, struct image_scratch *scratch)
{
	const struct image_plan *plan = p->plan;
	void *element;

	if ((plan->writers && p->writing == plan->writers) ||
		hone_ring_dequeue(p->ready, &element) < 0)
		return false;
	struct task *task = element;
	p->writing++;
	pthread_mutex_unlock(&p->lock);
	int rc = plan->write(plan->opaque, scratch, &task->chunk, &task->err);
	pthread_mutex_lock(&p->lock);
	p->writing--;
	if (rc != 0)
		stop(p, rc, &task->err);
	retire(p, task);
	pthread_cond_broadcast(&p->changed);
	return true;
}

/* Returns the time from which run->rate allows another read, or 0: now. */
static uint64_t
due_ns(const struct pipeline *p)
{
	if (!p->run->rate)
		return 0;
	double seconds = (double)p->read / (double)p->run->rate;
	uint64_t due = p->began_ns + (uint64_t)(seconds * 1e9);
	return image_now_ns() < due ? due : 0;
}

/* Wait for a change, or until run->rate allows another read. */
static void
wait_for_change(struct pipeline *p)
{
	bool limited = p->run->rate && p->offset < p->size;
	uint64_t due = limited ? due_ns(p) : 0;

	if (due) {
		struct timespec until = {
			(time_t)(due / 1000000000), (long)(due % 1000000000)};
		pthread_cond_timedwait(&p->changed, &p->lock, &until);
	} else if (!limited || p->under_way) {
		pthread_cond_wait(&p->changed, &p->lock);
	}
	/* Otherwise the time has just come: the caller tries again. */
}

/* The work stage. Returns true if the disk ends in the chunk or before it. */
static bool
work(struct pipeline *p, struct image_scratch *scratch, struct task *task)
{
	const struct image_plan *plan = p->plan;
	struct image_chunk *chunk = &task->chunk;
	uint64_t length = chunk->length;

	if (plan->reach)
		task->rc = plan->reach(plan->opaque, chunk, &task->err);
	if (task->rc == 0 && chunk->length)
		task->rc = plan->work(plan->opaque, scratch, chunk, &task->err);
	return chunk->length < length;
}

/* Returns true if a chunk was cut and worked on. */
static bool
do_work(struct pipeline *p, struct image_scratch *scratch)
{
	if (p->offset == p->size || due_ns(p))
		return false;
	struct task *task = hone_mempool_get(p->cache);
	if (!task)
		return false;
	task->rc = 0;
	p->under_way++;
	cut(p, task);
	if (task->rc == 0 && !task->chunk.hole) {
		p->read += task->chunk.length;
		pthread_mutex_unlock(&p->lock);
		bool ends = work(p, scratch, task);
		pthread_mutex_lock(&p->lock);
		if (ends) {
			uint64_t end = task->chunk.offset + task->chunk.length;

			if (end < p->size)
				p->size = end;
			/* No more chunks are cut. */
			p->offset = p->size;
		}
	}
	submit(p, task);
	return true;
}

/* The loop of each thread, until all chunks are done or p->rc is set. */
static void *
pipeline_loop(void *pipeline)
{
	struct pipeline *p = pipeline;
	struct image_scratch scratch = {0};

	pthread_mutex_lock(&p->lock);
	/* Writes first: a write frees a chunk, and the bytes are still in the
	 * CPU cache. */
	while (p->rc == 0) {
		if (do_write(p, &scratch) || do_work(p, &scratch))
			continue;
		if (p->offset == p->size && p->under_way == 0)
			break;
		wait_for_change(p);
	}
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	image_scratch_destroy(&scratch);
	return NULL;
}

/*
 * Run the loop in `wanted` threads, including the caller's, or in fewer if the
 * system refuses more. Returns the number of threads.
 */
static unsigned
run_threads(struct pipeline *p, unsigned wanted)
{
	pthread_t threads[IMAGE_MAX_THREADS];
	unsigned more = 0;

	p->began_ns = image_now_ns();
	while (more + 1 < wanted &&
		image_thread_create(&threads[more], pipeline_loop, p) == 0)
		more++;
	pipeline_loop(p);
	for (unsigned i = 0; i < more; i++)
		pthread_join(threads[i], NULL);
	return more + 1;
}

int
image_pipeline_run(const struct image_plan *plan, const struct image_run *run,
	unsigned *threads, struct image_error *err)
{
	struct pipeline p = {
		.plan = plan, .run = run, .size = plan->size, .err = err};
	unsigned wanted = run->threads ? run->threads : image_cpus();

	/* Most of them wait for an answer. */
	for (int i = 0; i < 2 && !run->threads; i++)
		if (plan->stores[i] && wanted < plan->stores[i]->requests)
			wanted = plan->stores[i]->requests;

	assert((plan->chunk & (plan->chunk - 1)) == 0);
	if (plan->size == 0)
		return 0;
	/* No more threads than chunks of the disk. */
	uint64_t most = (plan->size - 1) / plan->chunk + 1;
	if (wanted > IMAGE_MAX_THREADS)
		wanted = IMAGE_MAX_THREADS;
	if (wanted > most)
		wanted = (unsigned)most;
	int rc = pipeline_create(&p, &wanted);
	if (rc < 0)
		return image_no_memory(err);
	wanted = run_threads(&p, wanted);
	if (threads)
		*threads = wanted;
	pipeline_destroy(&p);
	return p.rc;
}
