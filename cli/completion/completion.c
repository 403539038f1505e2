/* SPDX-License-Identifier: BSD-3-Clause */
/* Scripts for shells: what each shell offers, then the script of each shell. */
#include <string.h>
#include <hone/cpu.h>
#include "cli.h"

/* How a shell completes the value of an option. */
enum completion_kind {
	/* numbers, sizes, names in images */
	COMPLETION_NOTHING,
	COMPLETION_WORD,
	/* words with commas between them */
	COMPLETION_LIST,
	COMPLETION_FILE,
	COMPLETION_FOLDER,
};

#define CACHE_MODES "none writeback writethrough directsync unsafe"

static const char *before;

static void
put(const char *word)
{
	printf("%s%s", before, word);
	before = " ";
}

static void
put_readable(void)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (format->open)
			put(format->name);
}

static void
put_writable(void)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (format->create)
			put(format->name);
}

static void
put_algorithms(void)
{
	const struct image_algorithm *algorithm;

	for (size_t i = 0; (algorithm = image_algorithm(i)); i++)
		put(algorithm->name);
}

/* "key=" for a size or a number, "key=word" for each word. */
static void
put_choices(const struct image_option *option)
{
	char word[128];

	for (; option->name; option++) {
		const char *words = option->type == IMAGE_OPTION_FLAG ? "on off"
				    : option->type == IMAGE_OPTION_WORD
					    ? option->words
					    : "";
		do {
			size_t length = strcspn(words, " ");
			snprintf(word, sizeof(word), "%s=%.*s", option->name,
				(int)length, words);
			put(word);
			words += length + (words[length] == ' ');
		} while (*words);
	}
}

static void
put_created(void)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (format->create)
			put_choices(image_format_options(format));
	put_choices(image_open_options());
}

static void
put_source(void)
{
	put_choices(image_open_options());
}

static void
put_groups(void)
{
	for (int id = 0; id < GROUP_COUNT; id++)
		put(cli_groups[id].name);
	put("all");
}

static void
put_features(void)
{
	const char *name;

	put("all");
	put("none");
	for (unsigned bit = 0; bit < 64; bit++)
		if ((name = hone_cpu_feature_name(UINT64_C(1) << bit)))
			put(name);
}

/* The words for the values of options: a text, or what prints them. */
static const struct {
	enum completion_kind kind;
	const char *words;
	void (*put)(void);
} values[OPTION_COUNT] = {
	[OPTION_FORMAT] = {COMPLETION_WORD, .put = put_readable},
	[OPTION_FORMAT_B] = {COMPLETION_WORD, .put = put_readable},
	[OPTION_OUTPUT_FORMAT] = {COMPLETION_WORD, .put = put_writable},
	[OPTION_PACK] = {COMPLETION_WORD, .words = "zst gz none"},
	[OPTION_OCI_TYPE] = {COMPLETION_WORD,
		.words = "containerdisk artifact"},
	[OPTION_CACHE] = {COMPLETION_WORD, .words = "auto keep drop"},
	[OPTION_TARGET_CACHE] = {COMPLETION_WORD, .words = CACHE_MODES},
	[OPTION_SOURCE_CACHE] = {COMPLETION_WORD, .words = CACHE_MODES},
	[OPTION_WINDOW] = {COMPLETION_WORD, .words = "12 15"},
	[OPTION_COMPLETION] = {COMPLETION_WORD, .words = "bash zsh fish"},
	[OPTION_EXPLAIN] = {COMPLETION_WORD, .put = put_groups},
	[OPTION_CREATE] = {COMPLETION_LIST, .put = put_created},
	[OPTION_SOURCE] = {COMPLETION_LIST, .put = put_source},
	[OPTION_DIGEST] = {COMPLETION_LIST, .put = put_algorithms},
	[OPTION_ALGORITHM] = {COMPLETION_LIST, .put = put_algorithms},
	[OPTION_UNPACK] = {COMPLETION_LIST,
		.words = "auto none gzip xz zstd bzip2"},
	[OPTION_TRACE] = {COMPLETION_LIST, .words = "http nbd"},
	[OPTION_CPU_LIMIT] = {COMPLETION_LIST, .put = put_features},
	[OPTION_EXPECT_FILE] = {.kind = COMPLETION_FILE},
};

static enum completion_kind
kind_of(enum option_id id)
{
	const char *value = cli_options[id].value;

	if (values[id].kind || !value)
		return values[id].kind;
	if (strcmp(value, "DIR") == 0)
		return COMPLETION_FOLDER;
	return strstr(value, "FILE") ? COMPLETION_FILE : COMPLETION_NOTHING;
}

