/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion: a script for each shell, which calls "hone __complete WORD..."
 * with the words up to the cursor. The answer has the kind on its first line,
 * then words that may replace the last one, each with a tab and its help.
 */
#include <string.h>
#include <hone/cpu.h>
#include "cli.h"

/* How the value of an option is completed. */
enum completion_kind {
	/* numbers, sizes, names in images: no words */
	COMPLETION_NOTHING,
	COMPLETION_WORD,
	/* words with commas between them */
	COMPLETION_LIST,
	COMPLETION_FILE,
	COMPLETION_FOLDER,
};

#define CACHE_MODES "none writeback writethrough directsync unsafe"

/* The word at the cursor, and how many of its bytes stay. */
static const char *word;
static size_t kept;

/* Print the begin of a help text, at most a line. */
static void
put_summary(const char *help)
{
	/* A colon near the begin ends a word such as "HTTPS", not the text. */
	const size_t least = 12;

	for (size_t i = 0; help[i]; i++) {
		if (strchr("([;", help[i]) ||
			(i > least && strchr(",:", help[i])) ||
			(help[i] == ' ' && strchr("([", help[i + 1])))
			return;
		putchar(help[i]);
	}
}

/* Offer a text if the word goes on like it; help may be NULL. */
static void
offer(const char *text, const char *help)
{
	if (strncmp(text, word + kept, strlen(word + kept)) != 0)
		return;
	printf("%.*s%s", (int)kept, word, text);
	if (help) {
		putchar('\t');
		put_summary(help);
	}
	putchar('\n');
}

static void
offer_readable(void)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (format->open)
			offer(format->name, NULL);
}

static void
offer_writable(void)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (format->create)
			offer(format->name, NULL);
}

static void
offer_algorithms(void)
{
	const struct image_algorithm *algorithm;

	for (size_t i = 0; (algorithm = image_algorithm(i)); i++)
		offer(algorithm->name, NULL);
}

/* "key=" for a size or a number, "key=word" for each word. */
static void
offer_choices(const struct image_option *option)
{
	char text[128];

	for (; option->name; option++) {
		const char *words = option->type == IMAGE_OPTION_FLAG ? "on off"
				    : option->type == IMAGE_OPTION_WORD
					    ? option->words
					    : "";
		do {
			size_t length = strcspn(words, " ");
			snprintf(text, sizeof(text), "%s=%.*s", option->name,
				(int)length, words);
			offer(text, option->help);
			words += length + (words[length] == ' ');
		} while (*words);
	}
}

static void
offer_source(void)
{
	offer_choices(image_open_options());
}

static void
offer_created(void)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (format->create)
			offer_choices(image_format_options(format));
	offer_source();
}

static void
offer_groups(void)
{
	for (int id = 0; id < GROUP_COUNT; id++)
		offer(cli_groups[id].name, cli_groups[id].what);
	offer("all", "every option");
}

static void
offer_features(void)
{
	const char *name;

	offer("all", NULL);
	offer("none", NULL);
	for (unsigned bit = 0; bit < 64; bit++)
		if ((name = hone_cpu_feature_name(UINT64_C(1) << bit)))
			offer(name, NULL);
}

