/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io_uring or plain calls: which one reads a batch faster depends on the CPU,
 * the kernel, the file system and on whether the files are in memory. So a
 * batch tries both, reads a run of files by the faster one, and tries again,
 * because the next files may differ.
 */
#include <time.h>
#include "stream/batch.h"

/* The setup of an io_uring costs as much as it saves for 16 cached files. */
#define URING_MIN 32
/* Fewer files that are read fast gain less than a trial costs. */
#define TRIAL_MIN 256
/* Files of a trial. */
#define TRIAL 64
/* Plain calls wait for each file that is not in memory: a trial of them ends
 * after this time. */
#define TRIAL_NS 500000
#define LOOK_EVERY 8
/* Files of a run: the first trial also meets memory that is new, so the first
 * run is short. */
#define RUN_FIRST 128
#define RUN_MOST 2048

struct trial {
	uint64_t ns;
	size_t files;
};

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool
try_plain(struct hone_batch *b, struct trial *trial)
{
	uint64_t begin = now_ns();

	*trial = (struct trial){0, 0};
	while (trial->files < TRIAL && trial->ns < TRIAL_NS) {
		if (!hone_batch_read_some(b, LOOK_EVERY))
			return false;
		trial->files += LOOK_EVERY;
		trial->ns = now_ns() - begin;
	}
	return true;
}

static bool
try_uring(struct hone_uring *ring, struct trial *trial)
{
	uint64_t begin = now_ns();

	trial->files = hone_uring_read(ring, TRIAL);
	trial->ns = now_ns() - begin;
	return trial->files == TRIAL;
}

static bool
is_faster(const struct trial *one, const struct trial *other)
{
	return (double)one->ns * (double)other->files <
	       (double)other->ns * (double)one->files;
}

void
hone_batch_read_faster(struct hone_batch *b)
{
	struct hone_uring *ring HONE_CLEANUP(hone_uring_drop) = NULL;
	struct trial plain, uring;
	size_t run = RUN_FIRST;
	bool more = b->n >= URING_MIN;

	while (more && try_plain(b, &plain)) {
		if (b->n < TRIAL_MIN && plain.files == TRIAL)
			break;
		if (!ring && hone_uring_open(&ring, b) != 0)
			break;
		more = try_uring(ring, &uring);
		if (more && is_faster(&uring, &plain))
			more = hone_uring_read(ring, run) == run;
		else if (more)
			more = hone_batch_read_some(b, run);
		if (run < RUN_MOST)
			run *= 2;
	}
	if (ring)
		hone_uring_close(&ring);
	(void)hone_batch_read_some(b, SIZE_MAX);
}
