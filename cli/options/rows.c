/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of options.def as tables. */
#include <string.h>
#include "cli.h"

const struct command_row cli_commands[COMMAND_COUNT] = {
#define HONE_COMMAND(name, operands, synopsis, summary, details)               \
	{#name, operands, synopsis, summary, details},
#include "options.def"
};

const struct group_row cli_groups[GROUP_COUNT] = {
#define HONE_GROUP(name, what) {#name, what},
#include "options.def"
};

const struct option_row cli_options[OPTION_COUNT] = {
#define HONE_OPTION(id, group, often, commands, letter, name, value, help)     \
	{GROUP_##group, often, commands, letter, name, value, help},
#include "options.def"
};

const struct hint_row cli_hints[] = {
#define HONE_HINT(commands, word, values, hint) {commands, word, values, hint},
#include "options.def"
};

const struct command_row *
cli_command(const char *name, size_t length)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strlen(cli_commands[i].name) == length &&
			memcmp(cli_commands[i].name, name, length) == 0)
			return &cli_commands[i];
	return NULL;
}

bool
cli_has_group(enum group_id group, unsigned where)
{
	for (int id = 0; id < OPTION_COUNT; id++)
		if (cli_options[id].group == group && cli_options[id].help &&
			(cli_options[id].commands & where))
			return true;
	return false;
}
