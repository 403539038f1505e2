/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses command lines by the rows of options.def, as getopt_long() does: with
 * operands anywhere, abbreviations of long options, and letters in one word.
 */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

struct parser {
	struct cli *cli;
	/* cli, or NULL before the command */
	const struct cli *scope;
	unsigned where;
	int argc;
	char **argv;
	/* the next word */
	int at;
};

static const struct alias {
	unsigned commands;
	const char *word;
	enum option_id id;
} aliases[] = {
#define HONE_ALIAS(commands, word, id) {commands, word, OPTION_##id},
#include "options.def"
};

static int
find_letter(unsigned where, char letter)
{
	for (int id = 0; id < OPTION_COUNT; id++)
		if (cli_options[id].letter == letter &&
			(cli_options[id].commands & where))
			return id;
	return -1;
}

/* An alias has no abbreviation. */
static int
find_name(unsigned where, const char *name, size_t length)
{
	int found = -1;
	bool several = false;

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if ((aliases[i].commands & where) &&
			strlen(aliases[i].word) == length &&
			memcmp(aliases[i].word, name, length) == 0)
			return (int)aliases[i].id;
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where) ||
			strncmp(row->name, name, length) != 0)
			continue;
		if (row->name[length] == '\0')
			return id;
		several = found >= 0;
		found = id;
	}
	return several ? -1 : found;
}

/* -o A -o B means -o A,B. */
static int
join(struct cli *cli, const char *value)
{
	const char *before = cli->option[OPTION_CREATE];
	char *joined;

	if (asprintf(&joined, "%s%s%s", before ? before : "", before ? "," : "",
		    value) < 0)
		return cli_fail("convert", "out of memory");
	free(cli->joined);
	cli->option[OPTION_CREATE] = cli->joined = joined;
	return 0;
}

/* Set an option to rest, which follows it in its word, or to the next word. */
static int
set_value(struct parser *p, int id, const char *rest, const char *word)
{
	const char *next = p->at < p->argc ? p->argv[p->at] : NULL;
	/* "--help [GROUP]" */
	bool optional = cli_options[id].value[0] == '[';

	if (rest) {
		next = rest;
	} else if (optional && (!next || *next == '-')) {
		next = "";
	} else if (next) {
		p->at++;
	} else {
		return cli_usage(p->scope, "'%s' needs a value", word);
	}
	if (id == OPTION_CREATE)
		return join(p->cli, next);
	p->cli->option[id] = next;
	return 0;
}

static int
parse_name(struct parser *p, const char *word)
{
	size_t length = strcspn(word, "=");
	const char *rest = word[length] ? word + length + 1 : NULL;
	int id = find_name(p->where, word + 2, length - 2);

	if (id < 0)
		return cli_refuse_word(p->scope, word);
	if (cli_options[id].value)
		return set_value(p, id, rest, word);
	if (rest)
		return cli_usage(p->scope, "'--%s' takes no value",
			cli_options[id].name);
	p->cli->option[id] = "";
	return 0;
}

static int
parse_letters(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const char text[] = {'-', *c, '\0'};
		const char *rest = c[1] ? c + 1 : NULL;
		int id = find_letter(p->where, *c);
		if (id < 0)
			return cli_refuse_word(p->scope, text);
		const char *value = cli_options[id].value;
		if (value && !(value[0] == '[' && rest))
			return set_value(p, id, rest, word);
		p->cli->option[id] = "";
	}
	return 0;
}

int
cli_parse(struct cli *cli, unsigned where, int argc, char **argv)
{
	struct parser p = {.cli = cli,
		.scope = where == IN_GLOBAL ? NULL : cli,
		.where = where,
		.argc = argc,
		.argv = argv,
		.at = 1};
	bool global = where == IN_GLOBAL;
	bool ended = false;
	int rc = 0;

	/* The operands move to the front; the command ends the global options.
	 */
	cli->operands = argv + 1;
	while (rc == 0 && p.at < argc && !(global && ended)) {
		char *word = argv[p.at++];
		if (ended || word[0] != '-' || word[1] == '\0') {
			ended = ended || global;
			cli->operands[cli->n_operands++] = word;
		} else if (strcmp(word, "--") == 0) {
			ended = true;
		} else {
			rc = word[1] == '-' ? parse_name(&p, word)
					    : parse_letters(&p, word);
		}
	}
	while (p.at < argc)
		cli->operands[cli->n_operands++] = argv[p.at++];
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
#define HONE_HINT(commands, word, hint) {commands, word, hint},
#include "options.def"
	{0, NULL, NULL},
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