/* The words for the values of options: a text, or what offers them. */
static const struct {
	enum completion_kind kind;
	const char *words;
	void (*offer)(void);
} values[OPTION_COUNT] = {
	[OPTION_FORMAT] = {COMPLETION_WORD, .offer = offer_readable},
	[OPTION_FORMAT_B] = {COMPLETION_WORD, .offer = offer_readable},
	[OPTION_OUTPUT_FORMAT] = {COMPLETION_WORD, .offer = offer_writable},
	[OPTION_PACK] = {COMPLETION_WORD, .words = "zst gz none"},
	[OPTION_OCI_TYPE] = {COMPLETION_WORD,
		.words = "containerdisk artifact"},
	[OPTION_CACHE] = {COMPLETION_WORD, .words = "auto keep drop"},
	[OPTION_TARGET_CACHE] = {COMPLETION_WORD, .words = CACHE_MODES},
	[OPTION_SOURCE_CACHE] = {COMPLETION_WORD, .words = CACHE_MODES},
	[OPTION_WINDOW] = {COMPLETION_WORD, .words = "12 15"},
	[OPTION_COMPLETION] = {COMPLETION_WORD, .words = "bash zsh fish"},
	[OPTION_EXPLAIN] = {COMPLETION_WORD, .offer = offer_groups},
	[OPTION_CREATE] = {COMPLETION_LIST, .offer = offer_created},
	[OPTION_SOURCE] = {COMPLETION_LIST, .offer = offer_source},
	[OPTION_DIGEST] = {COMPLETION_LIST, .offer = offer_algorithms},
	[OPTION_ALGORITHM] = {COMPLETION_LIST, .offer = offer_algorithms},
	[OPTION_UNPACK] = {COMPLETION_LIST,
		.words = "auto none gzip xz zstd bzip2"},
	[OPTION_TRACE] = {COMPLETION_LIST, .words = "http nbd"},
	[OPTION_CPU_LIMIT] = {COMPLETION_LIST, .offer = offer_features},
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

/* Offer the words for the value of an option. */
static void
offer_value(enum option_id id)
{
	static const char *const kinds[] = {
		"word", "word", "list", "file", "folder"};
	const char *comma = strrchr(word + kept, ',');
	char text[32];

	puts(kinds[kind_of(id)]);
	if (kind_of(id) == COMPLETION_LIST && comma)
		kept = (size_t)(comma + 1 - word);
	if (values[id].offer)
		values[id].offer();
	for (const char *c = values[id].words; c && *c;) {
		size_t length = strcspn(c, " ");
		snprintf(text, sizeof(text), "%.*s", (int)length, c);
		offer(text, NULL);
		c += length + (c[length] == ' ');
	}
}

static void
offer_options(unsigned where)
{
	char text[64];

	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where) || !row->help)
			continue;
		snprintf(text, sizeof(text), "--%s", row->name);
		offer(text, row->help);
		snprintf(text, sizeof(text), "-%c", row->letter);
		if (row->letter)
			offer(text, row->help);
	}
}

static void
offer_commands(void)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		offer(cli_commands[i].name, cli_commands[i].summary);
}

/* Returns the option with a value that a text is, or OPTION_COUNT. */
static int
find_option(unsigned where, const char *text, size_t length)
{
	int id = 0;

	for (; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where) || !row->value || !row->help)
			continue;
		if (length == 2 && text[0] == '-' && text[1] == row->letter)
			break;
		if (length > 2 && strncmp(text, "--", 2) == 0 &&
			strlen(row->name) == length - 2 &&
			strncmp(row->name, text + 2, length - 2) == 0)
			break;
	}
	return id;
}

int
completion_answer(int count, char **words)
{
	unsigned where = IN_GLOBAL;
	/* the option whose value is the next word */
	int id = OPTION_COUNT;
	int operands = 0;

	for (int i = 0; i < count - 1; i++) {
		bool is_value = id != OPTION_COUNT;
		id = is_value ? OPTION_COUNT
			      : find_option(where, words[i], strlen(words[i]));
		if (is_value || words[i][0] == '-')
			continue;
		const struct command_row *row =
			cli_command(words[i], strlen(words[i]));
		if (where != IN_GLOBAL)
			operands++;
		else if (row)
			where = 1u << (row - cli_commands);
	}
	word = count ? words[count - 1] : "";
	size_t name = strcspn(word, "=");
	if (word[name] && *word == '-') {
		id = find_option(where, word, name);
		kept = name + 1;
	}
	if (id != OPTION_COUNT) {
		offer_value((enum option_id)id);
	} else if (*word == '-' && !kept) {
		puts("word");
		offer_options(where);
	} else if (where == IN_GLOBAL || where == IN(help)) {
		puts("word");
		if (operands == 0)
			offer_commands();
		else
			offer_groups();
	} else {
		puts("file");
	}
	return cli_flush_stdout();
}

/*
 * Each script asks the typed command, or hone if that is an alias or another
 * word that only the shell can expand. Without an answer, it offers files.
 *
 * The line is split at spaces: bash's words end at '=' and ':', too, and bash
 * replaces what is behind the last of these.
 */
