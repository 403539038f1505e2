/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calibration on a simulated clock, with simulated copies. The linker redirects
 * the library's calls to this file.
 */
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <hone/cpu.h>
#include <hone/zero.h>
#include "copy.h"
#include "support.h"

#define SIZES 10     /* 64 KiB to 32 MiB */
#define HOT_SIZES 13 /* 4 KiB to 16 MiB */
#define TURNS 5
#define HOT_TURNS 9
#define HOT_TIMES (HOT_SIZES * 2 * HOT_TURNS) /* before the cold ones */
/* Copies from there on must not find what hot copies left in a CPU cache. */
#define HOT_AREA ((size_t)16 << 20)

/* Nanoseconds of each copy. */
static struct {
	long keep[SIZES], stream[SIZES];
	long loop[HOT_SIZES], rep_movsb[HOT_SIZES];
	bool hot; /* hot copies must come first */
	/* of the times of each size, those of the bits that are set have a
	 * second more */
	uint32_t slow;
	int calls;
	size_t copies; /* since the last look at the clock */
	size_t warm;   /* bytes of the last hot copy outside of a time */
	struct timespec now;
	bool no_memory;
	size_t min, max; /* the range while the cold copies run */
	unsigned char *memory, *copied; /* the last cold copy */
	size_t n_copied;
	int n_read;
} world;

static bool
is_hot(int time)
{
	return world.hot && time < HOT_TIMES;
}

/* The sides change places from turn to turn. */
static int
side_of(int time)
{
	return is_hot(time) ? (time + time / 2 / HOT_SIZES) % 2 : time % 2;
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
	bool hot = is_hot(time);
	assert_int_equal(clock, CLOCK_MONOTONIC);
	if (world.calls++ % 2) {
		int sizes = hot ? HOT_SIZES : SIZES, size, side = side_of(time);

		time -= world.hot && !hot ? HOT_TIMES : 0;
		size = time / 2 % sizes;
		assert_in_range(
			time / 2 / sizes, 0, (hot ? HOT_TURNS : TURNS) - 1);
		bool slow = world.slow >> (time / 2 / sizes * 2 + side) & 1;

		if (hot)
			pass((long)world.copies * (side ? world.rep_movsb[size]
							: world.loop[size]),
				slow);
		else
			pass(side ? world.stream[size] : world.keep[size],
				slow);
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

/* In the place of every kept copy: whose choice is it, and where does it go? */
static void
keep(void *dst, const void *src, size_t n)
{
	int time = world.calls / 2;
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN);
	size_t max = hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX);
	/* From the beginning of one half of the memory. */
	size_t to = (size_t)((unsigned char *)dst - world.memory) % (64 << 20);
	size_t from = (size_t)((const unsigned char *)src - world.memory) %
		      (64 << 20);

	world.copies++;
	if (is_hot(time)) {
		bool rep_movsb = world.calls % 2 && side_of(time);

		/* One copy comes before both times. */
		if (world.calls % 2 == 0) {
			assert_int_equal(time % 2, 0);
			assert_int_equal(world.copies, 1);
			world.warm = n;
		}
		assert_int_equal(world.warm, n);
		assert_int_equal(min, 0);
		assert_int_equal(max, rep_movsb ? SIZE_MAX : 0);
		assert_in_range(to, (64 << 20) - HOT_AREA, (64 << 20) - n);
		/* less than a page before the other half's place */
		assert_in_range(
			from, (64 << 20) - HOT_AREA - 4096, (64 << 20) - n);
		assert_int_not_equal(
			(uintptr_t)dst % 4096, (uintptr_t)src % 4096);
		return;
	}
	assert_int_equal(world.calls % 2, 1);
	assert_int_equal(min, world.min);
	assert_int_equal(max, world.max);
	assert_int_equal(world.copies, 1);
	if (n <= 1 << 20)
		assert_true(to + n <= 3 * HOT_AREA);
	world.copied = dst;
	world.n_copied = n;
}

/* The library's own calls: only cold copies are streamed. */
STANDS_FOR(void, hone_detail_memcpy, void *dst, const void *src, size_t n,
	int policy)
{
	(void)src;
	assert_int_equal(policy, HONE_COPY_STREAM);
	assert_false(is_hot(world.calls / 2));
	assert_int_equal(side_of(world.calls / 2), 1);
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

static unsigned
clear_comparisons(size_t i)
{
	unsigned n = 0;

	for (int turn = 0; turn < HOT_TURNS; turn++) {
		uint32_t slow = world.slow >> 2 * turn;

		n += slow % 4 ? slow % 4 == 1
			      : world.rep_movsb[i] * 100 < world.loop[i] * 95;
	}
	return n;
}

static void
calibrate(struct hone_copy_calibration *c)
{
	world.calls = world.n_read = 0;
	assert_int_equal(hone_copy_calibrate(c), 0);
	assert_int_equal(world.n_read, 2 * TURNS * SIZES);
	assert_int_equal(c->n_sizes, SIZES);
	assert_int_equal(c->n_hot, world.hot ? HOT_SIZES : 0);
	assert_int_equal(world.calls,
		2 * (2 * TURNS * SIZES + (world.hot ? HOT_TIMES : 0)));
	for (int i = 0; i < SIZES; i++) {
		assert_int_equal(c->size[i], (size_t)65536 << i);
		assert_int_equal((long)c->keep_ns[i], world.keep[i]);
		assert_int_equal((long)c->stream_ns[i], world.stream[i]);
	}
	for (size_t i = 0; i < c->n_hot; i++) {
		assert_int_equal(c->hot_size[i], (size_t)4096 << i);
		assert_int_equal((long)c->loop_ns[i], world.loop[i]);
		assert_int_equal((long)c->rep_movsb_ns[i], world.rep_movsb[i]);
		assert_int_equal(c->n_clear[i], clear_comparisons(i));
	}
	assert_int_equal(hone_copy_threshold(), c->threshold);
	assert_int_equal(c->rep_movsb_min, world.min);
	assert_int_equal(c->rep_movsb_max, world.max);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN), world.min);
	assert_int_equal(
		hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX), world.max);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(c->reserved[i], 0);
}

