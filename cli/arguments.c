/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of options that several commands have. */
#include <assert.h>
#include <string.h>
#include "cli.h"

#define DEFAULT_BLOCK 4096
#define MIN_BLOCK 512
#define MAX_BLOCK ((uint64_t)2 << 20)

int
cli_format(const struct cli *cli, enum option_id id,
	const struct image_ops **format)
{
	const char *name = cli->option[id];

	*format = NULL;
	if (!name)
		return 0;
	*format = image_format_by_name(name);
	if (*format)
		return 0;
	char list[CLI_FORMATS];
	return cli_usage(cli_commands[cli->command].name,
		"'%s' is no format; known are %s", name,
		cli_list_formats(list, "", false));
}

const char *
cli_list_formats(char *list, const char *before, bool written)
{
	const struct image_ops *format;
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; (format = image_format(i)); i++) {
		if (written && !format->write)
			continue;
		int n = snprintf(list + used, CLI_FORMATS - used, "%s%s%s",
			used ? ", " : "", before, format->name);
		used += (size_t)n;
		assert(used < CLI_FORMATS);
	}
	return list;
}

static int
parse_block(const struct cli *cli, struct image_run *run)
{
	const char *text = cli->option[OPTION_BLOCK];
	const char *command = cli_commands[cli->command].name;
	uint64_t block = DEFAULT_BLOCK;

	if (text && !cli_parse_size(text, &block))
		return cli_usage(command, "-S: '%s' is no size", text);
	if (block == 0)
		return cli_usage(command,
			"-S 0: zero detection cannot be turned off; "
			"-S takes 512 to 2M");
	if (block < MIN_BLOCK || block > MAX_BLOCK || (block & (block - 1)))
		return cli_usage(command,
			"-S: '%s' is not a power of two from 512 to 2M", text);
	run->block = (size_t)block;
	return 0;
}

int
cli_run(const struct cli *cli, struct image_run *run)
{
	const char *method = cli->option[OPTION_METHOD];

	*run = (struct image_run){.method = IMAGE_AUTO};
	if (method && strcmp(method, "map") == 0)
		run->method = IMAGE_MAP;
	else if (method && strcmp(method, "read") == 0)
		run->method = IMAGE_READ;
	else if (method && strcmp(method, "auto") != 0)
		return cli_usage(cli_commands[cli->command].name,
			"--method: '%s' is not auto, map or read", method);
	return parse_block(cli, run);
}
