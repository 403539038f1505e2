/* SPDX-License-Identifier: BSD-3-Clause */
#include "completion/completion.h"

static const char begin[] =
	"#compdef hone\n"
	"# zsh completion for hone, made by 'hone help --completion zsh'\n"
	"_hone_list()\n{\n"
	"\tcompset -P '*,'\n"
	"\tcompadd -S '' -- \"$@\"\n"
	"}\n\n"
	"_hone()\n{\n"
	"\tlocal curcontext=$curcontext state line\n"
	"\tlocal -a commands\n"
	"\ttypeset -A opt_args\n"
	"\tcommands=(\n";

static const char end[] = "\t\tesac ;;\n"
			  "\tesac\n"
			  "}\n\n"
			  "_hone \"$@\"\n";

/* What follows the description: a message and an action. */
static void
print_value(enum option_id id)
{
	const char *value = cli_options[id].value;

	/* brackets: the value may be left out */
	printf(":%s:", *value == '[' ? "GROUP" : value);
	switch (completion_kind(id)) {
	case COMPLETION_NOTHING:
		putchar(' ');
		break;
	case COMPLETION_WORD:
		putchar('(');
		completion_words(id);
		putchar(')');
		break;
	case COMPLETION_LIST:
		printf(" _hone_list ");
		completion_words(id);
		break;
	case COMPLETION_FILE:
		printf("_files");
		break;
	case COMPLETION_FOLDER:
		printf("_files -/");
		break;
	}
}

/* '(-f --format)'{-f+,--format=}'[the format]:FMT:(raw qcow2)' */
static void
print_option(enum option_id id)
{
	const struct option_row *row = &cli_options[id];
	bool needs = row->value && row->value[0] != '[';

	printf(" \\\n\t\t\t");
	if (row->letter)
		printf("'(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name,
			row->letter, needs ? "+" : "", row->name,
			needs ? "=" : "");
	else
		printf("'--%s%s[", row->name, needs ? "=" : "");
	completion_summary(row->help);
	putchar(']');
	if (row->value)
		print_value(id);
	putchar('\'');
}

static void
print_options(unsigned where)
{
	for (int id = 0; id < OPTION_COUNT; id++)
		if (completion_offers((enum option_id)id, where))
			print_option((enum option_id)id);
}

void
completion_zsh(void)
{
	fputs(begin, stdout);
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("\t\t'%s:%s'\n", cli_commands[i].name,
			cli_commands[i].summary);
	/* -A: an option behind the command is the command's. */
	printf("\t)\n\t_arguments -C -A '-*'");
	print_options(IN_GLOBAL);
	printf(" \\\n\t\t\t'1: :->command' '*:: :->rest' && return\n"
	       "\tcase $state in\n"
	       "\tcommand) _describe command commands ;;\n"
	       "\trest)\n\t\tcase $words[1] in\n");
	for (int i = 0; i < COMMAND_COUNT; i++) {
		printf("\t\t%s)\n\t\t\t_arguments -s", cli_commands[i].name);
		print_options(1u << i);
		printf(" \\\n\t\t\t'");
		if (i == COMMAND_help) {
			printf("1:COMMAND:(");
			completion_commands();
			printf(")' '2:GROUP:(");
			completion_words(OPTION_EXPLAIN);
			printf(")' ;;\n");
		} else {
			printf("*:IMAGE:_files' ;;\n");
		}
	}
	fputs(end, stdout);
}
