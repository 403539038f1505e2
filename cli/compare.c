/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include "cli.h"

/* What is compared, and how. */
struct pair {
	const struct cli *cli;
	struct image *a;
	struct image *b;
	struct image_run run;
	struct progress progress;
	struct image_compared compared;
	/* as the user asked: --strict counts the size */
	bool equal;
};

static void
print_json(const struct pair *pair)
{
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "compare");
	json_string(&json, "a", pair->cli->operands[0]);
	json_string(&json, "b", pair->cli->operands[1]);
	json_bool(&json, "equal", pair->equal);
	json_bool(&json, "same_size", pair->compared.same_size);
	json_number(&json, "a_size", pair->a->size);
	json_number(&json, "b_size", pair->b->size);
	if (!pair->compared.equal)
		json_number(&json, "first_difference",
			pair->compared.first_difference);
	json_end(&json, '}');
	putchar('\n');
}

static void
print_text(const struct pair *pair)
{
	cli_print_name(stdout, pair->cli->operands[0]);
	printf(" and ");
	cli_print_name(stdout, pair->cli->operands[1]);
	if (!pair->compared.equal)
		printf(" differ at offset %" PRIu64 "\n",
			pair->compared.first_difference);
	else if (!pair->equal)
		printf(" differ in size: %" PRIu64 " and %" PRIu64 " bytes\n",
			pair->a->size, pair->b->size);
	else if (!pair->compared.same_size)
		printf(" are equal; sizes are %" PRIu64 " and %" PRIu64
		       " bytes, the rest of the longer is zero\n",
			pair->a->size, pair->b->size);
	else
		printf(" are equal\n");
}

static int
compare(struct pair *pair)
{
	const struct cli *cli = pair->cli;
	struct image_error err = {0};
	bool strict = cli->option[OPTION_STRICT];

	pair->progress.total =
		pair->a->size > pair->b->size ? pair->a->size : pair->b->size;
	int rc = image_compare(
		pair->a, pair->b, &pair->run, &pair->compared, &err);
	progress_clear(&pair->progress);
	if (rc < 0)
		return cli_fail(
			cli->operands[err.image == pair->b], "%s", err.text);

	pair->equal =
		pair->compared.equal && (pair->compared.same_size || !strict);
	if (cli->option[OPTION_JSON])
		print_json(pair);
	else if (!cli->option[OPTION_QUIET])
		print_text(pair);
	rc = cli_flush_stdout();
	if (rc == 0 && !pair->equal)
		rc = CLI_FAILED;
	if (rc == 0)
		progress_succeed(&pair->progress);
	return rc;
}

static int
open_side(const struct cli *cli, int which, const struct image_ops *format,
	struct image **img)
{
	struct image_error err = {0};
	const char *name = cli->operands[which];

	if (image_open(name, format, img, &err) < 0 ||
		image_readable(*img, &err) < 0)
		return cli_fail(name, "%s", err.text);
	return 0;
}

int
compare_run(const struct cli *cli)
{
	struct pair pair = {.cli = cli};
	const struct image_ops *format_a, *format_b;
	bool may_draw = !cli->option[OPTION_QUIET] && !cli->option[OPTION_JSON];

	int rc = cli_format(cli, OPTION_FORMAT, &format_a);
	if (rc == 0)
		rc = cli_format(cli, OPTION_FORMAT_B, &format_b);
	if (rc == 0)
		rc = cli_run(cli, &pair.run);
	if (rc == 0)
		rc = progress_begin(&pair.progress, cli, may_draw);
	if (rc != 0)
		return rc;
	pair.run.progress = progress_update;
	pair.run.opaque = &pair.progress;

	rc = open_side(cli, 0, format_a, &pair.a);
	if (rc == 0)
		rc = open_side(cli, 1, format_b, &pair.b);
	if (rc == 0)
		rc = compare(&pair);
	image_close(pair.a);
	image_close(pair.b);
	return rc;
}
