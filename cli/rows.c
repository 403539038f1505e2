/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of options.def as tables. */
#include <string.h>
#include "cli.h"

const struct command_row cli_commands[COMMAND_COUNT] = {
#define HONE_COMMAND(name, operands, synopsis, summary, details)               \
	{#name, operands, synopsis, summary, details},
#define HONE_OPTION(...)
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION
};

const struct option_row cli_options[OPTION_COUNT] = {
#define HONE_COMMAND(...)
#define HONE_OPTION(id, commands, letter, name, value, help)                   \
	{commands, letter, name, value, help},
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION
};

const struct hint_row cli_hints[] = {
#define HONE_COMMAND(...)
#define HONE_OPTION(...)
#define HONE_HINT(commands, word, values, hint) {commands, word, values, hint},
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION
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
