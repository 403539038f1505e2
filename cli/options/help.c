/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints help and manual from the rows of options.def. */
#include <string.h>
#include "cli.h"

#define WIDTH 78
#define INDENT 24

/*
 * Print words from column on, with line breaks before WIDTH and further lines
 * indented.
 */
static void
print_wrapped(const char *text, int column, int indent)
{
	while (*text) {
		int length = (int)strcspn(text, " ");
		if (column + 1 + length > WIDTH && column > indent) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		printf("%s%.*s", column > indent ? " " : "", length, text);
		column += length + (column > indent);
		text += length;
		text += *text == ' ';
	}
	putchar('\n');
}

/* "-f, --format FMT"; returns the number of characters. */
static int
print_spelling(const struct option_row *row)
{
	int n = 0;
	if (row->letter)
		n += printf("-%c, ", row->letter);
	n += printf("--%s", row->name);
	if (row->value)
		n += printf(" %s", row->value);
	return n;
}

/* In place of a group. */
#define ALL GROUP_COUNT
#define OFTEN (GROUP_COUNT + 1)

static bool
is_shown(const struct option_row *row, unsigned where, int group)
{
	if (!row->help || !(row->commands & where))
		return false;
	if (group == OFTEN)
		return row->often & where;
	return group == ALL || (int)row->group == group;
}

static void
print_options(unsigned where, int group)
{
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!is_shown(row, where, group))
			continue;
		printf("  ");
		int column = 2 + print_spelling(row);
		if (column > INDENT - 2) {
			putchar('\n');
			column = 0;
		}
		printf("%*s", INDENT - column, "");
		print_wrapped(row->help, INDENT, INDENT);
	}
}

static const struct {
	unsigned commands;
	const char *what;
	const char *line;
} examples[] = {
#define HONE_EXAMPLE(commands, what, line) {commands, what, line},
#include "options.def"
};

static void
print_examples(unsigned where)
{
	printf("\nExamples:\n");
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (examples[i].commands & where)
			printf("  %s:\n    %s\n", examples[i].what,
				examples[i].line);
}

void
cli_help(void)
{
	printf("Usage: hone [--cpu-limit LIST] COMMAND [OPTION]... "
	       "OPERAND...\nFast operations on disk images.\n\nCommands:\n");
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("  %-10s %s\n", cli_commands[i].name,
			cli_commands[i].summary);
	printf("\nOptions:\n");
	print_options(IN_GLOBAL, ALL);
	printf("\nSizes are in bytes, or end in k, M, G, T, P or E (powers of "
	       "1024): 64k or 64KiB.\n"
	       "Exit status: 0 success, 1 failure, 2 usage error. "
	       "For compare: 1 different,\n"
	       "2 failure; for check: 1 not safe, 2 not checked; "
	       "for all: 3 content refused\nor damaged, 4 try again.\n"
	       "'hone COMMAND --help' explains a command.\n");
	print_examples(IN_GLOBAL);
}

/* Returns whether the command has options that its help shows in a group
 * alone. */
static bool
has_more(unsigned where)
{
	for (int id = 0; id < OPTION_COUNT; id++)
		if (is_shown(&cli_options[id], where, ALL) &&
			!is_shown(&cli_options[id], where, OFTEN))
			return true;
	return false;
}

static void
print_groups(const char *command, unsigned where)
{
	printf("\nMore options: 'hone %s --help GROUP', where GROUP is one "
	       "of\n",
		command);
	for (int id = 0; id < GROUP_COUNT; id++)
		if (cli_has_group((enum group_id)id, where))
			printf("  %-10s %s\n", cli_groups[id].name,
				cli_groups[id].what);
	printf("  %-10s every option\n", "all");
}

/* Returns a group of the command, ALL, or -1 after a message. */
static int
find_group(const char *command, unsigned where, const char *name)
{
	char list[128] = "";
	size_t used = 0;

	if (strcmp(name, "all") == 0)
		return ALL;
	for (int id = 0; id < GROUP_COUNT; id++) {
		if (!cli_has_group((enum group_id)id, where))
			continue;
		if (strcmp(name, cli_groups[id].name) == 0)
			return id;
		used += (size_t)snprintf(list + used, sizeof(list) - used,
			"%s, ", cli_groups[id].name);
	}
	cli_fail(NULL,
		"--help: '%s' is not a group of options of hone %s; the groups "
		"are %sall",
		name, command, list);
	cli_point_at_help(command);
	return -1;
}

int
cli_command_help(enum command_id id, const char *name)
{
	const struct command_row *row = &cli_commands[id];
	unsigned where = 1u << id;
	int group = *name ? find_group(row->name, where, name) : OFTEN;

	if (group < 0)
		return CLI_USAGE;
	if (*name) {
		printf("Options of hone %s (%s):\n", row->name, name);
		print_options(where, group);
		return 0;
	}
	printf("Usage: hone %s [OPTION]...%s%s\n%s\n", row->name,
		*row->synopsis ? " " : "", row->synopsis, row->summary);
	print_examples(where);
	putchar('\n');
	print_wrapped(row->details, 0, 0);
	printf("\n%s:\n", has_more(where) ? "Most used options" : "Options");
	print_options(where, OFTEN);
	if (has_more(where))
		print_groups(row->name, where);
	return 0;
}

/* Prints reStructuredText for the manual. */
static void
print_rst_options(unsigned where)
{
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where) || !row->help)
			continue;
		printf(".. option:: ");
		print_spelling(row);
		printf("\n\n   ");
		print_wrapped(row->help, 3, 3);
		putchar('\n');
	}
}

static void
print_rst(const struct command_row *row)
{
	if (!row) {
		print_rst_options(IN_GLOBAL);
		return;
	}
	printf("**hone %s** [*OPTION*]...%s%s\n\n", row->name,
		*row->synopsis ? " " : "", row->synopsis);
	print_wrapped(row->details, 0, 0);
	putchar('\n');
	print_rst_options(1u << (row - cli_commands));
}

int
help_run(const struct cli *cli)
{
	const char *shell = cli->option[OPTION_COMPLETION];
	const struct command_row *row = NULL;
	int rc = 0;

	if (cli->n_operands) {
		const char *name = cli->operands[0];
		row = cli_command(name, strlen(name));
		if (!row)
			return cli_refuse_command(name);
	}
	if (shell && !completion_print(shell))
		return cli_usage(cli,
			"--completion: '%s' is not bash, zsh or fish", shell);
	if (!shell && cli->option[OPTION_RST])
		print_rst(row);
	else if (!shell && row)
		rc = cli_command_help((enum command_id)(row - cli_commands),
			cli->n_operands > 1 ? cli->operands[1] : "");
	else if (!shell)
		cli_help();
	return rc ? rc : cli_flush_stdout();
}