/* Streaming is faster at those sizes. */
static size_t
threshold_for(const bool faster[SIZES])
{
	struct hone_copy_calibration c;
	for (int i = 0; i < SIZES; i++) {
		world.keep[i] = 1000 * (i + 1);
		world.stream[i] = world.keep[i] + (faster[i] ? -1 : 1);
	}
	calibrate(&c);
	return c.threshold;
}

static void
the_threshold_is_where_streaming_becomes_faster_for_good(void **state)
{
	bool faster[SIZES] = {false};

	(void)state;
	assert_int_equal(threshold_for(faster), SIZE_MAX);
	faster[2] = true; /* not for good */
	assert_int_equal(threshold_for(faster), SIZE_MAX);
	faster[SIZES - 1] = true;
	assert_int_equal(threshold_for(faster), (size_t)32 << 20);
	for (int i = 0; i < SIZES; i++)
		faster[i] = i >= 4;
	assert_int_equal(threshold_for(faster), (size_t)1 << 20);
	for (int i = 0; i < SIZES; i++)
		faster[i] = true;
	assert_int_equal(threshold_for(faster), (size_t)64 << 10);
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
one_slow_copy_of_each_size_changes_nothing(void **state)
{
	bool faster[SIZES] = {false};

	(void)state;
	faster[SIZES - 1] = true;
	make_faster(4, 7);
	for (int i = 0; i < 2 * HOT_TURNS; i++) {
		world.slow = UINT32_C(1) << i;
		assert_int_equal(threshold_for(faster), (size_t)32 << 20);
	}
	world.slow = 0;
}

/* The median of rep movsb would be clearly lower. */
static void
three_comparisons_that_differ_leave_no_range(void **state)
{
	struct hone_copy_calibration c;

	(void)state;
	make_faster(4, 7);
	/* Two times of rep movsb. There are fewer turns of cold copies. */
	world.slow = 1 << 13 | 1 << 15;
	calibrate(&c);
	world.slow |= 1 << 17;
	world.min = world.max = 0;
	calibrate(&c);
	world.slow = 0;
}

static void
the_range_that_was_measured_becomes_the_traits(void **state)
{
	struct hone_copy_calibration c;

	(void)state;
	make_faster(0, HOT_SIZES - 1);
	calibrate(&c);
	make_faster(3, 4);
	calibrate(&c);
	make_faster(1, 0); /* never */
	world.rep_movsb[5] = world.loop[5] / 100 * 96;
	calibrate(&c);
}

/* As on a CPU whose row has a range that is not measured. */
static void
what_is_not_measured_is_not_changed(void)
{
	struct hone_copy_calibration c;
	bool before = world.hot;

	world.hot = false;
	world.min = 12345;
	world.max = 67890;
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, 12345);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, 67890);
	calibrate(&c);
	world.hot = before;
	make_faster(1, 0);
}

static void
without_erms_the_range_stays(void **state)
{
	(void)state;
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 0);
	what_is_not_measured_is_not_changed();
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 1);
}

static void
under_a_limit_to_the_generic_variant_the_range_stays(void **state)
{
	(void)state;
	hone_cpu_limit(0);
	replace_kept_copies();
	what_is_not_measured_is_not_changed();
	hone_cpu_limit(HONE_CPU_ALL);
	replace_kept_copies();
}

static void
without_memory_everything_stays(void **state)
{
	struct hone_copy_calibration c = {.n_sizes = 77};

	(void)state;
	hone_copy_set_threshold(12345);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, 23456);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, 34567);
	world.no_memory = true;
	assert_int_equal(hone_copy_calibrate(&c), -ENOMEM);
	world.no_memory = false;
	assert_int_equal(hone_copy_threshold(), 12345);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN), 23456);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX), 34567);
	assert_int_equal(c.n_sizes, 77);
	hone_copy_set_threshold(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_threshold_is_where_streaming_becomes_faster_for_good),
		cmocka_unit_test(one_slow_copy_of_each_size_changes_nothing),
		cmocka_unit_test(three_comparisons_that_differ_leave_no_range),
		cmocka_unit_test(
			the_range_that_was_measured_becomes_the_traits),
		cmocka_unit_test(without_erms_the_range_stays),
		cmocka_unit_test(
			under_a_limit_to_the_generic_variant_the_range_stays),
		cmocka_unit_test(without_memory_everything_stays),
	};

#ifdef HONE_COPY_REP_MOVSB
	world.hot = true;
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 1);
#endif
	make_faster(1, 0);
	replace_kept_copies();
	return cmocka_run_group_tests_name("copy-calibrate", tests, NULL, NULL);
}
