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
	unsigned where;
	int argc;
	char **argv;
	/* the next word */
	int at;
	bool wrong;
	/* the first words that were refused: each has one message */
	char refused[32][64];
	int n_refused;
};

static const struct alias {
	unsigned commands;
	const char *word;
	enum option_id id;
} aliases[ALIAS_COUNT] = {
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

	for (size_t i = 0; i < ALIAS_COUNT; i++)
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

/* Returns whether a word, up to its value, is refused for the first time. */
static bool
is_first(struct parser *p, const char *word)
{
	const int most = sizeof(p->refused) / sizeof(p->refused[0]);
	char text[sizeof(p->refused[0])];

	p->wrong = true;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(word, "="), word);
	for (int i = 0; i < p->n_refused; i++)
		if (strcmp(p->refused[i], text) == 0)
			return false;
	if (p->n_refused < most)
		memcpy(p->refused[p->n_refused++], text, sizeof(text));
	return true;
}

/* An option of qemu-img may have a value, which is then no operand. */
static void
refuse(struct parser *p, const char *word, bool has_value)
{
	if (is_first(p, word))
		cli_refuse_word(p->where, word);
	if (!has_value && p->at < p->argc &&
		cli_hint_takes_value(p->where, word))
		p->at++;
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
		p->wrong = true;
		cli_fail(NULL, "'%s' needs a value", word);
		return 0;
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

	if (id < 0) {
		refuse(p, word, rest);
		return 0;
	}
	if (cli_options[id].value)
		return set_value(p, id, rest, word);
	if (!rest)
		p->cli->option[id] = "";
	else if (is_first(p, cli_options[id].name))
		cli_fail(NULL, "'--%s' takes no value", cli_options[id].name);
	return 0;
}

static int
parse_letters(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const char text[] = {'-', *c, '\0'};
		const char *rest = c[1] ? c + 1 : NULL;
		int id = find_letter(p->where, *c);
		const char *value = id < 0 ? NULL : cli_options[id].value;
		if (id < 0) {
			refuse(p, text, rest);
			if (cli_hint_takes_value(p->where, text))
				return 0;
		} else if (value && !(value[0] == '[' && rest)) {
			return set_value(p, id, rest, word);
		} else {
			p->cli->option[id] = "";
		}
	}
	return 0;
}

int
cli_parse(struct cli *cli, unsigned where, int argc, char **argv)
{
	struct parser p = {.cli = cli,
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
	if (rc == 0 && p.wrong)
		return cli_point_at_help(
			global ? NULL : cli_commands[cli->command].name);
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
