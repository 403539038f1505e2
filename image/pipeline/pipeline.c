/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One mutex guards everything except the work of the stages. A chunk is a
 * megabyte, so the mutex is taken some thousand times a second.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "pipeline/pieces.h"
#include "pipeline/state.h"
#include "thread.h"

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

/* Returns the time from which run->rate allows another read. */
static uint64_t
due_ns(const struct pipeline *p)
{
	double seconds = (double)p->read / (double)p->run->rate;
	return p->began_ns + (uint64_t)(seconds * 1e9);
}

/* Returns whether run->rate forbids to read more now. */
static bool
must_wait(struct pipeline *p)
{
	return p->run->rate && image_now_ns() < due_ns(p);
}

/* Wait for a change, or until run->rate allows another read. */
static void
wait_for_change(struct pipeline *p)
{
	bool limited = p->run->rate && p->offset < p->size;

	if (limited && must_wait(p)) {
		uint64_t due = due_ns(p);
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
	if (p->offset == p->size || must_wait(p))
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
			/* The disk ends in the chunk or before it. */
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

/* Returns the calls that are under way at once if the stores are used best. */
static unsigned
requests(const struct image_plan *plan)
{
	unsigned most = 0;

	for (int i = 0; i < 2; i++)
		if (plan->stores[i] && plan->stores[i]->requests > most)
			most = plan->stores[i]->requests;
	return most;
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
	if (!run->threads && wanted < requests(plan))
		wanted = requests(plan);

	assert((plan->chunk & (plan->chunk - 1)) == 0);
	*threads = 0;
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
	*threads = run_threads(&p, wanted);
	pipeline_destroy(&p);
	return p.rc;
}
