/* SPDX-License-Identifier: BSD-3-Clause */
#include "completion/completion.h"

/* The line is split at spaces: bash's words end at '=' and ':', too. */
static const char begin[] =
	"# bash completion for hone, made by 'hone help --completion bash'\n"
	"_hone()\n{\n"
	"\tlocal line=${COMP_LINE:0:COMP_POINT} command='' words='' kind=word\n"
	"\tlocal cur=${line##*[[:space:]]} prev value before='' i\n"
	"\tprev=${line%\"$cur\"}\n"
	"\tprev=${prev%\"${prev##*[![:space:]]}\"}\n"
	"\tprev=${prev##*[[:space:]]}\n"
	"\tvalue=$cur\n"
	"\t[[ $cur == --*=* ]] && prev=${cur%%=*} value=${cur#*=}\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t--cpu-limit) i=$((i + 1)) ;;\n"
	"\t\t-*) ;;\n"
	"\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
	"\t\tesac\n\tdone\n"
	"\tcase $command:$prev in\n";

static const char end[] =
	"\tcase $kind in\n"
	"\tword) mapfile -t COMPREPLY < "
	"<(compgen -W \"$words\" -- \"$value\") ;;\n"
	"\tlist)\n"
	"\t\t[[ $value == *,* ]] && before=${value%,*},\n"
	"\t\tmapfile -t COMPREPLY < "
	"<(compgen -P \"$before\" -W \"$words\" -- \"${value##*,}\")\n"
	"\t\t[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
	"\t\t;;\n"
	"\tpath | folder)\n"
	"\t\tvalue=${COMP_WORDS[COMP_CWORD]#=}\n"
	"\t\t[[ $kind == path ]] && i=-f || i=-d\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen $i -- \"$value\")\n"
	"\t\treturn\n"
	"\t\t;;\n"
	"\tesac\n"
	"\t# bash replaces what is behind the last of these.\n"
	"\tbefore=${value%\"${value##*[=:]}\"}\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n"
	"}\n"
	"complete -F _hone hone\n";

/* The pattern of an option, "convert:-f | convert:--format". */
static void
print_pattern(const char *command, const struct option_row *row)
{
	if (row->letter)
		printf("%s:-%c | ", command, row->letter);
	printf("%s:--%s", command, row->name);
}

static void
print_values(const char *command, unsigned where)
{
	static const char *const kinds[] = {
		"nothing", "word", "list", "path", "folder"};

	for (int i = 0; i < OPTION_COUNT; i++) {
		enum option_id id = (enum option_id)i;
		enum completion_kind kind = completion_kind(id);
		if (!completion_offers(id, where) || !cli_options[id].value)
			continue;
		putchar('\t');
		print_pattern(command, &cli_options[id]);
		printf(") kind=%s", kinds[kind]);
		if (kind == COMPLETION_WORD || kind == COMPLETION_LIST) {
			printf(" words='");
			completion_words(id);
			putchar('\'');
		}
		printf(" ;;\n");
	}
}

void
completion_bash(void)
{
	fputs(begin, stdout);
	print_values("", IN_GLOBAL);
	for (int i = 0; i < COMMAND_COUNT; i++)
		print_values(cli_commands[i].name, 1u << i);
	printf("\t:*) words='");
	completion_commands();
	putchar(' ');
	completion_options(IN_GLOBAL);
	printf("' ;;\n\thelp:help) words='");
	completion_commands();
	printf("' ;;\n");
	for (int i = 0; i < COMMAND_COUNT; i++) {
		printf("\t%s:*)\n\t\tkind=path\n"
		       "\t\t[[ $cur == -* ]] && kind=word words='",
			cli_commands[i].name);
		completion_options(1u << i);
		printf("'\n\t\t;;\n");
	}
	printf("\t*) kind=path ;;\n\tesac\n");
	fputs(end, stdout);
}
