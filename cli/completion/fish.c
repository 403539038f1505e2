/* SPDX-License-Identifier: BSD-3-Clause */
#include "completion/completion.h"

static const char begin[] =
	"# fish completion for hone, made by 'hone help --completion fish'\n"
	"function __hone_list\n"
	"    set -l token (string replace -r '^--[^=]*=' '' -- "
	"(commandline -ct))\n"
	"    set -l before (string replace -r '[^,]*$' '' -- $token)\n"
	"    printf '%s\\n' \"$before\"$argv\n"
	"end\n";

/* What follows the names of an option that has a value. */
static void
print_value(enum option_id id)
{
	enum completion_kind kind = completion_kind(id);

	printf(kind == COMPLETION_FILE ? " -r -F" : " -x");
	if (kind == COMPLETION_WORD)
		printf(" -a '");
	else if (kind == COMPLETION_LIST)
		printf(" -a '(__hone_list ");
	else if (kind == COMPLETION_FOLDER)
		printf(" -a '(__fish_complete_directories)'");
	if (kind == COMPLETION_WORD || kind == COMPLETION_LIST) {
		completion_words(id);
		printf(kind == COMPLETION_LIST ? ")'" : "'");
	}
}

/* condition: a command of fish */
static void
print_options(const char *condition, const char *command, unsigned where)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		enum option_id id = (enum option_id)i;
		const struct option_row *row = &cli_options[id];
		if (!completion_offers(id, where))
			continue;
		printf("complete -c hone -n '%s%s'", condition, command);
		if (row->letter)
			printf(" -s %c", row->letter);
		printf(" -l %s -d '", row->name);
		completion_summary(row->help);
		putchar('\'');
		if (row->value && row->value[0] != '[')
			print_value(id);
		putchar('\n');
	}
}

static void
print_operands(const char *condition, enum option_id id)
{
	printf("complete -c hone -n '%s' -f -a '", condition);
	if (id == OPTION_COUNT)
		completion_commands();
	else
		completion_words(id);
	printf("'\n");
}

void
completion_fish(void)
{
	fputs(begin, stdout);
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("complete -c hone -n __fish_use_subcommand -f -a %s -d "
		       "'%s'\n",
			cli_commands[i].name, cli_commands[i].summary);
	print_options("__fish_use_subcommand", "", IN_GLOBAL);
	for (int i = 0; i < COMMAND_COUNT; i++)
		print_options("__fish_seen_subcommand_from ",
			cli_commands[i].name, 1u << i);
	print_operands("__fish_seen_subcommand_from help", OPTION_COUNT);
	print_operands("not __fish_use_subcommand; and __fish_prev_arg_in -h "
		       "--help",
		OPTION_EXPLAIN);
}
