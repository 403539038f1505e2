/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PIPELINE_STATE_H
#define HONE_IMAGE_PIPELINE_STATE_H
/* What the files of the pipeline share. */
#include <hone/mempool.h>
#include <hone/ring.h>
#include <pthread.h>
#include "pipeline/pipeline.h"

/* A chunk as the mempool has it: its buffers lie in the same object. */
struct task {
	struct image_chunk chunk;
	/* what cut or work returned */
	int rc;
	struct image_error err;
};

struct pipeline {
	const struct image_plan *plan;
	const struct image_run *run;
	/* chunks that there are */
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
	/* where the next chunk is cut off, and what is known around it */
	uint64_t offset;
	struct image_extent extent;
	uint64_t next_ticket;
	uint64_t next_order;
	unsigned under_way;
	unsigned writing;
	/* bytes cut for reading, and when that began: for run->rate */
	uint64_t read;
	uint64_t began_ns;
	/* not 0: stop */
	int rc;
	struct image_error *err;
};

/* resources.c */
/*
 * Make the chunks for so many threads, or for fewer, at least 1, as run->memory
 * allows; sets n_chunks and *threads. Returns 0 or -ENOMEM, with nothing left
 * to be destroyed.
 */
int pipeline_create(struct pipeline *p, unsigned *threads);
void pipeline_destroy(struct pipeline *p);

/* threads.c */
/* CPUs that this process may run on. */
unsigned pipeline_cpus(void);
/* Call work(p) in that many threads, the caller's among them, or in fewer if
 * the system has no more. Returns how many. */
unsigned pipeline_threads(
	struct pipeline *p, unsigned wanted, void *(*work)(void *));
/* Returns whether run->rate forbids to read more now. */
bool pipeline_must_wait(struct pipeline *p);
/* Wait until something has changed or run->rate allows to read on. */
void pipeline_wait(struct pipeline *p);

#endif
