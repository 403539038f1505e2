/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses command lines by the rows of options.def. */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* Values of getopt_long() for options that have no letter: 256 + id. */
#define NO_LETTER 256

struct tables {
	/* "+:" or ":" first, two characters for each option or hint, and the
	 * end */
	char letters[2 + 2 * (OPTION_COUNT + HINT_COUNT) + 1];
	struct option names[OPTION_COUNT + 1];
};

/* The options that were refused, so that each message is printed once. */
struct refused {
	bool letters[UCHAR_MAX + 1];
	/* long options, which may include a value after '=' */
	const char **words;
	size_t n;
	size_t room;
};

static char *
add_letter(char *at, int letter, bool value)
{
	*at++ = (char)letter;
	if (value)
		*at++ = ':';
	return at;
}

/* Returns whether the value may be left out, as in "--help [GROUP]". */
static bool
is_optional(const struct option_row *row)
{
	return row->value && row->value[0] == '[';
}

static const struct alias {
	unsigned commands;
	const char *word;
	enum option_id id;
} aliases[ALIAS_COUNT] = {
#define HONE_ALIAS(commands, word, id) {commands, word, OPTION_##id},
#include "options.def"
};

static struct option
name_of(const char *name, int id)
{
	const struct option_row *row = &cli_options[id];

	return (struct option){name,
		is_optional(row) ? optional_argument
		: row->value     ? required_argument
				 : no_argument,
		NULL, NO_LETTER + id};
}

/*
 * The tables include the letters that are refused with a hint, so that a value
 * of such a letter does not become an operand. The tables include neither
 * aliases nor the words with a hint, which would make abbreviations of options
 * ambiguous.
 */
static void
make_tables(struct tables *tables, unsigned where)
{
	char *letter = tables->letters;
	struct option *name = tables->names;

	/* Global options precede the command; other options may be anywhere. */
	if (where == IN_GLOBAL)
		*letter++ = '+';
	*letter++ = ':';
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where))
			continue;
		if (row->letter)
			letter = add_letter(letter, row->letter,
				row->value && !is_optional(row));
		*name++ = name_of(row->name, id);
	}
	for (size_t i = 0; i < HINT_COUNT; i++) {
		const struct hint_row *row = &cli_hints[i];
		if ((row->commands & where) && row->word[0] == '-' &&
			row->word[1] != '-' && row->word[2] == '\0')
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

/* Without memory, a message may be printed again. */
static bool
is_first(struct refused *refused, const char *word)
{
	size_t length = strcspn(word, "=");

	if (!refused->words)
		refused->words = calloc(refused->room, sizeof(*refused->words));
	if (!refused->words)
		return true;
	for (size_t i = 0; i < refused->n; i++)
		if (strcspn(refused->words[i], "=") == length &&
			memcmp(refused->words[i], word, length) == 0)
			return false;
	refused->words[refused->n++] = word;
	return true;
}

static bool
is_first_letter(struct refused *refused, int letter)
{
	bool *before = &refused->letters[(unsigned char)letter];
	bool first = !*before;

	*before = true;
	return first;
}

/* Report an error of getopt_long(); optopt is 0 for a long option. */
static void
refuse(struct refused *refused, int value, unsigned where, const char *argument)
{
	int id = optopt ? option_by_value(optopt, where) : -1;

	if (value == ':' && id >= 0) {
		cli_fail(NULL, "'%s' needs a value", argument);
	} else if (optopt == 0) {
		if (is_first(refused, argument))
			cli_refuse_word(where, argument);
	} else if (optopt >= NO_LETTER) {
		if (is_first(refused, cli_options[id].name))
			cli_fail(NULL, "'--%s' takes no value",
				cli_options[id].name);
	} else if (is_first_letter(refused, optopt)) {
		cli_refuse_letter(where, optopt);
	}
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

/*
 * The index of the word that getopt_long() reads next; argc or more if there is
 * no option. The word behind it stays where it is, but the option itself moves
 * in front of the operands: with musl at once, with glibc at the next call.
 */
static int
find_option(int argc, char **argv, const struct tables *tables)
{
	int at = optind ? optind : 1;

	if (tables->letters[0] != '+')
		while (at < argc && (argv[at][0] != '-' || !argv[at][1]))
			at++;
	return at;
}

/* Takes a word as part of the option before it, wherever that option is now. */
static const char *
take_word(char **argv, int at)
{
	char *word = argv[at];

	memmove(&argv[optind + 1], &argv[optind],
		(size_t)(at - optind) * sizeof(*argv));
	argv[optind++] = word;
	return word;
}

/* The value of an option; one that may be left out is the next word, unless
 * another letter is before that. */
static const char *
value_of(int id, int argc, char **argv, const char *option, int next)
{
	if (optarg)
		return optarg;
	if (is_optional(&cli_options[id]) && argv[optind - 1] == option &&
		next < argc && argv[next][0] != '-')
		return take_word(argv, next);
	return "";
}

/* The alias that a word is, before its value; NULL if it is none. */
static const struct alias *
find_alias(unsigned where, const char *word)
{
	if (strncmp(word, "--", 2) != 0)
		return NULL;
	word += 2;
	size_t length = strcspn(word, "=");
	for (const struct alias *alias = aliases; alias < aliases + ALIAS_COUNT;
		alias++)
		if ((alias->commands & where) &&
			strlen(alias->word) == length &&
			memcmp(alias->word, word, length) == 0)
			return alias;
	return NULL;
}

/* getopt_long(), which takes an alias as a whole word only. */
static int
next_option(unsigned where, int argc, char **argv, const char *option,
	const struct tables *tables)
{
	const struct alias *alias = find_alias(where, option);

	if (!alias)
		return getopt_long(
			argc, argv, tables->letters, tables->names, NULL);
	const struct option names[] = {name_of(alias->word, alias->id), {0}};
	return getopt_long(argc, argv, tables->letters, names, NULL);
}

static int
parse(struct cli *cli, unsigned where, int argc, char **argv,
	struct refused *refused)
{
	struct tables tables;
	const char *command =
		where == IN_GLOBAL ? NULL : cli_commands[cli->command].name;

	make_tables(&tables, where);
	opterr = 0;
	/* 0: glibc resets the state of an earlier parse */
	optind = 0;
	bool wrong = false;
	for (;;) {
		int at = find_option(argc, argv, &tables);
		const char *option = at < argc ? argv[at] : "";
		int value = next_option(where, argc, argv, option, &tables);
		if (value == -1)
			break;
		int id = option_by_value(value, where);
		if (id < 0) {
			wrong = true;
			/* a letter with a hint */
			if (value != '?' && value != ':')
				optopt = value;
			refuse(refused, value, where, option);
			if (optopt == 0 && at + 1 < argc &&
				cli_hint_takes_value(where, option))
				take_word(argv, at + 1);
		} else if (id != OPTION_CREATE) {
			cli->option[id] =
				value_of(id, argc, argv, option, at + 1);
		} else if (join(cli, command, optarg) != 0) {
			return CLI_FAILED;
		}
	}
	if (wrong)
		return cli_point_at_help(command);
	cli->n_operands = argc - optind;
	cli->operands = argv + optind;
	return 0;
}

int
cli_parse(struct cli *cli, unsigned where, int argc, char **argv)
{
	struct refused refused = {.room = (size_t)argc + 1};

	int rc = parse(cli, where, argc, argv, &refused);
	free(refused.words);
	return rc;
}

/* The rows of options.def as tables. */

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
