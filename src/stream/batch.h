/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_BATCH_H
#define HONE_SRC_BATCH_H
/* What the threads and the two ways to read a batch share. */
#include <pthread.h>
#include "stream/read_file.h"

struct hone_batch {
	const char *const *paths;
	size_t n;
	const struct hone_read_attr *read;
	hone_read_done_fn done;
	void *arg;
	/* for each thread */
	unsigned depth;
	size_t memory;
	/* whether others than the caller's thread work */
	bool shared;
	/* with a ring; without one otherwise */
	bool with_uring;
	/* The first path that nobody has begun with. Relaxed wherever it is
	 * used: that each gets another number is all that matters. */
	size_t next;
	/* What done() returned; other than 0: it is not called again. Written
	 * with the lock held; relaxed where it is read without, since being
	 * late then costs one file and no more. */
	int stop;
	/* one call of done() at a time; for used and stop as well */
	pthread_mutex_t lock;
	struct hone_batch_used used;
};

/* Take the next path; false: there is none, or done() said to stop. */
bool hone_batch_next(struct hone_batch *b, size_t *index);

bool hone_batch_stopped(const struct hone_batch *b);

/* Give a result to the caller, and count it in `way`. file: NULL with an
 * error. */
void hone_batch_deliver(struct hone_batch *b, size_t *way, size_t index,
	int error, struct hone_file_data *file);

/* Read one file by plain calls, and give it to the caller. */
void hone_batch_read_plain(struct hone_batch *b, size_t index);

/* One thread's ring. */
struct hone_uring;

/* 0, or a negative errno. */
int hone_uring_open(struct hone_uring **ring, struct hone_batch *b);

/*
 * Read until no path is left, done() has stopped it or the kernel will not go
 * on; what was begun is finished. Closes the ring.
 */
void hone_uring_run(struct hone_uring *ring);

#endif
