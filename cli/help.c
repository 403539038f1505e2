/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints help, completion and manual from the rows of options.def. */
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

static void
print_options(unsigned where)
{
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where) || !row->help)
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
#define HONE_COMMAND(...)
#define HONE_OPTION(...)
#define HONE_EXAMPLE(commands, what, line) {commands, what, line},
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION
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
	print_options(IN_GLOBAL);
	printf("\nSizes are in bytes, or end in k, M, G, T, P or E (powers of "
	       "1024): 64k or 64KiB.\n"
	       "Exit status: 0 success, 1 failure, 2 usage error. "
	       "For compare: 1 different,\n"
	       "2 failure; for check: 1 not safe, 2 not checked; "
	       "for all: 3 content refused\nor damaged, 4 try again.\n"
	       "'hone COMMAND --help' explains a command.\n");
	print_examples(IN_GLOBAL);
}

void
cli_command_help(enum command_id id)
{
	const struct command_row *row = &cli_commands[id];

	printf("Usage: hone %s [OPTION]...%s%s\n%s\n\n", row->name,
		*row->synopsis ? " " : "", row->synopsis, row->summary);
	print_wrapped(row->details, 0, 0);
	printf("\nOptions:\n");
	print_options(1u << id);
	print_examples(1u << id);
}

static void
complete_options(unsigned where)
{
	for (int id = 0; id < OPTION_COUNT; id++)
		if ((cli_options[id].commands & where) && cli_options[id].help)
			printf(" --%s", cli_options[id].name);
}

static void
complete_commands(void)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("%s%s", i ? " " : "", cli_commands[i].name);
}

static void
complete_formats(bool written)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (written ? image_format_writable(format)
			    : image_format_readable(format))
			printf(" %s", image_format_name(format));
}

/* What follows "hone help" and the options of formats. */
static void
complete_values(void)
{
	printf("\tcase $command:${COMP_WORDS[COMP_CWORD - 1]} in\n"
	       "\thelp:help) [[ $cur == -* ]] || words='");
	complete_commands();
	printf("' ;;\n\t:*) ;;\n\t*:-f|*:--format|*:-F|*:--format-b) words='");
	complete_formats(false);
	printf("' ;;\n\t*:-O|*:--output-format) words='");
	complete_formats(true);
	printf("' ;;\n\tesac\n");
}

static void
print_completion(void)
{
	printf("# bash completion for hone, made by "
	       "'hone help --completion bash'\n"
	       "_hone()\n{\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words='' command='' i\n"
	       "\tCOMPREPLY=()\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\tcase ${COMP_WORDS[i]} in\n"
	       "\t\t--cpu-limit) i=$((i + 1)) ;;\n"
	       "\t\t-*) ;;\n"
	       "\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
	       "\t\tesac\n\tdone\n"
	       "\tcase $command in\n\t'') words='");
	complete_commands();
	complete_options(IN_GLOBAL);
	printf("' ;;\n");
	for (int i = 0; i < COMMAND_COUNT; i++) {
		printf("\t%s) [[ $cur == -* ]] && words='",
			cli_commands[i].name);
		complete_options(1u << i);
		printf("' ;;\n");
	}
	printf("\tesac\n");
	complete_values();
	printf("\tif [[ -n $words ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < "
	       "<(compgen -W \"$words\" -- \"$cur\")\n"
	       "\telse\n"
	       "\t\tcompopt -o filenames\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	       "\tfi\n}\n"
	       "complete -F _hone hone\n");
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

	if (shell && strcmp(shell, "bash") != 0)
		return cli_usage(
			"help", "--completion: '%s' is not bash", shell);
	if (cli->n_operands) {
		const char *name = cli->operands[0];
		row = cli_command(name, strlen(name));
		if (!row)
			return cli_refuse_command(name);
	}
	if (shell)
		print_completion();
	else if (cli->option[OPTION_RST])
		print_rst(row);
	else if (row)
		cli_command_help((enum command_id)(row - cli_commands));
	else
		cli_help();
	return cli_flush_stdout();
}
