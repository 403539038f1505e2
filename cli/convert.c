/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <hone/cpu.h>
#include "cli.h"

/* A conversion: what was asked, and what came of it. */
struct job {
	const struct cli *cli;
	const char *source;
	const char *name;
	const struct image_ops *source_format;
	const struct image_ops *format;
	struct image_create create;
	struct image_run run;
	struct progress progress;

	struct image *src;
	struct image *dst;
	struct output output;
	struct image_copied copied;
	struct image_usage usage;
	double seconds;
};

static int
parse_pair(struct job *job, char *pair)
{
	struct image_error err = {0};
	uint64_t value;
	char *equals = strchr(pair, '=');

	if (!equals)
		return cli_usage("convert", "-o: '%s' is not KEY=VALUE", pair);
	*equals = '\0';
	if (!cli_parse_size(equals + 1, &value))
		return cli_usage(
			"convert", "-o %s: '%s' is no size", pair, equals + 1);
	if (!job->format->option)
		return cli_usage("convert", "-o %s: %s has no options", pair,
			job->format->name);
	if (job->format->option(&job->create, pair, value, &err) < 0)
		return cli_usage("convert", "-o: %s", err.text);
	return 0;
}

/* The values of -o, KEY=VALUE separated by commas. */
static int
parse_create(struct job *job)
{
	const char *text = job->cli->option[OPTION_CREATE];
	if (!text)
		return 0;
	char *copy = strdup(text);
	if (!copy)
		return cli_fail(NULL, "out of memory");

	int rc = 0;
	char *rest = copy;
	while (rc == 0 && rest) {
		char *pair = strsep(&rest, ",");
		rc = parse_pair(job, pair);
	}
	free(copy);
	return rc;
}

static int
parse_format(struct job *job)
{
	int rc = cli_format(job->cli, OPTION_FORMAT, &job->source_format);
	if (rc == 0)
		rc = cli_format(job->cli, OPTION_OUTPUT_FORMAT, &job->format);
	if (rc != 0 || job->format)
		return rc;
	job->format = image_format_by_suffix(job->name);
	if (job->format)
		return 0;
	char list[CLI_FORMATS];
	return cli_fail(job->name,
		"its ending names a format that cannot be written; choose "
		"another: %s",
		cli_list_formats(list, "-O ", true));
}

static int
parse(struct job *job)
{
	bool may_draw = !job->cli->option[OPTION_QUIET] &&
			!job->cli->option[OPTION_JSON];

	int rc = cli_run(job->cli, &job->run);
	if (rc == 0)
		rc = parse_format(job);
	if (rc == 0)
		rc = parse_create(job);
	if (rc == 0)
		rc = progress_begin(&job->progress, job->cli, may_draw);
	job->run.progress = progress_update;
	job->run.opaque = &job->progress;
	return rc;
}

/* Copy, finish, make durable, measure. */
static int
fill(struct job *job, struct image_error *err)
{
	int rc = image_copy(job->src, job->dst, &job->run, &job->copied, err);
	if (rc == 0)
		rc = image_finish(job->dst, err);
	if (rc == 0)
		rc = image_flush(job->dst, err);
	if (rc == 0)
		rc = image_usage(job->dst, &job->usage, err);
	return rc;
}

/* The bar goes first, so that the sentence has a line of its own. */
static int
fail(struct job *job, const char *name, const char *text)
{
	progress_clear(&job->progress);
	return cli_fail(name, "%s", text);
}

static int
write_output(struct job *job)
{
	struct image_error err = {0};

	if (output_begin(&job->output, job->name, job->src->fd,
		    job->cli->option[OPTION_FORCE]) < 0)
		return fail(job, job->name, job->output.text);

	int rc = image_create(
		job->output.fd, job->format, &job->create, &job->dst, &err);
	if (rc == 0)
		rc = fill(job, &err);
	image_close(job->dst);
	if (rc < 0) {
		output_abandon(&job->output);
		return fail(job,
			err.image == job->src ? job->source : job->name,
			err.text);
	}
	if (output_commit(&job->output) < 0)
		return fail(job, job->name, job->output.text);
	return 0;
}

static void
print_json(const struct job *job)
{
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "convert");
	json_string(&json, "source", job->source);
	json_string(&json, "destination", job->name);
	json_string(&json, "source_format", job->src->ops->name);
	json_string(&json, "format", job->format->name);
	json_number(&json, "virtual_size", job->src->size);
	json_number(&json, "data_bytes", job->copied.data);
	json_number(&json, "zero_bytes", job->copied.zero);
	json_number(&json, "hole_bytes", job->copied.hole);
	json_number(&json, "file_size", job->usage.file_size);
	json_number(&json, "disk_usage", job->usage.disk_usage);
	json_seconds(&json, "seconds", job->seconds);
	json_string(&json, "zero_variant", hone_cpu_variant("zero"));
	json_end(&json, '}');
	putchar('\n');
}

static void
print_text(const struct job *job)
{
	char size[CLI_SIZE_TEXT], data[CLI_SIZE_TEXT], zero[CLI_SIZE_TEXT];
	char hole[CLI_SIZE_TEXT], disk[CLI_SIZE_TEXT];
	double read = (double)(job->copied.data + job->copied.zero);

	cli_print_name(stdout, job->name);
	printf(": %s, %s (data %s, zero %s, hole %s), %s on disk; "
	       "%.2f s, %.0f MB/s read, zero variant %s\n",
		job->format->name, cli_size_text(size, job->src->size),
		cli_size_text(data, job->copied.data),
		cli_size_text(zero, job->copied.zero),
		cli_size_text(hole, job->copied.hole),
		cli_size_text(disk, job->usage.disk_usage), job->seconds,
		job->seconds > 0 ? read / job->seconds / 1e6 : 0,
		hone_cpu_variant("zero"));
}

static double
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int
convert(struct job *job)
{
	double start = now();

	job->create.size = job->src->size;
	job->progress.total = job->src->size;
	int rc = write_output(job);
	job->seconds = now() - start;
	if (rc != 0)
		return rc;
	progress_clear(&job->progress);
	if (job->cli->option[OPTION_JSON])
		print_json(job);
	else if (!job->cli->option[OPTION_QUIET])
		print_text(job);
	rc = cli_flush_stdout();
	if (rc == 0)
		progress_succeed(&job->progress);
	return rc;
}

int
convert_run(const struct cli *cli)
{
	struct job job = {.cli = cli,
		.source = cli->operands[0],
		.name = cli->operands[1]};
	struct image_error err = {0};

	int rc = parse(&job);
	if (rc != 0)
		return rc;
	if (image_open(job.source, job.source_format, &job.src, &err) < 0 ||
		image_readable(job.src, &err) < 0)
		rc = cli_fail(job.source, "%s", err.text);
	else
		rc = convert(&job);
	image_close(job.src);
	return rc;
}
