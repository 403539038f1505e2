/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <inttypes.h>
#include "cli.h"

/*
 * Exit statuses: CLI_FAILED means not safe. An image that cannot be checked has
 * the same status as a wrong command line.
 */
#define NOT_SAFE CLI_FAILED
#define NOT_CHECKED CLI_USAGE

/* More than the number of tests. */
#define MAX_FINDINGS 32

/* Kept until the end: if the check fails, stdout stays empty. */
struct verdict {
	const char *name;
	struct image_checked checked;
	size_t n;
	struct image_finding findings[MAX_FINDINGS];
};

static void
keep(void *opaque, const struct image_finding *finding)
{
	struct verdict *verdict = opaque;

	assert(verdict->n < MAX_FINDINGS);
	verdict->findings[verdict->n++] = *finding;
}

static void
print_json(const struct verdict *verdict)
{
	const struct image_checked *checked = &verdict->checked;
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "check");
	json_string(&json, "file", verdict->name);
	if (checked->format)
		json_string(&json, "format", checked->format->name);
	json_bool(&json, "safe", checked->safe);
	json_open(&json, "checks", '[');
	for (size_t i = 0; i < verdict->n; i++) {
		const struct image_finding *finding = &verdict->findings[i];
		json_open(&json, NULL, '{');
		json_string(&json, "name", finding->name);
		json_bool(&json, "passed", finding->faults == 0);
		json_number(&json, "faults", finding->faults);
		json_string(&json, "text", finding->text);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_number(&json, "leaked_clusters", checked->leaked_clusters);
	json_number(&json, "leaked_bytes", checked->leaked_bytes);
	json_end(&json, '}');
	putchar('\n');
}

static void
print_text(const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->n; i++) {
		const struct image_finding *finding = &verdict->findings[i];
		printf("%-18s %-7s ", finding->name,
			finding->faults ? "FAILED" : "ok");
		cli_print_name(stdout, finding->text);
		if (finding->faults > 1)
			printf(" (and %" PRIu64 " more)", finding->faults - 1);
		putchar('\n');
	}
	cli_print_name(stdout, verdict->name);
	puts(verdict->checked.safe ? " is safe" : " is not safe");
}

int
check_run(const struct cli *cli)
{
	struct verdict verdict = {.name = cli->operands[0]};
	struct image_open how;
	struct image_error err;

	int rc = cli_open(cli, &how);
	if (rc != 0)
		return rc;
	if (image_check(cli->addresses[0], &how, keep, &verdict,
		    &verdict.checked, &err) < 0) {
		rc = cli_image_fail(verdict.name, &err);
		return rc == CLI_FAILED ? NOT_CHECKED : rc;
	}
	cli_warn_plain(cli, 0);
	if (cli->option[OPTION_JSON])
		print_json(&verdict);
	else if (!cli->option[OPTION_QUIET])
		print_text(&verdict);
	if (cli_flush_stdout() != 0)
		return NOT_CHECKED;
	return verdict.checked.safe ? 0 : NOT_SAFE;
}
