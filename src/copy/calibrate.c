/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what depends on the CPU, its caches, the memory and the load.
 *
 * First the choices of kept copies, by copies of data in the CPU caches: with
 * other data, the memory takes most of the time. The vectors of the loop come
 * before the sizes at which rep movsb is faster than this loop. Then the size
 * from which streaming is faster, by copies from and to memory that is in no
 * CPU cache, whose destination is read once. The kept ones of these copies are
 * made as all later ones will be.
 *
 * The two sides of a comparison alternate. The times of one size are far apart,
 * since all other sizes are between them. So what disturbs the machine for some
 * milliseconds changes few of them, and the median is another one.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <hone/cpu.h>
#include <hone/zero.h>
#include "copy.h"

#define ARENA ((size_t)64 << 20)
#define SMALLEST ((size_t)64 << 10)
#define LARGEST ((size_t)32 << 20)
/* Odd: the median is one of them. Cold copies take most of the time. */
#define TURNS 5
#define HOT_TURNS 9
#define MAX_SIZES 16 /* as in struct hone_copy_calibration */

#define HOT_SMALLEST ((size_t)4 << 10)
#define HOT_LARGEST ((size_t)16 << 20)
/* From above the 256 bytes that always have vectors of 32 bytes, to what an L1
 * holds twice. */
#define VECTOR_SMALLEST ((size_t)512)
#define VECTOR_LARGEST ((size_t)16 << 10)
/* Bytes from one destination to the next: the speed of vectors depends on the
 * alignment. Four destinations take turns. */
#define VECTOR_STEP 17
/* Bytes that are copied between two looks at the clock: the looks take less
 * than 1 % of the time. */
#define HOT_BATCH ((size_t)1 << 20)
/* From source to destination of a hot copy. No load has the same low twelve
 * address bits as a store shortly before it, as in bench/copy. */
#define HOT_APART 2112
/*
 * Noise alone must not choose. The medians are not enough: with other
 * load on a Zen 4, they gave 43 of 60 calibrations a range. With the number of
 * comparisons, 4 of the same 60 had one.
 */
#define CLEARLY_FASTER 0.95 /* most of the other way's time */
#define LEAST_CLEAR 7       /* of HOT_TURNS comparisons */
#define LEAST_SIZES 2       /* in a row */

struct arena {
	unsigned char *from, *to;
	size_t at; /* offset of the next copy; wraps at the end */
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double
median(double *times, int n)
{
	for (int i = 1; i < n; i++) {
		double t = times[i];
		int j = i;

		for (; j > 0 && times[j - 1] > t; j--)
			times[j] = times[j - 1];
		times[j] = t;
	}
	return times[n / 2];
}

/* The generic variant, which needs no feature, never uses rep movsb. */
static bool
has_rep_movsb(void)
{
#ifdef HONE_COPY_REP_MOVSB
	return hone_cpu_trait(HONE_CPU_TRAIT_ERMS) > 0 &&
	       hone_part_best(&hone_part_copy)->needs != 0;
#else
	return false;
#endif
}

static void
set_range(size_t min, size_t max)
{
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, min);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, max);
}

/* Two ways to make hot copies, beside one another. */
struct race {
	void (*choose)(int way);  /* 0 or 1 */
	size_t smallest, largest; /* bytes of a copy; doubled in between */
	size_t step;
	size_t *n_sizes, *size;
	double *ns[2];
	unsigned *n_clear[2]; /* comparisons in which the way was faster */
};

/*
 * At the end of the arena: its beginning must not be in a CPU cache when
 * measure() begins.
 */
static void
copy_hot(const struct arena *arena, size_t n, size_t copies, size_t step)
{
	unsigned char *to = arena->to + ARENA - n;
	const unsigned char *from = arena->from + ARENA - n - HOT_APART;

	for (size_t i = 0; i < copies; i++)
		hone_memcpy(to - i % 4 * step, from, n, HONE_COPY_KEEP);
}

/* One of several copies, in nanoseconds. */
static double
time_hot(const struct arena *arena, const struct race *race, size_t n, int way)
{
	size_t copies = n < HOT_BATCH ? HOT_BATCH / n : 1;
	double start;

	race->choose(way);
	start = now_ns();
	copy_hot(arena, n, copies, race->step);
	return (now_ns() - start) / (double)copies;
}

static bool
is_clear(double other_ns, double ns)
{
	return ns < other_ns * CLEARLY_FASTER;
}

static void
run(const struct arena *arena, const struct race *race)
{
	double ns[2][MAX_SIZES][HOT_TURNS];
	size_t n_sizes = 0;

	for (size_t n = race->smallest; n <= race->largest; n *= 2)
		race->size[n_sizes++] = n;
	*race->n_sizes = n_sizes;
	for (int turn = 0; turn < HOT_TURNS; turn++) {
		for (size_t i = 0; i < n_sizes; i++) {
			size_t n = race->size[i];
			int first = turn % 2;
			double *a = &ns[first][i][turn];
			double *b = &ns[!first][i][turn];

			race->choose(0);
			/* into the CPU caches */
			copy_hot(arena, n, 1, 0);
			*a = time_hot(arena, race, n, first);
			*b = time_hot(arena, race, n, !first);
			race->n_clear[first][i] += is_clear(*b, *a);
			race->n_clear[!first][i] += is_clear(*a, *b);
		}
	}
	for (int way = 0; way < 2; way++)
		for (size_t i = 0; i < n_sizes; i++)
			race->ns[way][i] = median(ns[way][i], HOT_TURNS);
}

