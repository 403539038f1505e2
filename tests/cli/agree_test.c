/* SPDX-License-Identifier: BSD-3-Clause */
/* hone cpu --calibrate: how sure a choice of several rounds is, and the calls
 * that are printed. No test depends on real times. */
#include <stdint.h>
#include <string.h>
#include "calibrate/calibrate.h"
#include "support.h"

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
