/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include "cli.h"

struct facts {
	const char *name;
	struct image *img;
	struct image_usage usage;
	struct image_field fields[IMAGE_MAX_FIELDS];
	size_t n_fields;
};

static void
print_json(const struct facts *facts)
{
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "info");
	json_string(&json, "file", facts->name);
	json_string(&json, "format", facts->img->ops->name);
	json_number(&json, "virtual_size", facts->img->size);
	json_number(&json, "file_size", facts->usage.file_size);
	json_number(&json, "disk_usage", facts->usage.disk_usage);
	for (size_t i = 0; i < facts->n_fields; i++)
		json_number(
			&json, facts->fields[i].name, facts->fields[i].value);
	json_end(&json, '}');
	putchar('\n');
}

static void
print_size(const char *label, uint64_t size)
{
	char text[CLI_SIZE_TEXT];

	printf("%-14s %s", label, cli_size_text(text, size));
	if (size >= 1024)
		printf(" (%" PRIu64 " bytes)", size);
	putchar('\n');
}

static void
print_text(const struct facts *facts)
{
	printf("%-14s ", "file:");
	cli_print_name(stdout, facts->name);
	printf("\n%-14s %s\n", "format:", facts->img->ops->name);
	print_size("virtual size:", facts->img->size);
	print_size("file size:", facts->usage.file_size);
	print_size("disk usage:", facts->usage.disk_usage);
	for (size_t i = 0; i < facts->n_fields; i++) {
		int n = printf("%s:", facts->fields[i].name);
		printf("%*s %" PRIu64 "\n", 14 - n, "", facts->fields[i].value);
	}
}

int
info_run(const struct cli *cli)
{
	struct facts facts = {.name = cli->operands[0]};
	const struct image_ops *format;
	struct image_error err = {0};

	int rc = cli_format(cli, OPTION_FORMAT, &format);
	if (rc != 0)
		return rc;
	if (image_open(facts.name, format, &facts.img, &err) < 0)
		return cli_fail(facts.name, "%s", err.text);
	if (image_usage(facts.img, &facts.usage, &err) < 0) {
		image_close(facts.img);
		return cli_fail(facts.name, "%s", err.text);
	}
	if (facts.img->ops->info)
		facts.n_fields = facts.img->ops->info(facts.img, facts.fields);
	if (cli->option[OPTION_JSON])
		print_json(&facts);
	else
		print_text(&facts);
	image_close(facts.img);
	return cli_flush_stdout();
}
