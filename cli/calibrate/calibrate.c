/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/hone.h>
#include "cli.h"
#include "calibrate/calibrate.h"

/* The traits that hot copies change. */
static const unsigned traits[] = {HONE_CPU_TRAIT_STORE_BYTES,
	HONE_CPU_TRAIT_REP_MOVSB_MIN, HONE_CPU_TRAIT_REP_MOVSB_MAX};
#define N_TRAITS (sizeof(traits) / sizeof(traits[0]))

/* Apply a choice to the later copies of the round, as a program would. */
static void
apply(enum calibrate_kind kind, struct choice choice, size_t store_bytes)
{
	switch (kind) {
	case CALIBRATE_VECTORS:
		hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES,
			choice.min > 0 ? choice.min : store_bytes);
		break;
	case CALIBRATE_REP_MOVSB:
		hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, choice.min);
		hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, choice.max);
		break;
	default:
		break;
	}
}

/*
 * The order matters: rep movsb is compared with the loop of the chosen vectors,
 * and streaming with copies by both choices.
 */
static void
run_round(struct arena *arena, struct round *round)
{
	size_t store_bytes = hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES);

	for (enum calibrate_kind kind = 0; kind < CALIBRATE_KINDS; kind++) {
		if (!calibrate_has(kind))
			continue;
		calibrate_measure(arena, kind, &round->race[kind]);
		round->choice[kind] =
			calibrate_decide(kind, &round->race[kind]);
		apply(kind, round->choice[kind], store_bytes);
	}
}

int
calibrate_run(bool as_json)
{
	static struct calibration calibration;
	struct arena arena = {0};
	size_t before[N_TRAITS];
	double start;

	if (!calibrate_open(&arena))
		return cli_fail(NULL, "no memory for --calibrate");
	for (size_t i = 0; i < N_TRAITS; i++)
		before[i] = hone_cpu_trait(traits[i]);
	start = calibrate_now_ns();
	while (calibrate_goes_on(
		calibration.n_rounds, calibrate_now_ns() - start)) {
		run_round(&arena, &calibration.round[calibration.n_rounds]);
		calibration.n_rounds++;
		for (size_t i = 0; i < N_TRAITS; i++)
			hone_cpu_set_trait(traits[i], before[i]);
	}
	calibrate_close(&arena);
	if (as_json)
		calibrate_print_json(&calibration);
	else
		calibrate_print_text(&calibration);
	return cli_flush_stdout();
}
