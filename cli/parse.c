/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines, from the rows of options.def. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

const struct command_row cli_commands[COMMAND_COUNT] = {
#define HONE_COMMAND(name, operands, synopsis, summary, details)               \
	{#name, operands, synopsis, summary, details, name##_run},
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

/* Values of getopt_long() for options that have no letter: 256 + id. */
#define NO_LETTER 256

const struct command_row *
cli_command(const char *name, size_t length)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strlen(cli_commands[i].name) == length &&
			memcmp(cli_commands[i].name, name, length) == 0)
			return &cli_commands[i];
	return NULL;
}

struct tables {
	/* "+:" or "-:" first, two places an option, and the end */
	char letters[2 + 2 * OPTION_COUNT + 1];
	struct option names[OPTION_COUNT + 1];
};

static void
make_tables(struct tables *tables, unsigned where)
{
	char *letter = tables->letters;
	struct option *name = tables->names;

	/* Global options stand before the command, others anywhere. */
	if (where == IN_GLOBAL)
		*letter++ = '+';
	*letter++ = ':';
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where))
			continue;
		if (row->letter) {
			*letter++ = (char)row->letter;
			if (row->value)
				*letter++ = ':';
		}
		*name++ = (struct option){row->name,
			row->value ? required_argument : no_argument, NULL,
			NO_LETTER + id};
	}
	*letter = '\0';
	*name = (struct option){0};
}

static int
option_by_value(int value, unsigned where)
{
	if (value >= NO_LETTER)
		return value - NO_LETTER;
	for (int id = 0; id < OPTION_COUNT; id++)
		if (cli_options[id].letter == value &&
			(cli_options[id].commands & where))
			return id;
	return -1;
}

/* getopt_long() found something wrong; optopt is 0 for a long option. */
static int
refuse(int value, unsigned where, const char *command, const char *argument)
{
	if (value == ':')
		return cli_usage(command, "'%s' needs a value", argument);
	if (optopt == 0)
		return cli_refuse_word(where, command, argument);
	if (optopt >= NO_LETTER)
		return cli_usage(command, "'--%s' takes no value",
			cli_options[option_by_value(optopt, where)].name);
	return cli_refuse_letter(where, command, optopt);
}

/* -o A -o B means -o A,B. */
static int
join(struct cli *cli, const char *command, const char *value)
{
	const char *before = cli->option[OPTION_CREATE];
	char *joined;

	if (asprintf(&joined, "%s%s%s", before ? before : "", before ? "," : "",
		    value) < 0)
		return cli_fail(command, "out of memory");
	free(cli->joined);
	cli->option[OPTION_CREATE] = cli->joined = joined;
	return 0;
}

int
cli_parse(struct cli *cli, unsigned where, int argc, char **argv)
{
	struct tables tables;
	const char *command =
		where == IN_GLOBAL ? NULL : cli_commands[cli->command].name;

	make_tables(&tables, where);
	opterr = 0;
	/* 0: glibc forgets the state of an earlier parse */
	optind = 0;
	for (;;) {
		int value = getopt_long(
			argc, argv, tables.letters, tables.names, NULL);
		if (value == -1)
			break;
		if (value == '?' || value == ':')
			return refuse(value, where, command, argv[optind - 1]);
		int id = option_by_value(value, where);
		if (id != OPTION_CREATE)
			cli->option[id] = optarg ? optarg : "";
		else if (join(cli, command, optarg) != 0)
			return CLI_FAILED;
	}
	cli->n_operands = argc - optind;
	cli->operands = argv + optind;
	return 0;
}
