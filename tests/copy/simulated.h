/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_COPY_SIMULATED_H
#define HONE_TESTS_COPY_SIMULATED_H
/*
 * Calibration on a simulated clock, with simulated copies. The linker redirects
 * the library's calls to this file.
 */
#include <sys/mman.h>
#include <time.h>
#include <hone/cpu.h>
#include <hone/zero.h>
#include "copy.h"
#include "support.h"

#define SIZES 10       /* 64 KiB to 32 MiB */
#define HOT_SIZES 13   /* 4 KiB to 16 MiB */
#define VECTOR_SIZES 6 /* 512 bytes to 16 KiB */
#define TURNS 5
#define HOT_TURNS 9
/* The copies for vectors come first, then those for rep movsb. */
#define VECTOR_TIMES (VECTOR_SIZES * 2 * HOT_TURNS)
#define HOT_TIMES (HOT_SIZES * 2 * HOT_TURNS)
/* Copies from there on must not find what hot copies left in a CPU cache. */
#define HOT_AREA ((size_t)16 << 20)

/* Nanoseconds of each copy. */
static struct {
	long keep[SIZES], stream[SIZES];
	long loop[HOT_SIZES], rep_movsb[HOT_SIZES];
	long vector32[VECTOR_SIZES], vector64[VECTOR_SIZES];
	bool wide;   /* there are two vectors to choose from */
	bool hot;    /* rep movsb must be measured */
	bool simple; /* only the generic variant is allowed */
	/* of the times of each size, those of the bits that are set have a
	 * second more */
	uint32_t slow;
	int calls;
	size_t copies; /* since the last look at the clock */
	size_t warm;   /* bytes of the last hot copy outside of a time */
	struct timespec now;
	bool no_memory;
	/* the traits while the cold copies run */
	size_t min, max, store;
	unsigned char *memory, *copied; /* the last cold copy */
	size_t n_copied;
	int n_read;
} world;

#ifdef HONE_COPY_REP_MOVSB
static const bool has_rep_movsb = true;
#else
static const bool has_rep_movsb = false;
#endif

static struct hone_variant best = {"simulated", HONE_CPU_AVX2};

/* The CPU of the simulation. */
STANDS_FOR(const struct hone_variant *, hone_part_best,
	const struct hone_part *part)
{
	if (world.simple || part != &hone_part_copy)
		return __real_hone_part_best(part);
	best.needs = world.wide ? HONE_CPU_AVX512F : HONE_CPU_AVX2;
	return &best;
}

enum phase { VECTORS, HOT, COLD };

/* Sets *time to the number of the time in its phase. */
static enum phase
phase_of(int *time)
{
	if (world.wide) {
		if (*time < VECTOR_TIMES)
			return VECTORS;
		*time -= VECTOR_TIMES;
	}
	if (world.hot) {
		if (*time < HOT_TIMES)
			return HOT;
		*time -= HOT_TIMES;
	}
	return COLD;
}

static const int n_sizes[] = {VECTOR_SIZES, HOT_SIZES, SIZES};

/* The two sides of hot copies change places from turn to turn. */
static int
side_of(enum phase phase, int time)
{
	return phase == COLD ? time % 2
			     : (time + time / 2 / n_sizes[phase]) % 2;
}

static void
pass(long ns, bool slow)
{
	world.now.tv_nsec += ns;
	world.now.tv_sec += slow + world.now.tv_nsec / 1000000000;
	world.now.tv_nsec %= 1000000000;
}

/*
 * The clock is read before and after each time. The two sides alternate, and a
 * turn has all sizes.
 */
