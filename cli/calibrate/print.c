/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <hone/hone.h>
#include "cli.h"
#include "calibrate/calibrate.h"

/* The labels and units of each kind, in text and in JSON. */
static const struct {
	const char *title, *way[2], *unit;
	double unit_ns;
	const char *key, *way_key[2];
	double key_ns;
} tables[CALIBRATE_KINDS] = {
	{"by vectors", {"of 32 bytes", "of 64 bytes"}, "ns", 1, "vectors",
		{"by_32_ps", "by_64_ps"}, 1e-3},
	{"hot copy", {"loop", "rep movsb"}, "us", 1e3, "hot",
		{"loop_ns", "rep_movsb_ns"}, 1},
	{"cold, then read", {"KEEP", "STREAM"}, "us", 1e3, "cold",
		{"keep_ns", "stream_ns"}, 1},
};

static void
print_table(const struct calibration *c, enum calibrate_kind kind)
{
	const struct race *race = &c->round[0].race[kind];
	const char *unit = tables[kind].unit;
	char text[CLI_SIZE_TEXT];

	if (race->n_sizes == 0)
		return;
	printf("%-15s %13s %13s\n", tables[kind].title, tables[kind].way[0],
		tables[kind].way[1]);
	for (size_t i = 0; i < race->n_sizes; i++)
		printf("%-15s %10.3f %s %10.3f %s\n",
			cli_size_text(text, race->smallest << i),
			calibrate_time(c, kind, 0, i) / tables[kind].unit_ns,
			unit,
			calibrate_time(c, kind, 1, i) / tables[kind].unit_ns,
			unit);
}

static void
print_choice(enum calibrate_kind kind, struct choice choice)
{
	static const char *const labels[] = {"vectors", "rep movsb", "streams"};
	char text[CLI_RANGE_TEXT];

	printf("%-10s ", labels[kind]);
	if (kind != CALIBRATE_VECTORS)
		fputs(cli_range_text(text, choice.min, choice.max), stdout);
	else if (choice.min > 0)
		printf("of %zu bytes", choice.min);
	else
		fputs("no clear difference", stdout);
}

static void
print_spread(size_t lowest, size_t highest)
{
	char text[CLI_SIZE_TEXT];

	printf(", between %s", cli_size_text(text, lowest));
	printf(" and %s",
		highest < SIZE_MAX ? cli_size_text(text, highest) : "never");
}

static void
print_agreement(enum calibrate_kind kind, const struct agreement *a)
{
	if (a->n_rounds == 0)
		return;
	print_choice(kind, a->choice);
	printf(" in %d of %d rounds: %s", a->same, a->n_rounds,
		a->sure ? "sure" : "unsure");
	if (kind == CALIBRATE_STREAMS && a->lowest < a->highest)
		print_spread(a->lowest, a->highest);
	putchar('\n');
}

void
calibrate_print_text(const struct calibration *c)
{
	char calls[CALIBRATE_CALLS][CALIBRATE_CALL];
	struct agreement agreement[CALIBRATE_KINDS];

	for (enum calibrate_kind kind = 0; kind < CALIBRATE_KINDS; kind++)
		print_table(c, kind);
	for (enum calibrate_kind kind = 0; kind < CALIBRATE_KINDS; kind++) {
		agreement[kind] = calibrate_agree(c, kind);
		print_agreement(kind, &agreement[kind]);
	}
	for (enum calibrate_kind kind = 0; kind < CALIBRATE_KINDS; kind++) {
		int n = calibrate_calls(kind, &agreement[kind], calls);

		for (int i = 0; i < n; i++)
			puts(calls[i]);
	}
}

static void
write_table(struct json *json, const struct calibration *c,
	enum calibrate_kind kind)
{
	const struct race *race = &c->round[0].race[kind];

	json_open(json, tables[kind].key, '[');
	for (size_t i = 0; i < race->n_sizes; i++) {
		json_open(json, NULL, '{');
		json_number(json, "size", race->smallest << i);
		for (int way = 0; way < 2; way++)
			json_number(json, tables[kind].way_key[way],
				(uint64_t)(calibrate_time(c, kind, way, i) /
					   tables[kind].key_ns));
		json_end(json, '}');
	}
	json_end(json, ']');
}

/* The choices of all rounds: min, or max. */
static void
write_choice(struct json *json, const char *key, const struct calibration *c,
	enum calibrate_kind kind, bool max)
{
	struct agreement a = calibrate_agree(c, kind);

	json_open(json, key, '{');
	json_open(json, "rounds", '[');
	for (int i = 0; i < a.n_rounds; i++) {
		const struct choice *choice = &c->round[i].choice[kind];

		json_number(json, NULL, max ? choice->max : choice->min);
	}
	json_end(json, ']');
	json_bool(json, "sure", a.sure);
	json_end(json, '}');
}

static void
write_calls(struct json *json, const struct calibration *c)
{
	char calls[CALIBRATE_CALLS][CALIBRATE_CALL];

	json_open(json, "calls", '[');
	for (enum calibrate_kind kind = 0; kind < CALIBRATE_KINDS; kind++) {
		struct agreement a = calibrate_agree(c, kind);
		int n = calibrate_calls(kind, &a, calls);

		for (int i = 0; i < n; i++)
			json_string(json, NULL, calls[i]);
	}
	json_end(json, ']');
}

void
calibrate_print_json(const struct calibration *c)
{
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "cpu");
	json_string(&json, "version", hone_version());
	for (enum calibrate_kind kind = 0; kind < CALIBRATE_KINDS; kind++)
		write_table(&json, c, kind);
	write_choice(&json, "store_bytes", c, CALIBRATE_VECTORS, false);
	write_choice(&json, "rep_movsb_min", c, CALIBRATE_REP_MOVSB, false);
	write_choice(&json, "rep_movsb_max", c, CALIBRATE_REP_MOVSB, true);
	write_choice(&json, "threshold", c, CALIBRATE_STREAMS, false);
	write_calls(&json, c);
	json_end(&json, '}');
	putchar('\n');
}
