/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_BATCH_H
#define HONE_SRC_BATCH_H
/* A batch: shared by its threads, and by io_uring and plain calls. */
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
	/* threads other than the caller's read too */
	bool shared;
	/* HONE_BATCH_* bits */
	unsigned flags;
	/* The first path that no thread has begun. All accesses are relaxed:
	 * it only matters that each thread gets another number. */
	size_t next;
	/* The result of done() that is not 0, or 1 after
	 * hone_batch_abandon(): done() is not called again. Relaxed: an old
	 * value costs one unneeded file. */
	int stop;
	/* for done(), used and stop: one call of done() at a time */
	pthread_mutex_t lock;
	struct hone_batch_used used;
	/* Paths for which no descriptor was left; under the lock while other
	 * threads read */
	struct hone_batch_refused *refused;
	/* The other threads and all rings have ended. */
	bool alone;
};

/*
 * done() and the allocator may leave by an exception, and a thread may be
 * cancelled. A cleanup of a local variable then gives back what a function
 * holds: the library is compiled with -fexceptions. Other threads and rings get
 * to know by hone_batch_abandon().
 */
#define HONE_CLEANUP(fn) __attribute__((cleanup(fn)))

/* Stops the batch, as done() does. */
void hone_batch_abandon(struct hone_batch *b);

/* Takes the next path; returns false if there is none or done() stopped. */
bool hone_batch_next(struct hone_batch *b, size_t *index);

bool hone_batch_stopped(const struct hone_batch *b);

/* Passes a result to done() and counts it in *way, which is a member of used.
 * file: NULL with an error. */
void hone_batch_deliver(struct hone_batch *b, size_t *way, size_t index,
	int error, struct hone_file_data *file);

/*
 * Reads one file by plain calls and passes it to done(). If there is no
 * descriptor for the file, other threads of the batch may have them: the
 * calling thread should then read no more, and the file is read again when it
 * is the only one of the batch. Returns false in this case.
 */
bool hone_batch_read_plain(struct hone_batch *b, size_t index);

/* Reads the next n files by plain calls. Returns false if no path is left, no
 * descriptor is, or done() stopped. */
bool hone_batch_read_some(struct hone_batch *b, size_t n);

/* The io_uring of one thread. */
struct hone_uring;

/* Returns 0 or a negative errno. */
int hone_uring_open(struct hone_uring **ring, struct hone_batch *b);

/*
 * Begins up to n files, and finishes all of them. Returns how many: fewer than
 * n if no path is left or done() stopped, 0 if the kernel refuses to continue.
 */
size_t hone_uring_read(struct hone_uring *ring, size_t n);

/* Finishes by plain calls what the kernel refused, and closes the ring. */
void hone_uring_close(struct hone_uring **ring);

/* For HONE_CLEANUP: a ring that was not closed, because done() or the allocator
 * has thrown an exception or the thread is cancelled. Stops the batch. */
void hone_uring_drop(struct hone_uring **ring);

/* Reads all paths that are left, by plain calls or io_uring, whichever is
 * faster: choose.c. */
void hone_batch_read_faster(struct hone_batch *b);

#endif