/* Print the words for the value of an option, with spaces between them. */
static void
put_words(enum option_id id)
{
	before = "";
	if (values[id].put)
		values[id].put();
	else
		put(values[id].words);
}

static void
put_commands(void)
{
	before = "";
	for (int i = 0; i < COMMAND_COUNT; i++)
		put(cli_commands[i].name);
}

/* Returns whether the commands have the option and show it. */
static bool
is_offered(enum option_id id, unsigned where)
{
	return (cli_options[id].commands & where) && cli_options[id].help;
}

/* "--name", with spaces between them */
static void
put_options(unsigned where)
{
	before = "--";
	for (int id = 0; id < OPTION_COUNT; id++) {
		if (!is_offered((enum option_id)id, where))
			continue;
		put(cli_options[id].name);
		before = " --";
	}
}

/* Print the begin of a help text, at most a line. No quotation marks. */
static void
put_summary(const char *help)
{
	/* A colon near the begin ends a word such as "HTTPS", not the text. */
	const size_t least = 12;

	for (size_t i = 0; help[i]; i++) {
		if (strchr("([;", help[i]) || (i > least && help[i] == ','))
			return;
		if (i > least && help[i] == ':')
			return;
		if (help[i] == ' ' && strchr("([", help[i + 1]))
			return;
		if (help[i] != '\'')
			putchar(help[i]);
	}
}

/* The line is split at spaces: bash's words end at '=' and ':', too. */
static const char bash_begin[] =
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

static const char bash_end[] =
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
bash_print_pattern(const char *command, const struct option_row *row)
{
	if (row->letter)
		printf("%s:-%c | ", command, row->letter);
	printf("%s:--%s", command, row->name);
}

static void
bash_print_values(const char *command, unsigned where)
{
	static const char *const kinds[] = {
		"nothing", "word", "list", "path", "folder"};

	for (int i = 0; i < OPTION_COUNT; i++) {
		enum option_id id = (enum option_id)i;
		enum completion_kind kind = kind_of(id);
		if (!is_offered(id, where) || !cli_options[id].value)
			continue;
		putchar('\t');
		bash_print_pattern(command, &cli_options[id]);
		printf(") kind=%s", kinds[kind]);
		if (kind == COMPLETION_WORD || kind == COMPLETION_LIST) {
			printf(" words='");
			put_words(id);
			putchar('\'');
		}
		printf(" ;;\n");
	}
}

static void
bash_print(void)
{
	fputs(bash_begin, stdout);
	bash_print_values("", IN_GLOBAL);
	for (int i = 0; i < COMMAND_COUNT; i++)
		bash_print_values(cli_commands[i].name, 1u << i);
	printf("\t:*) words='");
	put_commands();
	putchar(' ');
	put_options(IN_GLOBAL);
	printf("' ;;\n\thelp:help) words='");
	put_commands();
	putchar(' ');
	put_options(1u << COMMAND_help);
	printf("' ;;\n\thelp:[a-z]*) words='");
	put_words(OPTION_EXPLAIN);
	printf("' ;;\n");
	for (int i = 0; i < COMMAND_COUNT; i++) {
		printf("\t%s:*)\n\t\tkind=path\n"
		       "\t\t[[ $cur == -* ]] && kind=word words='",
			cli_commands[i].name);
		put_options(1u << i);
		printf("'\n\t\t;;\n");
	}
	printf("\t*) kind=path ;;\n\tesac\n");
	fputs(bash_end, stdout);
}

static const char zsh_begin[] =
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

static const char zsh_end[] = "\t\tesac ;;\n"
			      "\tesac\n"
			      "}\n\n"
			      /* from a file of fpath, or by eval */
			      "if [[ ${funcstack[1]} == _hone ]]; then\n"
			      "\t_hone \"$@\"\n"
			      "else\n"
			      "\tcompdef _hone hone\n"
			      "fi\n";

