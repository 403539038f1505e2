/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_FAKE_STAGES_H
#define HONE_TESTS_IMAGE_FAKE_STAGES_H
/* A pipeline whose stages wait for each other, and fail, as a test says. */
#include "fake_source.h"
#include "pipeline/pipeline.h"

#define CHUNK ((uint64_t)4096)
#define CHUNKS 8

/* A stage of a chunk: what it waits for, and what it returns. */
struct step {
	/* opened at its beginning and at its end */
	struct fake_gate begun;
	struct fake_gate ended;
	/* what it waits for between them; a pause follows */
	struct fake_gate *until;
	int rc;
};

struct staged {
	struct image_plan plan;
	struct image_run how;
	unsigned threads;
	struct image_error err;
	struct step work[CHUNKS];
	struct step write[CHUNKS];
	/* the chunk at which order() returns order_rc */
	uint64_t order_at;
	int order_rc;
	/* chunks that begin the disk as a hole */
	uint64_t hole;
	/* what happened */
	unsigned ordered;
	uint64_t next;
	uint64_t progress;
	atomic_uint writing;
	atomic_uint most_writing;
	atomic_uint held;
	atomic_uint most_held;
	atomic_uint worked;
	atomic_uint signals;
	atomic_uint overwritten;
	pthread_t main;
};

/* A disk of that many chunks of data, at most CHUNKS. */
void staged_init(struct staged *staged, uint64_t chunks, unsigned threads);

#endif