STANDS_FOR(int, clock_gettime, clockid_t clock, struct timespec *now)
{
	int time = world.calls / 2;
	enum phase phase = phase_of(&time);
	assert_int_equal(clock, CLOCK_MONOTONIC);
	if (world.calls++ % 2) {
		int side = side_of(phase, time);
		int size = time / 2 % n_sizes[phase];
		int turn = time / 2 / n_sizes[phase];
		const long *ns[3][2] = {{world.vector32, world.vector64},
			{world.loop, world.rep_movsb},
			{world.keep, world.stream}};

		assert_in_range(
			turn, 0, (phase == COLD ? TURNS : HOT_TURNS) - 1);
		pass((long)(phase == COLD ? 1 : world.copies) *
				ns[phase][side][size],
			world.slow >> (turn * 2 + side) & 1);
	}
	world.copies = 0;
	*now = world.now;
	return 0;
}

STANDS_FOR(void *, mmap64, void *addr, size_t size, int prot, int flags, int fd,
	off_t at)
{
	world.memory = world.no_memory
			       ? MAP_FAILED
			       : __real_mmap64(addr, size, prot, flags, fd, at);
	return world.memory;
}

/* In a copy's half of the memory. */
static size_t
place_of(const void *at)
{
	return (size_t)((const unsigned char *)at - world.memory) % (64 << 20);
}

/* One of those that decide about vectors or rep movsb. */
static void
keep_hot(enum phase phase, int time, size_t to, size_t from, size_t n)
{
	bool second = world.calls % 2 && side_of(phase, time);
	size_t step = (size_t)((64 << 20) - n - to);

	/* One copy comes before both times. */
	if (world.calls % 2 == 0) {
		assert_int_equal(time % 2, 0);
		assert_int_equal(world.copies, 1);
		world.warm = n;
	}
	assert_int_equal(world.warm, n);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN), 0);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX),
		second && phase == HOT ? SIZE_MAX : 0);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES),
		phase == HOT ? world.store
		: second     ? 64
			     : 32);
	/* Four alignments, one after the other. */
	assert_int_equal(step, phase == HOT ? 0 : (world.copies - 1) % 4 * 17);
	/* less than a page before the other half's place */
	assert_in_range(from, (64 << 20) - HOT_AREA - 4096, (64 << 20) - n);
	assert_int_not_equal((to + step) % 4096, from % 4096);
}

/* In the place of every kept copy: whose choice is it, and where does it go? */
static void
keep(void *dst, const void *src, size_t n)
{
	int time = world.calls / 2;
	enum phase phase = phase_of(&time);
	size_t to = place_of(dst);

	world.copies++;
	if (phase != COLD) {
		keep_hot(phase, time, to, place_of(src), n);
		return;
	}
	assert_int_equal(world.calls % 2, 1);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN), world.min);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX), world.max);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES), world.store);
	assert_int_equal(world.copies, 1);
	if (n <= 1 << 20)
		assert_true(to + n <= 3 * HOT_AREA);
	world.copied = dst;
	world.n_copied = n;
}

/* A trait that is set has the library choose again. */
STANDS_FOR(void, hone_cpu_set_trait, unsigned trait, size_t value)
{
	__real_hone_cpu_set_trait(trait, value);
	hone_detail_copy_keep = keep;
}

/* The library's own calls: only cold copies are streamed. */
STANDS_FOR(void, hone_detail_memcpy, void *dst, const void *src, size_t n,
	int policy)
{
	(void)src;
	int time = world.calls / 2;

	assert_int_equal(policy, HONE_COPY_STREAM);
	assert_int_equal(phase_of(&time), COLD);
	assert_int_equal(side_of(COLD, time), 1);
	world.copies++;
	world.copied = dst;
	world.n_copied = n;
}

/* All of a cold copy is read before the next look at the clock. */
STANDS_FOR(size_t, hone_find_nonzero, const void *memory, size_t n)
{
	assert_int_equal(world.calls % 2, 1);
	assert_int_equal(world.copies, 1);
	assert_ptr_equal(memory, world.copied);
	assert_int_equal(n, world.n_copied);
	world.n_read++;
	return n;
}

/* The first copy that is not inline installs a variant. */
static void
replace_kept_copies(void)
{
	static unsigned char from[HONE_COPY_STREAM_MIN];
	static unsigned char to[HONE_COPY_STREAM_MIN];

	__real_hone_detail_memcpy(to, from, sizeof(to), HONE_COPY_STREAM);
	hone_detail_copy_keep = keep;
}

