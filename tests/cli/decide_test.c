/* SPDX-License-Identifier: BSD-3-Clause */
/* hone cpu --calibrate: what times choose. No test depends on real times. */
#include <stdint.h>
#include <string.h>
#include "calibrate/calibrate.h"
#include "support.h"

#define TURNS CALIBRATE_TURNS
#define MOST CALIBRATE_SIZES
#define RANDOM_RACES 20000

static struct race race;

/* Way 0 takes 1000 ns at each size, way 1 what the list says. */
static void
measured(size_t n, const int *times)
{
	memset(&race, 0xff, sizeof(race));
	race.n_sizes = n;
	race.smallest = 4096;
	race.n_turns = TURNS;
	for (size_t i = 0; i < n; i++)
		for (int turn = 0; turn < TURNS; turn++) {
			race.ns[0][i][turn] = 1000;
			race.ns[1][i][turn] = times[i];
		}
}

#define MEASURED(...)                                                          \
	do {                                                                   \
		static const int times[] = {__VA_ARGS__};                      \
		measured(sizeof(times) / sizeof(times[0]), times);             \
	} while (0)

/* The first `turns` comparisons at a size are other ones. */
static void
disturb(int way, size_t size, int turns, double ns)
{
	for (int turn = 0; turn < turns; turn++)
		race.ns[way][size][turn] = ns;
}

static void
choice_must_be(enum calibrate_kind kind, size_t min, size_t max)
{
	struct choice choice = calibrate_decide(kind, &race);

	assert_int_equal(choice.min, min);
	assert_int_equal(choice.max, max);
}

/* By number of the size; -1 and -1 is no range. */
static void
range_must_be(int first, int last)
{
	choice_must_be(CALIBRATE_REP_MOVSB,
		first < 0 ? 0 : (size_t)4096 << first,
		last < 0 ? 0 : (size_t)4096 << last);
}

static void
vectors_must_be(size_t bytes)
{
	choice_must_be(CALIBRATE_VECTORS, bytes, SIZE_MAX);
}

static void
threshold_must_be(size_t bytes)
{
	choice_must_be(CALIBRATE_STREAMS, bytes, SIZE_MAX);
}

TEST(a_size_counts_if_it_saves_more_than_5_per_cent)
{
	MEASURED(1000, 1000, 1000, 1000);
	range_must_be(-1, -1);
	MEASURED(1200, 950, 950, 1200);
	range_must_be(-1, -1);
	MEASURED(1200, 949, 949, 1200);
	range_must_be(1, 2);
	MEASURED(1200, 949, 951, 1200);
	range_must_be(-1, -1);
}

TEST(a_size_counts_if_7_of_9_comparisons_are_clear)
{
	MEASURED(900, 900, 900, 900);
	disturb(1, 1, 2, 960);
	range_must_be(0, 3);
	disturb(1, 1, 3, 960);
	range_must_be(2, 3);
	disturb(1, 2, 3, 2000);
	range_must_be(-1, -1);
}

/* Seven comparisons with a slow loop, but medians as good as equal. */
TEST(a_size_does_not_count_if_the_medians_are_not_clear)
{
	MEASURED(900, 900);
	for (int turn = 0; turn < TURNS; turn++) {
		race.ns[1][0][turn] = turn < 4 ? 700 : turn < 7 ? 970 : 1060;
		race.ns[0][0][turn] = turn < 4 ? 1000 : turn < 7 ? 1100 : 1010;
	}
	range_must_be(-1, -1);
	disturb(1, 0, TURNS, 700);
	range_must_be(0, 1);
}

TEST(one_size_alone_is_no_range)
{
	MEASURED(500);
	range_must_be(-1, -1);
	MEASURED(500, 1000, 500, 1000, 500);
	range_must_be(-1, -1);
}

TEST(a_range_may_reach_either_end)
{
	MEASURED(900, 900, 1000, 1000);
	range_must_be(0, 1);
	MEASURED(1000, 1000, 900, 900);
	range_must_be(2, 3);
	MEASURED(900, 900, 900, 900);
	range_must_be(0, 3);
}

TEST(the_range_that_saves_most_is_chosen)
{
	MEASURED(900, 900, 900, 1000, 500, 500);
	range_must_be(4, 5);
	MEASURED(500, 500, 1000, 900, 900, 900);
	range_must_be(0, 1);
	MEASURED(900, 900, 1000, 900, 900, 900);
	range_must_be(3, 5);
	MEASURED(900, 900, 1000, 900, 900);
	range_must_be(0, 1);
}

TEST(a_clock_that_stands_still_chooses_nothing)
{
	static const int zeros[MOST];

	measured(MOST, zeros);
	for (size_t i = 0; i < MOST; i++)
		disturb(0, i, TURNS, 0);
	range_must_be(-1, -1);
	vectors_must_be(0);
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

TEST(random_times_give_the_range_of_the_model)
{
	uint64_t random = support_seed();

	for (int i = 0; i < RANDOM_RACES; i++) {
		size_t n = 1 + support_below(&random, MOST);
		int times[MOST], first, last;

		/* Eighths: sums of them are exact in a double. */
		for (size_t k = 0; k < n; k++)
			times[k] = 500 + 125 * (int)support_below(&random, 5);
		measured(n, times);
		model(n, times, &first, &last);
		range_must_be(first, last);
	}
}

TEST(the_threshold_is_where_streaming_becomes_faster_for_good)
{
	MEASURED(1001, 1001, 1001, 1001);
	threshold_must_be(SIZE_MAX);
	MEASURED(1001, 999, 1001, 1001); /* not for good */
	threshold_must_be(SIZE_MAX);
	MEASURED(1001, 999, 1001, 999);
	threshold_must_be(4096 << 3);
	MEASURED(1001, 999, 1000, 999);
	threshold_must_be(4096 << 1);
	MEASURED(999, 999, 999, 999);
	threshold_must_be(4096);
}

TEST(four_slow_copies_of_nine_do_not_move_the_threshold)
{
	MEASURED(1001, 999, 999);
	disturb(1, 1, 4, 50000);
	disturb(0, 0, 4, 50000);
	threshold_must_be(4096 << 1);
	disturb(1, 1, 5, 50000);
	threshold_must_be(4096 << 2);
}

TEST(the_vectors_that_are_faster_at_more_sizes_are_chosen)
{
	MEASURED(940, 940, 940);
	vectors_must_be(64);
	MEASURED(1070, 1070, 1070);
	vectors_must_be(32);
	MEASURED(980, 940, 1020);
	vectors_must_be(64);
	MEASURED(940, 940, 940, 1070, 1070);
	vectors_must_be(64);
	MEASURED(940, 940, 1070, 1070, 1070);
	vectors_must_be(32);
	MEASURED(940, 940, 1070, 1070);
	vectors_must_be(0);
	MEASURED(980, 1000, 1020);
	vectors_must_be(0);
}

TEST(two_comparisons_that_differ_do_not_change_the_vectors)
{
	MEASURED(940);
	disturb(1, 0, 2, 5000);
	vectors_must_be(64);
	disturb(1, 0, 3, 5000);
	vectors_must_be(0);
	MEASURED(1070);
	disturb(1, 0, 2, 960);
	vectors_must_be(32);
	disturb(1, 0, 3, 960);
	vectors_must_be(0);
}
