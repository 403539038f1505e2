/* SPDX-License-Identifier: BSD-3-Clause */
/* The range of rep movsb that is chosen from measured times. */
#include <stdio.h>
#include <string.h>
#include "copy.h"
#include "support.h"

#define MOST 16
#define ROUNDS 20000

static struct hone_copy_calibration c;

/* Each size takes the loop 1000 ns, and rep movsb what the list says. */
static void
measured(size_t n, const int *rep_movsb)
{
	memset(&c, 0xff, sizeof(c));
	c.n_hot = n;
	for (size_t i = 0; i < n; i++) {
		c.hot_size[i] = (size_t)4096 << i;
		c.loop_ns[i] = 1000;
		c.rep_movsb_ns[i] = rep_movsb[i];
		c.n_clear[i] = rep_movsb[i] < 950 ? 7 : 9;
	}
	hone_copy_find_range(&c);
}

#define MEASURED(...)                                                          \
	do {                                                                   \
		static const int times[] = {__VA_ARGS__};                      \
		measured(sizeof(times) / sizeof(times[0]), times);             \
	} while (0)

/* By number of the size; -1 and -1 is no range. */
static void
range_must_be(int first, int last)
{
	assert_int_equal(
		c.rep_movsb_min, first < 0 ? 0 : (size_t)4096 << first);
	assert_int_equal(c.rep_movsb_max, last < 0 ? 0 : (size_t)4096 << last);
}

static void
a_size_counts_if_it_saves_more_than_5_per_cent(void **state)
{
	(void)state;
	MEASURED(1000, 1000, 1000, 1000);
	range_must_be(-1, -1);
	MEASURED(1200, 950, 950, 1200);
	range_must_be(-1, -1);
	MEASURED(1200, 949, 949, 1200);
	range_must_be(1, 2);
	MEASURED(1200, 949, 951, 1200);
	range_must_be(-1, -1);
}

static void
a_size_counts_if_7_of_9_comparisons_are_clear(void **state)
{
	(void)state;
	MEASURED(900, 900, 900, 900);
	c.n_clear[1] = 6;
	hone_copy_find_range(&c);
	range_must_be(2, 3);
	c.n_clear[2] = 0;
	hone_copy_find_range(&c);
	range_must_be(-1, -1);
	c.n_clear[1] = 7;
	c.n_clear[2] = 9;
	hone_copy_find_range(&c);
	range_must_be(0, 3);
}

static void
one_size_alone_is_no_range(void **state)
{
	(void)state;
	MEASURED(500);
	range_must_be(-1, -1);
	MEASURED(500, 1000, 500, 1000, 500);
	range_must_be(-1, -1);
}

static void
a_range_may_reach_either_end(void **state)
{
	(void)state;
	MEASURED(900, 900, 1000, 1000);
	range_must_be(0, 1);
	MEASURED(1000, 1000, 900, 900);
	range_must_be(2, 3);
	MEASURED(900, 900, 900, 900);
	range_must_be(0, 3);
}

static void
the_range_that_saves_most_is_chosen(void **state)
{
	(void)state;
	MEASURED(900, 900, 900, 1000, 500, 500);
	range_must_be(4, 5);
	MEASURED(500, 500, 1000, 900, 900, 900);
	range_must_be(0, 1);
	MEASURED(900, 900, 1000, 900, 900, 900);
	range_must_be(3, 5);
	MEASURED(900, 900, 1000, 900, 900);
	range_must_be(0, 1);
}

static void
no_times_are_no_range(void **state)
{
	static const int zeros[MOST];

	(void)state;
	measured(0, zeros);
	range_must_be(-1, -1);
	/* A clock that stands still. */
	measured(MOST, zeros);
	for (size_t i = 0; i < MOST; i++)
		c.loop_ns[i] = 0;
	hone_copy_find_range(&c);
	range_must_be(-1, -1);
}

/* Every pair of ends, in thousandths of the time. */
static void
model(size_t n, const int *rep_movsb, int *first, int *last)
{
	int most = 0;

	*first = *last = -1;
	for (size_t i = 0; i < n; i++) {
		int sum = 0;

		for (size_t k = i; k < n && rep_movsb[k] < 950; k++) {
			sum += 1000 - rep_movsb[k];
			if (k > i && sum > most) {
				most = sum;
				*first = (int)i;
				*last = (int)k;
			}
		}
	}
}

static void
random_times_give_the_range_of_the_model(void **state)
{
	uint64_t random = support_seed();

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = support_below(&random, MOST + 1);
		int times[MOST], first, last;

		/* Eighths: sums of them are exact in a double. */
		for (size_t i = 0; i < n; i++)
			times[i] = 500 + 125 * (int)support_below(&random, 5);
		measured(n, times);
		model(n, times, &first, &last);
		range_must_be(first, last);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_size_counts_if_it_saves_more_than_5_per_cent),
		cmocka_unit_test(a_size_counts_if_7_of_9_comparisons_are_clear),
		cmocka_unit_test(one_size_alone_is_no_range),
		cmocka_unit_test(a_range_may_reach_either_end),
		cmocka_unit_test(the_range_that_saves_most_is_chosen),
		cmocka_unit_test(no_times_are_no_range),
		cmocka_unit_test(random_times_give_the_range_of_the_model),
	};

	return cmocka_run_group_tests_name("copy-range", tests, NULL, NULL);
}
