/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PIPELINE_STATE_H
#define HONE_IMAGE_PIPELINE_STATE_H
/* Declarations for the files of the pipeline. */
#include <hone/mempool.h>
#include <hone/ring.h>
#include <pthread.h>
#include "pipeline/pipeline.h"

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

/* resources.c */
/*
 * Create the chunks for *threads threads, or for fewer, at least 1, if
 * run->memory requires fewer. Sets n_chunks and *threads.
 * Returns 0, or -ENOMEM after freeing everything.
 */
int pipeline_create(struct pipeline *p, unsigned *threads);
void pipeline_destroy(struct pipeline *p);

#endif
