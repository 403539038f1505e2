/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times copies. The times depend on the CPU, its caches, the memory and the
 * load.
 *
 * The choices of kept copies are measured by copies of data in the CPU caches:
 * with other data, the memory takes most of the time. The size from which
 * streaming is faster is measured by copies from and to memory that is not in a
 * CPU cache. The destination is read once.
 *
 * The two sides of a comparison alternate. All other sizes are measured between
 * two times of one size. So a disturbance of some milliseconds changes few
 * times of a size, and their median is not changed.
 */
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <hone/hone.h>
#include "calibrate/calibrate.h"

#define ARENA ((size_t)64 << 20)
#define COLD_SMALLEST ((size_t)64 << 10)
#define COLD_LARGEST ((size_t)32 << 20)
/* Cold copies take most of the time. */
#define COLD_TURNS 5

#define HOT_SMALLEST ((size_t)4 << 10)
#define HOT_LARGEST ((size_t)16 << 20)
/*
 * Copies of up to 256 bytes always have vectors of 32 bytes. An L1 cache holds
 * source and destination of the largest size.
 */
#define VECTOR_SMALLEST ((size_t)512)
#define VECTOR_LARGEST ((size_t)16 << 10)
/* Bytes from one destination to the next: the speed of vectors depends on the
 * alignment. Four destinations take turns. */
#define VECTOR_STEP 17
/*
 * Bytes that are copied between two reads of the clock, which take less than a
 * hundredth of the time.
 */
#define HOT_BATCH ((size_t)1 << 20)
/* From source to destination of a hot copy. No load has the same low twelve
 * address bits as a store shortly before it, as in bench/copy. */
#define HOT_APART 2112

bool
calibrate_open(struct arena *arena)
{
	void *memory = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	madvise(memory, 2 * ARENA, MADV_HUGEPAGE);
	/* Written, so that no page is the shared zero page. */
	memset(memory, 0, 2 * ARENA);
	arena->from = memory;
	arena->to = arena->from + ARENA;
	return true;
}

void
calibrate_close(struct arena *arena)
{
	munmap(arena->from, 2 * ARENA);
}

double
calibrate_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

bool
calibrate_has(enum calibrate_kind kind)
{
	const char *variant = hone_cpu_variant("copy");

	switch (kind) {
	case CALIBRATE_VECTORS:
		return strcmp(variant, "avx512") == 0;
	case CALIBRATE_REP_MOVSB:
#ifdef __x86_64__
		return strcmp(variant, "generic") != 0;
#else
		return false;
#endif
	default:
		return true;
	}
}

/* Set the traits so that the library makes hot copies by way 0 or 1. */
static void
force(enum calibrate_kind kind, int way)
{
	bool by_string = kind == CALIBRATE_REP_MOVSB && way == 1;

	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, 0);
	hone_cpu_set_trait(
		HONE_CPU_TRAIT_REP_MOVSB_MAX, by_string ? SIZE_MAX : 0);
	if (kind == CALIBRATE_VECTORS)
		hone_cpu_set_trait(
			HONE_CPU_TRAIT_STORE_BYTES, way == 1 ? 64 : 32);
}

/*
 * Uses the end of the arena, because its beginning must not be in a CPU cache
 * when the cold copies begin.
 */
static void
copy_hot(const struct arena *arena, size_t n, size_t copies, size_t step)
{
	unsigned char *to = arena->to + ARENA - n;
	const unsigned char *from = arena->from + ARENA - n - HOT_APART;

	for (size_t i = 0; i < copies; i++)
		hone_memcpy(to - i % 4 * step, from, n, HONE_COPY_KEEP);
}

/* Returns the time of one of several copies, in nanoseconds. */
static double
time_hot(const struct arena *arena, enum calibrate_kind kind, size_t n, int way)
{
	size_t copies = n < HOT_BATCH ? HOT_BATCH / n : 1;
	size_t step = kind == CALIBRATE_VECTORS ? VECTOR_STEP : 0;
	double start;

	force(kind, way);
	start = calibrate_now_ns();
	copy_hot(arena, n, copies, step);
	return (calibrate_now_ns() - start) / (double)copies;
}

/* Returns the time of one copy and one read, in nanoseconds. */
static double
time_cold(struct arena *arena, size_t n, int way)
{
	int policy = way == 1 ? HONE_COPY_STREAM : HONE_COPY_KEEP;
	double start;

	if (arena->at + n > ARENA)
		arena->at = 0;
	start = calibrate_now_ns();
	hone_memcpy(arena->to + arena->at, arena->from + arena->at, n, policy);
	/* Reads all bytes, because all are zero. Without volatile, the compiler
	 * would remove the call. */
	volatile size_t seen = hone_find_nonzero(arena->to + arena->at, n);

	(void)seen;
	arena->at += n;
	return calibrate_now_ns() - start;
}

static void
begin(struct race *race, size_t smallest, size_t largest, int turns)
{
	race->smallest = smallest;
	race->n_turns = turns;
	race->n_sizes = 0;
	for (size_t n = smallest; n <= largest; n *= 2)
		race->n_sizes++;
}

static void
measure_hot(struct arena *arena, enum calibrate_kind kind, struct race *race)
{
	for (int turn = 0; turn < race->n_turns; turn++) {
		/* The order alternates, because the first way changes the CPU
		 * caches for the second. */
		int first = turn % 2;

		for (size_t i = 0; i < race->n_sizes; i++) {
			size_t n = race->smallest << i;

			force(kind, 0);
			/* load the data into the CPU caches */
			copy_hot(arena, n, 1, 0);
			race->ns[first][i][turn] =
				time_hot(arena, kind, n, first);
			race->ns[!first][i][turn] =
				time_hot(arena, kind, n, !first);
		}
	}
}

static void
measure_cold(struct arena *arena, struct race *race)
{
	arena->at = 0;
	for (int turn = 0; turn < race->n_turns; turn++) {
		for (size_t i = 0; i < race->n_sizes; i++) {
			size_t n = race->smallest << i;

			race->ns[0][i][turn] = time_cold(arena, n, 0);
			race->ns[1][i][turn] = time_cold(arena, n, 1);
		}
	}
}

void
calibrate_measure(
	struct arena *arena, enum calibrate_kind kind, struct race *race)
{
	if (kind == CALIBRATE_STREAMS) {
		begin(race, COLD_SMALLEST, COLD_LARGEST, COLD_TURNS);
		measure_cold(arena, race);
		return;
	}
	if (kind == CALIBRATE_VECTORS)
		begin(race, VECTOR_SMALLEST, VECTOR_LARGEST, CALIBRATE_TURNS);
	else
		begin(race, HOT_SMALLEST, HOT_LARGEST, CALIBRATE_TURNS);
	measure_hot(arena, kind, race);
}
