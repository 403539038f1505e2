/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines, from the rows of options.def. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* Values of getopt_long() for options that have no letter: 256 + id; and for
 * words that have a hint. */
#define NO_LETTER 256
#define HINT (NO_LETTER + OPTION_COUNT)

struct tables {
	/* "+:" or "-:" first, two places an option or hint, and the end */
	char letters[2 + 2 * (OPTION_COUNT + HINT_COUNT) + 1];
	struct option names[OPTION_COUNT + HINT_COUNT + 1];
};

static char *
add_letter(char *at, int letter, bool value)
{
	*at++ = (char)letter;
	if (value)
		*at++ = ':';
	return at;
}

/* getopt_long() also knows what is refused with a hint: so a value of it does
 * not become an operand. */
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
		if (row->letter)
			letter = add_letter(letter, row->letter, row->value);
		*name++ = (struct option){row->name,
			row->value ? required_argument : no_argument, NULL,
			NO_LETTER + id};
	}
	for (size_t i = 0; i < HINT_COUNT; i++) {
		const struct hint_row *row = &cli_hints[i];
		if (!(row->commands & where) || row->word[0] != '-')
			continue;
		if (row->word[1] == '-')
			*name++ = (struct option){row->word + 2,
				row->values ? required_argument : no_argument,
				NULL, HINT + (int)i};
		else if (row->word[2] == '\0')
			letter = add_letter(letter, row->word[1], row->values);
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
static void
refuse(int value, unsigned where, const char *argument)
{
	if (value == ':' && optopt < HINT &&
		option_by_value(optopt, where) >= 0)
		cli_complain("'%s' needs a value", argument);
	else if (optopt == 0)
		cli_refuse_word(where, argument);
	else if (optopt >= HINT)
		cli_refuse_word(where, cli_hints[optopt - HINT].word);
	else if (optopt >= NO_LETTER)
		cli_complain("'--%s' takes no value",
			cli_options[option_by_value(optopt, where)].name);
	else
		cli_refuse_letter(where, optopt);
}

/* A word that has a hint, or '?' or ':'. */
static bool
is_wrong(int value, unsigned where)
{
	return value >= HINT || option_by_value(value, where) < 0;
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
	bool wrong = false;
	for (;;) {
		int value = getopt_long(
			argc, argv, tables.letters, tables.names, NULL);
		if (value == -1)
			break;
		if (is_wrong(value, where)) {
			wrong = true;
			if (value != '?' && value != ':')
				optopt = value;
			refuse(value, where, argv[optind - 1]);
			continue;
		}
		int id = option_by_value(value, where);
		if (id != OPTION_CREATE)
			cli->option[id] = optarg ? optarg : "";
		else if (join(cli, command, optarg) != 0)
			return CLI_FAILED;
	}
	if (wrong)
		return cli_point_at_help(command);
	cli->n_operands = argc - optind;
	cli->operands = argv + optind;
	return 0;
}