/* What follows the description: a message and an action. */
static void
zsh_print_value(enum option_id id)
{
	const char *value = cli_options[id].value;

	/* brackets: the value may be left out */
	printf(":%s:", *value == '[' ? "GROUP" : value);
	switch (kind_of(id)) {
	case COMPLETION_NOTHING:
		putchar(' ');
		break;
	case COMPLETION_WORD:
		putchar('(');
		put_words(id);
		putchar(')');
		break;
	case COMPLETION_LIST:
		printf(" _hone_list ");
		put_words(id);
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
zsh_print_option(enum option_id id)
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
	put_summary(row->help);
	putchar(']');
	if (row->value)
		zsh_print_value(id);
	putchar('\'');
}

static void
zsh_print_options(unsigned where)
{
	for (int id = 0; id < OPTION_COUNT; id++)
		if (is_offered((enum option_id)id, where))
			zsh_print_option((enum option_id)id);
}

static void
zsh_print(void)
{
	fputs(zsh_begin, stdout);
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("\t\t'%s:%s'\n", cli_commands[i].name,
			cli_commands[i].summary);
	/* -A: an option behind the command is the command's. */
	printf("\t)\n\t_arguments -C -A '-*'");
	zsh_print_options(IN_GLOBAL);
	printf(" \\\n\t\t\t'1: :->command' '*:: :->rest' && return\n"
	       "\tcase $state in\n"
	       "\tcommand) _describe command commands ;;\n"
	       "\trest)\n\t\tcase $words[1] in\n");
	for (int i = 0; i < COMMAND_COUNT; i++) {
		printf("\t\t%s)\n\t\t\t_arguments -s", cli_commands[i].name);
		zsh_print_options(1u << i);
		printf(" \\\n\t\t\t'");
		if (i == COMMAND_help) {
			printf("1:COMMAND:(");
			put_commands();
			printf(")' '2:GROUP:(");
			put_words(OPTION_EXPLAIN);
			printf(")' ;;\n");
		} else {
			printf("*:IMAGE:_files' ;;\n");
		}
	}
	fputs(zsh_end, stdout);
}

static const char fish_begin[] =
	"# fish completion for hone, made by 'hone help --completion fish'\n"
	"function __hone_list\n"
	"    set -l token (string replace -r '^--[^=]*=' '' -- "
	"(commandline -ct))\n"
	"    set -l before (string replace -r '[^,]*$' '' -- $token)\n"
	"    printf '%s\\n' \"$before\"$argv\n"
	"end\n";

/* What follows the names of an option that has a value. */
static void
fish_print_value(enum option_id id)
{
	enum completion_kind kind = kind_of(id);

	printf(kind == COMPLETION_FILE ? " -r -F" : " -x");
	if (kind == COMPLETION_WORD)
		printf(" -a '");
	else if (kind == COMPLETION_LIST)
		printf(" -a '(__hone_list ");
	else if (kind == COMPLETION_FOLDER)
		printf(" -a '(__fish_complete_directories)'");
	if (kind == COMPLETION_WORD || kind == COMPLETION_LIST) {
		put_words(id);
		printf(kind == COMPLETION_LIST ? ")'" : "'");
	}
}

/* condition: a command of fish */
static void
fish_print_options(const char *condition, const char *command, unsigned where)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		enum option_id id = (enum option_id)i;
		const struct option_row *row = &cli_options[id];
		if (!is_offered(id, where))
			continue;
		printf("complete -c hone -n '%s%s'", condition, command);
		if (row->letter)
			printf(" -s %c", row->letter);
		printf(" -l %s -d '", row->name);
		put_summary(row->help);
		putchar('\'');
		if (row->value && row->value[0] != '[')
			fish_print_value(id);
		putchar('\n');
	}
}

static void
fish_print_operands(const char *condition, enum option_id id)
{
	printf("complete -c hone -n '%s' -f -a '", condition);
	if (id == OPTION_COUNT)
		put_commands();
	else
		put_words(id);
	printf("'\n");
}

static void
fish_print(void)
{
	fputs(fish_begin, stdout);
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("complete -c hone -n __fish_use_subcommand -f -a %s -d "
		       "'%s'\n",
			cli_commands[i].name, cli_commands[i].summary);
	fish_print_options("__fish_use_subcommand", "", IN_GLOBAL);
	for (int i = 0; i < COMMAND_COUNT; i++)
		fish_print_options("__fish_seen_subcommand_from ",
			cli_commands[i].name, 1u << i);
	fish_print_operands("__fish_seen_subcommand_from help; and test (count "
			    "(commandline -opc)) -lt 3",
		OPTION_COUNT);
	fish_print_operands("__fish_seen_subcommand_from help; and test (count "
			    "(commandline -opc)) -gt 2",
		OPTION_EXPLAIN);
	fish_print_operands(
		"not __fish_use_subcommand; and __fish_prev_arg_in -h "
		"--help",
		OPTION_EXPLAIN);
}

bool
completion_print(const char *shell)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {
		{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shell, shells[i].name) != 0)
			continue;
		shells[i].print();
		return true;
	}
	return false;
}
