/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From which size on does streaming win? Measured, since it depends on the
 * caches, the memory and the neighbours: for each size both policies copy,
 * in turns, from and to memory that has left the caches, and the destination
 * is read once.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <hone/zero.h>
#include "copy.h"

#define ARENA ((size_t)64 << 20)
#define SMALLEST ((size_t)64 << 10)
#define LARGEST ((size_t)32 << 20)
#define TURNS 5 /* odd: the median is one of them */

struct arena {
	unsigned char *from, *to;
	size_t at; /* where the next copy lies: round and round */
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One copy and one reading, in nanoseconds. */
static double
copy_and_read(struct arena *arena, size_t n, int policy)
{
	double start;

	if (arena->at + n > ARENA)
		arena->at = 0;
	start = now_ns();
	hone_memcpy(arena->to + arena->at, arena->from + arena->at, n, policy);
	/* All zeros, so that all of it is read; volatile, so that it is. */
	volatile size_t seen = hone_find_nonzero(arena->to + arena->at, n);

	(void)seen;
	arena->at += n;
	return now_ns() - start;
}

static double
median(double *times)
{
	for (int i = 1; i < TURNS; i++) {
		double t = times[i];
		int j = i;

		for (; j > 0 && times[j - 1] > t; j--)
			times[j] = times[j - 1];
		times[j] = t;
	}
	return times[TURNS / 2];
}

static void
measure(struct arena *arena, struct hone_copy_calibration *result)
{
	for (size_t n = SMALLEST; n <= LARGEST; n *= 2) {
		double keep[TURNS], stream[TURNS];
		size_t i = result->n_sizes++;

		for (int turn = 0; turn < TURNS; turn++) {
			keep[turn] = copy_and_read(arena, n, HONE_COPY_KEEP);
			stream[turn] =
				copy_and_read(arena, n, HONE_COPY_STREAM);
		}
		result->size[i] = n;
		result->keep_ns[i] = median(keep);
		result->stream_ns[i] = median(stream);
	}
}

/* The smallest size from which on streaming won every time. */
static size_t
find_threshold(const struct hone_copy_calibration *result)
{
	size_t threshold = SIZE_MAX;

	for (size_t i = result->n_sizes; i-- > 0;) {
		if (result->stream_ns[i] > result->keep_ns[i])
			break;
		threshold = result->size[i];
	}
	return threshold;
}

int
hone_copy_calibrate(struct hone_copy_calibration *result)
{
	struct hone_copy_calibration own;
	struct arena arena = {0};
	void *map = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return -ENOMEM;
	madvise(map, 2 * ARENA, MADV_HUGEPAGE);
	/* Written, so that no page of it is the one shared page of zeros. */
	memset(map, 0, 2 * ARENA);
	arena.from = map;
	arena.to = arena.from + ARENA;
	if (!result)
		result = &own;
	memset(result, 0, sizeof(*result));
	measure(&arena, result);
	munmap(map, 2 * ARENA);
	result->threshold = find_threshold(result);
	hone_copy_set_threshold(result->threshold);
	return 0;
}