/* In how many comparisons the side 0 or 1 is clearly faster. */
static unsigned
clear_comparisons(const long ns[2], int side)
{
	unsigned n = 0;

	for (int turn = 0; turn < HOT_TURNS; turn++) {
		uint32_t slow = world.slow >> 2 * turn & 3;

		n += slow ? slow == 1u << !side
			  : ns[side] * 100 < ns[!side] * 95;
	}
	return n;
}

/* Of copies with n sizes from `smallest` on, by two ways. */
static void
must_be_reported(size_t n, size_t smallest, const size_t *size,
	const long *const world_ns[2], const double *const ns[2],
	const unsigned *const n_clear[2])
{
	for (size_t i = 0; i < n; i++) {
		const long want[] = {world_ns[0][i], world_ns[1][i]};

		assert_int_equal(size[i], smallest << i);
		for (int side = 0; side < 2; side++) {
			assert_int_equal((long)ns[side][i], want[side]);
			if (n_clear[side])
				assert_int_equal(n_clear[side][i],
					clear_comparisons(want, side));
		}
	}
}

static void
hot_copies_must_be_reported(const struct hone_copy_calibration *c)
{
	const long *hot[] = {world.loop, world.rep_movsb};
	const double *hot_ns[] = {c->loop_ns, c->rep_movsb_ns};
	const unsigned *hot_clear[] = {NULL, c->n_clear};
	const long *vector[] = {world.vector32, world.vector64};
	const double *vector_ns[] = {c->vector32_ns, c->vector64_ns};
	const unsigned *vector_clear[] = {c->n_clear32, c->n_clear64};

	assert_int_equal(c->n_hot, world.hot ? HOT_SIZES : 0);
	must_be_reported(c->n_hot, 4096, c->hot_size, hot, hot_ns, hot_clear);
	assert_int_equal(c->n_vector, world.wide ? VECTOR_SIZES : 0);
	must_be_reported(c->n_vector, 512, c->vector_size, vector, vector_ns,
		vector_clear);
}

static void
calibrate(struct hone_copy_calibration *c)
{
	int times = 2 * TURNS * SIZES + (world.hot ? HOT_TIMES : 0) +
		    (world.wide ? VECTOR_TIMES : 0);

	world.calls = world.n_read = 0;
	assert_int_equal(hone_copy_calibrate(c), 0);
	assert_int_equal(world.n_read, 2 * TURNS * SIZES);
	assert_int_equal(world.calls, 2 * times);
	assert_int_equal(c->n_sizes, SIZES);
	for (int i = 0; i < SIZES; i++) {
		assert_int_equal(c->size[i], (size_t)65536 << i);
		assert_int_equal((long)c->keep_ns[i], world.keep[i]);
		assert_int_equal((long)c->stream_ns[i], world.stream[i]);
	}
	hot_copies_must_be_reported(c);
	assert_int_equal(hone_copy_threshold(), c->threshold);
	assert_int_equal(c->rep_movsb_min, world.min);
	assert_int_equal(c->rep_movsb_max, world.max);
	assert_int_equal(c->store_bytes, world.store);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN), world.min);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX), world.max);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES), world.store);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(c->reserved[i], 0);
}

/* rep movsb is faster from size `first` to size `last`. */
static void
make_faster(int first, int last)
{
	for (int i = 0; i < HOT_SIZES; i++) {
		world.loop[i] = 1000 * (i + 1);
		world.rep_movsb[i] =
			world.loop[i] / 10 * (i >= first && i <= last ? 9 : 11);
	}
	if (!world.hot)
		return;
	world.min = first <= last ? (size_t)4096 << first : 0;
	world.max = first <= last ? (size_t)4096 << last : 0;
}

static void
begin(void)
{
	world.hot = has_rep_movsb;
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 1);
	world.store = hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES);
	make_faster(1, 0);
	replace_kept_copies();
}

#endif
