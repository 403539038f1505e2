/* SPDX-License-Identifier: BSD-3-Clause */
/* Calibration: the range of rep movsb, and the threshold. */
#include <errno.h>
#include "simulated.h"

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
	world.simple = true;
	hone_cpu_limit(0);
	replace_kept_copies();
	what_is_not_measured_is_not_changed();
	hone_cpu_limit(HONE_CPU_ALL);
	world.simple = false;
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

	begin();
	return cmocka_run_group_tests_name("copy-calibrate", tests, NULL, NULL);
}