static void
choose_vector(int way)
{
	hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, way ? 64 : 32);
}

static void
choose_rep_movsb(int way)
{
	set_range(0, way ? SIZE_MAX : 0);
}

/* Only the AVX-512 variant has vectors of 64 bytes beside those of 32. */
static bool
has_two_vectors(void)
{
	return hone_part_best(&hone_part_copy)->needs & HONE_CPU_AVX512F;
}

static void
find_vector(struct hone_copy_calibration *c)
{
	int wide = 0;

	for (size_t i = 0; i < c->n_vector; i++) {
		wide += c->n_clear64[i] >= LEAST_CLEAR;
		wide -= c->n_clear32[i] >= LEAST_CLEAR;
	}
	if (wide != 0)
		c->store_bytes = wide > 0 ? 64 : 32;
}

/*
 * The trait changes only if one width is clearly faster at more sizes than the
 * other. Without rep movsb, whose range is chosen next.
 */
static void
choose_vectors(const struct arena *arena, struct hone_copy_calibration *c)
{
	size_t before = hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES);
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN);
	size_t max = hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX);
	struct race race = {choose_vector, VECTOR_SMALLEST, VECTOR_LARGEST,
		VECTOR_STEP, &c->n_vector, c->vector_size,
		{c->vector32_ns, c->vector64_ns}, {c->n_clear32, c->n_clear64}};

	c->store_bytes = before;
	if (!has_two_vectors())
		return;
	set_range(0, 0);
	run(arena, &race);
	set_range(min, max);
	find_vector(c);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, c->store_bytes);
}

/* The share of the loop's time that rep movsb saves; 0 if it is not clear. */
static double
saving(const struct hone_copy_calibration *c, size_t i)
{
	if (!is_clear(c->loop_ns[i], c->rep_movsb_ns[i]) ||
		c->n_clear[i] < LEAST_CLEAR)
		return 0;
	return 1 - c->rep_movsb_ns[i] / c->loop_ns[i];
}

void
hone_copy_find_range(struct hone_copy_calibration *c)
{
	double most = 0;
	size_t first, end;

	c->rep_movsb_min = c->rep_movsb_max = 0;
	for (first = 0; first < c->n_hot; first = end + 1) {
		double sum = 0;

		for (end = first; end < c->n_hot && saving(c, end) > 0; end++)
			sum += saving(c, end);
		if (end - first < LEAST_SIZES || sum <= most)
			continue;
		most = sum;
		c->rep_movsb_min = c->hot_size[first];
		c->rep_movsb_max = c->hot_size[end - 1];
	}
}

static void
choose_range(const struct arena *arena, struct hone_copy_calibration *c)
{
	unsigned loop_clear[MAX_SIZES] = {0}; /* not reported */
	struct race race = {choose_rep_movsb, HOT_SMALLEST, HOT_LARGEST, 0,
		&c->n_hot, c->hot_size, {c->loop_ns, c->rep_movsb_ns},
		{loop_clear, c->n_clear}};

	if (has_rep_movsb()) {
		run(arena, &race);
		hone_copy_find_range(c);
		set_range(c->rep_movsb_min, c->rep_movsb_max);
		return;
	}
	c->rep_movsb_min = hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN);
	c->rep_movsb_max = hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX);
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
	/* Reads everything, since all bytes are zero. volatile: or the compiler
	 * would remove the call. */
	volatile size_t seen = hone_find_nonzero(arena->to + arena->at, n);

	(void)seen;
	arena->at += n;
	return now_ns() - start;
}

static void
measure(struct arena *arena, struct hone_copy_calibration *result)
{
	double keep[MAX_SIZES][TURNS], stream[MAX_SIZES][TURNS];

	for (size_t n = SMALLEST; n <= LARGEST; n *= 2)
		result->size[result->n_sizes++] = n;
	for (int turn = 0; turn < TURNS; turn++) {
		for (size_t i = 0; i < result->n_sizes; i++) {
			size_t n = result->size[i];

			keep[i][turn] = copy_and_read(arena, n, HONE_COPY_KEEP);
			stream[i][turn] =
				copy_and_read(arena, n, HONE_COPY_STREAM);
		}
	}
	for (size_t i = 0; i < result->n_sizes; i++) {
		result->keep_ns[i] = median(keep[i], TURNS);
		result->stream_ns[i] = median(stream[i], TURNS);
	}
}

/* The smallest size from which on streaming was faster at every size. */
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
	void *memory = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	madvise(memory, 2 * ARENA, MADV_HUGEPAGE);
	/* Written, so that no page is the shared zero page. */
	memset(memory, 0, 2 * ARENA);
	arena.from = memory;
	arena.to = arena.from + ARENA;
	if (!result)
		result = &own;
	memset(result, 0, sizeof(*result));
	choose_vectors(&arena, result);
	choose_range(&arena, result);
	measure(&arena, result);
	munmap(memory, 2 * ARENA);
	result->threshold = find_threshold(result);
	hone_copy_set_threshold(result->threshold);
	return 0;
}
