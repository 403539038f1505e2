/* SPDX-License-Identifier: BSD-3-Clause */
/* hone cpu --calibrate: what hone_copy_calibrate() measured and chose. */
#include <string.h>
#include <hone/hone.h>
#include "cli.h"

static void
print_json(const struct hone_copy_calibration *c, const char *line)
{
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "cpu");
	json_string(&json, "version", hone_version());
	json_open(&json, "vectors", '[');
	for (size_t i = 0; i < c->n_vector; i++) {
		json_open(&json, NULL, '{');
		json_number(&json, "size", c->vector_size[i]);
		json_number(
			&json, "by_32_ps", (uint64_t)(c->vector32_ns[i] * 1e3));
		json_number(
			&json, "by_64_ps", (uint64_t)(c->vector64_ns[i] * 1e3));
		json_number(&json, "clear_32", c->n_clear32[i]);
		json_number(&json, "clear_64", c->n_clear64[i]);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_open(&json, "hot", '[');
	for (size_t i = 0; i < c->n_hot; i++) {
		json_open(&json, NULL, '{');
		json_number(&json, "size", c->hot_size[i]);
		json_number(&json, "loop_ns", (uint64_t)c->loop_ns[i]);
		json_number(
			&json, "rep_movsb_ns", (uint64_t)c->rep_movsb_ns[i]);
		json_number(&json, "clear", c->n_clear[i]);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_open(&json, "cold", '[');
	for (size_t i = 0; i < c->n_sizes; i++) {
		json_open(&json, NULL, '{');
		json_number(&json, "size", c->size[i]);
		json_number(&json, "keep_ns", (uint64_t)c->keep_ns[i]);
		json_number(&json, "stream_ns", (uint64_t)c->stream_ns[i]);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_number(&json, "store_bytes", c->store_bytes);
	json_number(&json, "rep_movsb_min", c->rep_movsb_min);
	json_number(&json, "rep_movsb_max", c->rep_movsb_max);
	json_number(&json, "threshold", c->threshold);
	json_string(&json, "line", line);
	json_end(&json, '}');
	putchar('\n');
}

static void
print_vectors(const struct hone_copy_calibration *c)
{
	char text[CLI_SIZE_TEXT];

	printf("%-15s %13s %13s   %s\n", "by vectors", "of 32 bytes",
		"of 64 bytes", "clearly faster");
	for (size_t i = 0; i < c->n_vector; i++)
		printf("%-15s %10.1f ns %10.1f ns   %u and %u of 9\n",
			cli_size_text(text, c->vector_size[i]),
			c->vector32_ns[i], c->vector64_ns[i], c->n_clear32[i],
			c->n_clear64[i]);
}

static void
print_hot(const struct hone_copy_calibration *c)
{
	char text[CLI_SIZE_TEXT];

	printf("%-15s %13s %13s   %s\n", "hot copy", "loop", "rep movsb",
		"clearly faster");
	for (size_t i = 0; i < c->n_hot; i++)
		printf("%-15s %10.3f us %10.3f us   %u of 9\n",
			cli_size_text(text, c->hot_size[i]),
			c->loop_ns[i] / 1e3, c->rep_movsb_ns[i] / 1e3,
			c->n_clear[i]);
}

static void
print_cold(const struct hone_copy_calibration *c)
{
	char text[CLI_SIZE_TEXT];

	printf("%-15s %13s %13s\n", "cold, then read", "KEEP", "STREAM");
	for (size_t i = 0; i < c->n_sizes; i++)
		printf("%-15s %10.3f us %10.3f us\n",
			cli_size_text(text, c->size[i]), c->keep_ns[i] / 1e3,
			c->stream_ns[i] / 1e3);
}

static void
print_text(const struct hone_copy_calibration *c, const char *line)
{
	if (c->n_vector > 0)
		print_vectors(c);
	if (c->n_hot > 0)
		print_hot(c);
	print_cold(c);
	if (c->n_vector > 0)
		printf("vectors    of %d bytes\n",
			c->store_bytes >= 64 ? 64 : 32);
	cpu_print_rep_movsb();
	cpu_print_streams();
	puts(line);
}

int
calibrate_run(bool as_json)
{
	struct hone_copy_calibration c;
	char line[HONE_COPY_SAVED_SIZE];

	if (hone_copy_calibrate(&c) != 0)
		return cli_fail(NULL, "no memory for --calibrate");
	hone_copy_save(line, sizeof(line));
	line[strcspn(line, "\n")] = '\0';
	if (as_json)
		print_json(&c, line);
	else
		print_text(&c, line);
	return cli_flush_stdout();
}
