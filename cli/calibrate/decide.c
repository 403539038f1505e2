/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the choices of a calibration by its times, and decides whether each
 * choice is sure.
 */
#include <stdint.h>
#include <stdio.h>
#include "calibrate/calibrate.h"

/*
 * Noise alone must not determine a choice. Medians are not enough: with other
 * load on a Zen 4, 43 of 60 calibrations had a range by medians alone. With the
 * required number of comparisons, 4 of the same 60 had a range.
 */
#define CLEARLY_FASTER 0.95 /* most of the other way's time */
#define LEAST_CLEAR 7       /* of CALIBRATE_TURNS comparisons */
#define LEAST_SIZES 2       /* in a row */

bool
calibrate_goes_on(int n_rounds, double ns)
{
	return n_rounds == 0 ||
	       (n_rounds < CALIBRATE_ROUNDS &&
		       ns / n_rounds * (n_rounds + 1) <= CALIBRATE_LIMIT_NS);
}

static double
median(const double *times, int n)
{
	double sorted[CALIBRATE_TURNS] = {0}; /* n may be 0 */

	for (int i = 0; i < n; i++) {
		int j = i;

		for (; j > 0 && sorted[j - 1] > times[i]; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = times[i];
	}
	return sorted[n / 2];
}

static double
time_of(const struct race *race, int way, size_t size)
{
	return median(race->ns[way][size], race->n_turns);
}

static bool
is_clear(double other_ns, double ns)
{
	return ns < other_ns * CLEARLY_FASTER;
}

/* Returns whether a way was clearly faster in enough comparisons at a size. */
static bool
wins(const struct race *race, int way, size_t size)
{
	int clear = 0;

	for (int turn = 0; turn < race->n_turns; turn++)
		clear += is_clear(
			race->ns[!way][size][turn], race->ns[way][size][turn]);
	return clear >= LEAST_CLEAR;
}

static struct choice
find_vectors(const struct race *race)
{
	int wide = 0;

	for (size_t i = 0; i < race->n_sizes; i++) {
		wide += wins(race, 1, i);
		wide -= wins(race, 0, i);
	}
	return (struct choice){wide > 0 ? 64 : wide < 0 ? 32 : 0, SIZE_MAX};
}

/*
 * Returns the share of the loop's time that rep movsb saves; 0 if the saving is
 * not clear.
 */
static double
saving(const struct race *race, size_t size)
{
	double loop = time_of(race, 0, size), string = time_of(race, 1, size);

	if (!is_clear(loop, string) || !wins(race, 1, size))
		return 0;
	return 1 - string / loop;
}

/*
 * Returns adjacent sizes at which rep movsb saves time. Of several ranges, the
 * one with the largest sum of savings is chosen.
 */
static struct choice
find_range(const struct race *race)
{
	struct choice range = {0, 0};
	double most = 0;
	size_t first, end;

	for (first = 0; first < race->n_sizes; first = end + 1) {
		double sum = 0, share;

		for (end = first; end < race->n_sizes; end++) {
			share = saving(race, end);
			if (share <= 0)
				break;
			sum += share;
		}
		if (end - first < LEAST_SIZES || sum <= most)
			continue;
		most = sum;
		range.min = race->smallest << first;
		range.max = race->smallest << (end - 1);
	}
	return range;
}

/* Returns the smallest size from which streaming was faster at every size. */
static struct choice
find_threshold(const struct race *race)
{
	struct choice streams = {SIZE_MAX, SIZE_MAX};

	for (size_t i = race->n_sizes; i-- > 0;) {
		if (time_of(race, 1, i) > time_of(race, 0, i))
			break;
		streams.min = race->smallest << i;
	}
	return streams;
}

struct choice
calibrate_decide(enum calibrate_kind kind, const struct race *race)
{
	switch (kind) {
	case CALIBRATE_VECTORS:
		return find_vectors(race);
	case CALIBRATE_REP_MOVSB:
		return find_range(race);
	default:
		return find_threshold(race);
	}
}

double
calibrate_time(const struct calibration *calibration, enum calibrate_kind kind,
	int way, size_t size)
{
	double times[CALIBRATE_ROUNDS];

	for (int i = 0; i < calibration->n_rounds; i++)
		times[i] =
			time_of(&calibration->round[i].race[kind], way, size);
	return median(times, calibration->n_rounds);
}

static bool
is_same(struct choice a, struct choice b)
{
	return a.min == b.min && a.max == b.max;
}

struct agreement
calibrate_agree(const struct calibration *calibration, enum calibrate_kind kind)
{
	const struct round *rounds = calibration->round;
	struct agreement a = {.lowest = SIZE_MAX};

	if (rounds[0].race[kind].n_sizes == 0)
		return a;
	a.n_rounds = calibration->n_rounds;
	for (int i = 0; i < a.n_rounds; i++) {
		struct choice choice = rounds[i].choice[kind];
		int same = 0;

		for (int k = 0; k < a.n_rounds; k++)
			same += is_same(choice, rounds[k].choice[kind]);
		if (same > a.same) {
			a.same = same;
			a.choice = choice;
		}
		if (choice.min < a.lowest)
			a.lowest = choice.min;
		if (choice.min > a.highest)
			a.highest = choice.min;
	}
	a.sure = a.same == a.n_rounds && a.n_rounds >= CALIBRATE_LEAST_ROUNDS;
	return a;
}

/* "function(before, number);" */
static void
write_call(char *call, const char *before, size_t number)
{
	if (number == SIZE_MAX)
		snprintf(call, CALIBRATE_CALL, "%sSIZE_MAX);", before);
	else
		snprintf(call, CALIBRATE_CALL, "%s%zu);", before, number);
}

int
calibrate_calls(enum calibrate_kind kind, const struct agreement *agreement,
	char calls[CALIBRATE_CALLS][CALIBRATE_CALL])
{
	struct choice choice = agreement->choice;
	int n = 0;

	if (!agreement->sure)
		return 0;
	switch (kind) {
	case CALIBRATE_VECTORS:
		if (choice.min > 0)
			write_call(calls[n++],
				"hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES,"
				" ",
				choice.min);
		return n;
	case CALIBRATE_REP_MOVSB:
		if (choice.max > 0)
			write_call(calls[n++],
				"hone_cpu_set_trait("
				"HONE_CPU_TRAIT_REP_MOVSB_MIN, ",
				choice.min);
		write_call(calls[n++],
			"hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, ",
			choice.max);
		return n;
	default:
		write_call(calls[n++], "hone_copy_set_threshold(", choice.min);
		return n;
	}
}
