/* SPDX-License-Identifier: BSD-3-Clause */
/* hone cpu --calibrate: what times choose, how sure a choice of several rounds
 * is, and the calls that are printed. No test depends on real times. */
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

/* Rounds with these thresholds, or with ranges that begin there. */
static struct agreement
agree(int n, const size_t *min, enum calibrate_kind kind)
{
	static struct calibration c;

	memset(&c, 0, sizeof(c));
	c.n_rounds = n;
	for (int i = 0; i < n; i++) {
		c.round[i].race[kind].n_sizes = 1;
		c.round[i].choice[kind] = (struct choice){min[i], SIZE_MAX};
	}
	return calibrate_agree(&c, kind);
}

#define AGREE(...)                                                             \
	agree(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t),                \
		(const size_t[]){__VA_ARGS__}, CALIBRATE_STREAMS)

TEST(a_choice_is_sure_if_every_round_makes_it)
{
	struct agreement a = AGREE(8, 8, 8, 8, 8, 8, 8);

	assert_true(a.sure);
	assert_int_equal(a.choice.min, 8);
	assert_int_equal(a.same, 7);
	assert_int_equal(a.n_rounds, 7);
	assert_int_equal(a.lowest, 8);
	assert_int_equal(a.highest, 8);
	a = AGREE(8, 8, 8, 8, 8, 8, 4);
	assert_false(a.sure);
	assert_int_equal(a.same, 6);
	a = AGREE(4, 8, 8, 8, 8, 8, 8);
	assert_false(a.sure);
	assert_int_equal(a.choice.min, 8);
}

TEST(the_choice_of_most_rounds_and_the_spread_are_reported)
{
	struct agreement a = AGREE(4, 8, SIZE_MAX, 8, 2);

	assert_int_equal(a.choice.min, 8);
	assert_int_equal(a.same, 2);
	assert_int_equal(a.lowest, 2);
	assert_int_equal(a.highest, SIZE_MAX);
	a = AGREE(4, 8, 8, 4); /* as many: the earlier one */
	assert_int_equal(a.choice.min, 4);
	assert_int_equal(a.same, 2);
}

TEST(a_few_rounds_are_never_sure)
{
	struct agreement a = AGREE(8, 8, 8, 8);

	assert_int_equal(a.same, 4);
	assert_false(a.sure);
	a = AGREE(8, 8, 8, 8, 8);
	assert_true(a.sure);
}

TEST(ranges_agree_if_both_ends_do)
{
	struct calibration c = {.n_rounds = 5};

	for (int i = 0; i < 5; i++) {
		c.round[i].race[CALIBRATE_REP_MOVSB].n_sizes = 1;
		c.round[i].choice[CALIBRATE_REP_MOVSB] =
			(struct choice){4096, i < 4 ? 65536 : 32768};
	}
	assert_false(calibrate_agree(&c, CALIBRATE_REP_MOVSB).sure);
	c.round[4].choice[CALIBRATE_REP_MOVSB].max = 65536;
	assert_true(calibrate_agree(&c, CALIBRATE_REP_MOVSB).sure);
}

TEST(what_was_not_measured_is_no_choice)
{
	struct calibration c = {.n_rounds = CALIBRATE_ROUNDS};
	struct agreement a = calibrate_agree(&c, CALIBRATE_VECTORS);

	assert_int_equal(a.n_rounds, 0);
	assert_false(a.sure);
}

TEST(the_time_of_a_size_is_the_median_of_the_rounds)
{
	static struct calibration c = {.n_rounds = 5};
	static const double rounds[] = {50, 10, 30, 90, 20};

	for (int i = 0; i < 5; i++) {
		struct race *r = &c.round[i].race[CALIBRATE_STREAMS];

		r->n_turns = 5;
		for (int turn = 0; turn < 5; turn++)
			r->ns[1][2][turn] = turn < 2 ? 1e6 : rounds[i];
	}
	assert_int_equal((long)calibrate_time(&c, CALIBRATE_STREAMS, 1, 2), 30);
}

/* Rounds end after 4.5 seconds, or before if the next would end later. */
TEST(the_time_of_all_rounds_is_bounded)
{
	assert_true(calibrate_goes_on(0, 0));
	assert_true(calibrate_goes_on(0, 1e12));
	assert_true(calibrate_goes_on(1, 0.2e9));
	assert_true(calibrate_goes_on(CALIBRATE_ROUNDS - 1, 3e9));
	assert_false(calibrate_goes_on(CALIBRATE_ROUNDS, 3e9));
	assert_true(calibrate_goes_on(1, 2.2e9));
	assert_false(calibrate_goes_on(1, 2.3e9));
	assert_true(calibrate_goes_on(2, 3e9));
	assert_false(calibrate_goes_on(2, 3.1e9));
}

static void
calls_must_be(enum calibrate_kind kind, bool sure, struct choice choice,
	const char *first, const char *second)
{
	const char *want[] = {first, second};
	struct agreement a = {.choice = choice, .sure = sure};
	char calls[CALIBRATE_CALLS][CALIBRATE_CALL];
	int n = calibrate_calls(kind, &a, calls);

	assert_int_equal(n, (first != NULL) + (second != NULL));
	for (int i = 0; i < n && i < CALIBRATE_CALLS; i++)
		assert_string_equal(calls[i], want[i]);
}

TEST(a_sure_choice_is_printed_as_calls)
{
	calls_must_be(CALIBRATE_STREAMS, true,
		(struct choice){8388608, SIZE_MAX},
		"hone_copy_set_threshold(8388608);", NULL);
	calls_must_be(CALIBRATE_STREAMS, true,
		(struct choice){SIZE_MAX, SIZE_MAX},
		"hone_copy_set_threshold(SIZE_MAX);", NULL);
	calls_must_be(CALIBRATE_VECTORS, true, (struct choice){64, SIZE_MAX},
		"hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, 64);", NULL);
	calls_must_be(CALIBRATE_VECTORS, true, (struct choice){0, SIZE_MAX},
		NULL, NULL);
	calls_must_be(CALIBRATE_REP_MOVSB, true,
		(struct choice){65536, 1 << 20},
		"hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, 65536);",
		"hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, 1048576);");
	calls_must_be(CALIBRATE_REP_MOVSB, true, (struct choice){0, 0},
		"hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, 0);", NULL);
}

TEST(a_choice_that_is_not_sure_prints_no_call)
{
	for (int kind = 0; kind < CALIBRATE_KINDS; kind++)
		calls_must_be((enum calibrate_kind)kind, false,
			(struct choice){64, SIZE_MAX}, NULL, NULL);
}
