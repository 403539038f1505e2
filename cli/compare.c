/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include "cli.h"

/* Two images, and the options of their comparison. */
struct pair {
	const struct cli *cli;
	struct image_source *a;
	struct image_source *b;
	struct image_run run;
	struct progress progress;
	struct image_compared compared;
	/* the result for the user: with --strict, different sizes are a
	 * difference */
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
	uint64_t a = pair->a->size;
	uint64_t b = pair->b->size;

	cli_print_name(stdout, pair->cli->operands[0]);
	printf(" and ");
	cli_print_name(stdout, pair->cli->operands[1]);
	if (!pair->compared.equal)
		printf(" differ at offset %" PRIu64 "\n",
			pair->compared.first_difference);
	else if (!pair->equal)
		printf(" differ in size: %" PRIu64 " and %s\n", a,
			IMAGE_COUNT(b, "byte"));
	else if (!pair->compared.same_size)
		printf(" are equal; sizes are %" PRIu64
		       " and %s; the rest of the longer image is zero\n",
			a, IMAGE_COUNT(b, "byte"));
	else
		printf(" are equal\n");
}

static int
compare(struct pair *pair)
{
	const struct cli *cli = pair->cli;
	struct image_error err;
	bool strict = cli->option[OPTION_STRICT];

	uint64_t size_a = pair->a->size;
	uint64_t size_b = pair->b->size;
	progress_phase(&pair->progress, "read", cli->operands[0],
		size_a > size_b ? size_a : size_b);
	int rc = image_compare(
		pair->a, pair->b, &pair->run, &pair->compared, &err);
	progress_clear(&pair->progress);
	if (rc < 0) {
		image_source_settle(pair->a, &err);
		image_source_settle(pair->b, &err);
		return cli_image_fail(NULL, &err);
	}
	pair->equal =
		pair->compared.equal && (pair->compared.same_size || !strict);
	if (cli->option[OPTION_JSON])
		print_json(pair);
	else if (!cli->option[OPTION_QUIET])
		print_text(pair);
	rc = cli_flush_stdout();
	if (rc == 0 && !pair->equal)
		rc = CLI_DIFFERS;
	if (rc == 0)
		progress_succeed(&pair->progress);
	return rc;
}

static int
open_side(const struct cli *cli, int which, const struct image_format *format_b,
	struct image_source **source)
{
	struct image_open how;

	int rc = cli_open(cli, &how);
	how.whole = true;
	/* -f, --snapshot, --unpack, --member, --trailing-data and -o are about
	 * A. */
	if (rc == 0 && which == 1) {
		how.format = format_b;
		how.vhd_size = IMAGE_VHD_SIZE_BY_CREATOR;
		how.member = NULL;
		how.snapshot = NULL;
		how.packing = IMAGE_PACKING_AUTO;
		how.inner[0] = IMAGE_PACKING_AUTO;
		how.trailing = NULL;
	}
	return rc == 0 ? cli_image_open(cli, which, &how, source) : rc;
}

static int
compare_images(const struct cli *cli)
{
	struct pair pair = {.cli = cli};
	const struct image_format *format_b;
	bool may_draw = !cli->option[OPTION_QUIET] && !cli->option[OPTION_JSON];

	int rc = cli_format(cli, OPTION_FORMAT_B, &format_b);
	if (rc == 0)
		rc = cli_run(cli, &pair.run);
	if (rc == 0)
		rc = progress_begin(&pair.progress, cli, may_draw);
	if (rc != 0)
		return rc;
	pair.run.progress = progress_update;
	pair.run.opaque = &pair.progress;

	rc = open_side(cli, 0, NULL, &pair.a);
	if (rc == 0)
		rc = open_side(cli, 1, format_b, &pair.b);
	if (rc == 0)
		rc = compare(&pair);
	image_close(pair.a);
	image_close(pair.b);
	return rc;
}

/* As with cmp(1), a difference and a failure have different exit statuses. */
int
compare_run(const struct cli *cli)
{
	int rc = compare_images(cli);

	if (rc == CLI_FAILED)
		return CLI_USAGE;
	return rc == CLI_DIFFERS ? 1 : rc;
}
