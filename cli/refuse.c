/* SPDX-License-Identifier: BSD-3-Clause */
/* Mistaken words of the command line, and what may have been meant. */
#include <string.h>
#include "cli.h"

static const struct hint_row hints[] = {
#define HONE_COMMAND(...)
#define HONE_OPTION(...)
#define HONE_HINT(commands, word, hint) {commands, word, hint},
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION
};

static const char *
find_hint(unsigned where, const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if ((hints[i].commands & where) &&
			strlen(hints[i].word) == length &&
			memcmp(hints[i].word, word, length) == 0)
			return hints[i].hint;
	return NULL;
}

int
cli_refuse_command(const char *name)
{
	const char *hint = find_hint(IN_GLOBAL, name, strlen(name));
	char text[CLI_SUGGESTION];
	struct suggestion suggestion;

	if (hint)
		return cli_usage(NULL, "'%s' is not a command: %s", name, hint);
	suggest_begin(&suggestion, name);
	for (int i = 0; i < COMMAND_COUNT; i++)
		suggest_offer(&suggestion, cli_commands[i].name);
	return cli_usage(NULL, "'%s' is not a command%s", name,
		suggest_text(&suggestion, "", text));
}

int
cli_refuse_letter(unsigned where, const char *command, int letter)
{
	const char word[] = {'-', (char)letter, '\0'};
	const char *hint = find_hint(where, word, 2);

	return cli_usage(command, "'%s' is not an option%s%s", word,
		hint ? ": " : "", hint ? hint : "");
}

/* The options that begin like the word; returns how many. */
static int
list_options(unsigned where, const char *word, size_t length, char *list,
	size_t size)
{
	size_t used = 0;
	int n = 0;

	list[0] = '\0';
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where) || !row->help ||
			strncmp(row->name, word, length) != 0)
			continue;
		n++;
		if (used < size)
			used += (size_t)snprintf(list + used, size - used,
				"%s--%s", n > 1 ? ", " : "", row->name);
	}
	return n;
}

int
cli_refuse_word(unsigned where, const char *command, const char *word)
{
	/* Behind the dashes, before a value. */
	size_t length = strcspn(word, "=");
	const char *hint = find_hint(where, word, length);
	char list[256], text[CLI_SUGGESTION], name[32];
	struct suggestion suggestion;

	if (hint)
		return cli_usage(command, "'%.*s' is not an option: %s",
			(int)length, word, hint);
	if (length > 2 && list_options(where, word + 2, length - 2, list,
				  sizeof(list)) > 1)
		return cli_usage(
			command, "'%.*s' may mean %s", (int)length, word, list);
	snprintf(name, sizeof(name), "%.*s", length > 2 ? (int)length - 2 : 0,
		word + 2);
	suggest_begin(&suggestion, name);
	for (int id = 0; id < OPTION_COUNT; id++)
		if ((cli_options[id].commands & where) && cli_options[id].help)
			suggest_offer(&suggestion, cli_options[id].name);
	return cli_usage(command, "'%.*s' is not an option%s", (int)length,
		word, suggest_text(&suggestion, "--", text));
}