static const char bash[] =
	"# bash completion for hone, made by 'hone help --completion bash'\n"
	"_hone()\n{\n"
	"\tlocal line=${COMP_LINE:0:COMP_POINT} words before kind file\n"
	"\tIFS=$' \\t\\n' read -ra words <<<\"$line.\"\n"
	"\twords[-1]=${words[-1]%.}\n"
	"\twords[-1]=${words[-1]#[\\\"\\']}\n"
	"\tbefore=${words[-1]%\"${words[-1]##*[=:]}\"}\n"
	"\tmapfile -t COMPREPLY < <({\n"
	"\t\t\"${words[0]/#\\~\\//\"$HOME\"/}\" "
	"__complete \"${words[@]:1}\" ||\n"
	"\t\t\thone __complete \"${words[@]:1}\"\n"
	"\t} 2>/dev/null)\n"
	"\tkind=${COMPREPLY[0]:-file}\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]:1}\")\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]%%$'\\t'*}\")\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n"
	"\tcase $kind in\n"
	"\tlist)\n"
	"\t\t[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
	"\t\t;;\n"
	"\tfile | folder)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\t[[ $kind == file ]] && kind=-f || kind=-d\n"
	"\t\tfile=${COMP_WORDS[COMP_CWORD]#=}\n"
	"\t\tfile=${file#[\\\"\\']}\n"
	"\t\tmapfile -t COMPREPLY < <(compgen $kind -- \"${file//\\\\/}\")\n"
	"\t\t;;\n"
	"\tesac\n"
	"}\n"
	"complete -F _hone hone\n";

static const char zsh[] =
	"#compdef hone\n"
	"# zsh completion for hone, made by 'hone help --completion zsh'\n"
	"_hone()\n{\n"
	"\tlocal -a line lines\n"
	"\tline=(\"${(@Q)words[2,CURRENT-1]}\" \"$PREFIX\")\n"
	"\tlines=(${(f)\"$({\n"
	"\t\t${~${(Q)words[1]}} __complete \"${line[@]}\" ||\n"
	"\t\t\thone __complete \"${line[@]}\"\n"
	"\t} 2>/dev/null)\"})\n"
	"\tlocal kind=${lines[1]:-file}\n"
	"\tlines=(${lines[2,-1]/$'\\t'/:})\n"
	"\tcase $kind in\n"
	"\tfile | folder)\n"
	"\t\t[[ $PREFIX != --*=* ]] || compset -P '*='\n"
	"\t\t[[ $kind == file ]] && _files || _files -/\n"
	"\t\t;;\n"
	"\tlist) _describe value lines -S '' ;;\n"
	"\tword) _describe word lines ;;\n"
	"\tesac\n"
	"}\n\n"
	/* from a file of fpath, or by eval */
	"if [[ ${funcstack[1]} == _hone ]]; then\n"
	"\t_hone \"$@\"\n"
	"else\n"
	"\tcompdef _hone hone\n"
	"fi\n";

/* fish itself completes files, where no rule holds. */
static const char fish[] =
	"# fish completion for hone, made by 'hone help --completion fish'\n"
	"function __hone_ask\n"
	"    set -l words (commandline -opc) (commandline -ct)\n"
	"    for hone in $HOME(string replace -fr '^~/' / -- $words[1]) "
	"$words[1] hone\n"
	"        command -sq -- $hone\n"
	"        and command $hone __complete $words[2..-1] 2>/dev/null\n"
	"        and return\n"
	"    end\n"
	"    echo file\n"
	"end\n"
	"function __hone_complete\n"
	"    set -l word (commandline -ct)\n"
	"    set -l rest (string replace -r '^--[^=]*=' '' -- $word)\n"
	"    set -l before (string match -r '^--[^=]*=' -- $word; or echo)\n"
	"    if test $__hone_lines[1] = folder\n"
	"        printf '%s\\n' $before(__fish_complete_directories $rest)\n"
	"    else\n"
	"        printf '%s\\n' $__hone_lines[2..-1]\n"
	"    end\n"
	"end\n"
	"complete -c hone -f -a '(__hone_complete)' -n 'set -g __hone_lines "
	"(__hone_ask); test $__hone_lines[1] != file'\n";

bool
completion_print(const char *shell)
{
	const char *script = strcmp(shell, "bash") == 0   ? bash
			     : strcmp(shell, "zsh") == 0  ? zsh
			     : strcmp(shell, "fish") == 0 ? fish
							  : NULL;

	if (script)
		fputs(script, stdout);
	return script;
}
