/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of formats, for SRC and DST: -o KEY=VALUE,... and -o help. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

bool
cli_choices_help(const struct cli *cli)
{
	const char *text = cli->option[OPTION_CREATE];

	while (text) {
		size_t length = strcspn(text, ",");
		if ((length == 4 && memcmp(text, "help", 4) == 0) ||
			(length == 1 && *text == '?'))
			return true;
		text = text[length] ? text + length + 1 : NULL;
	}
	return false;
}

/* Print the values of an option. Returns the number of characters. */
static int
print_values(const struct image_option *option)
{
	int n = 0;

	switch (option->type) {
	case IMAGE_OPTION_SIZE:
		return printf("SIZE");
	case IMAGE_OPTION_NUMBER:
		return printf("N");
	case IMAGE_OPTION_FLAG:
		return printf("on|off");
	default:
		for (const char *c = option->words; *c; c++, n++)
			putchar(*c == ' ' ? '|' : *c);
		return n;
	}
}

static void
print_rows(const struct image_option *option)
{
	for (; option->name; option++) {
		int n = printf("  %s=", option->name);
		n += print_values(option);
		/* A long list of words has a line of its own. */
		if (n > 30) {
			putchar('\n');
			n = 0;
		}
		printf("%*s %s\n", 30 - n, "", option->help);
	}
}

static void
print_choices(const struct image_format *format)
{
	const struct image_option *option = image_format_options(format);
	const char *name = format->name;

	if (!option->name) {
		printf("%s has no options.\n", name);
		return;
	}
	printf("Options of %s (-o KEY=VALUE,...), with defaults in "
	       "parentheses:\n",
		name);
	print_rows(option);
}

int
cli_print_choices(const struct cli *cli)
{
	const struct image_format *format;

	int rc = cli_format(cli, OPTION_OUTPUT_FORMAT, &format);
	if (rc != 0)
		return rc;
	if (!format && cli->n_operands == 2)
		format = image_format_by_suffix(cli->operands[1]);
	if (format)
		print_choices(format);
	for (size_t i = 0; !format && image_format(i); i++)
		if (image_format(i)->create)
			print_choices(image_format(i));
	puts("Options of SRC:");
	print_rows(image_open_options());
	return cli_flush_stdout();
}

const struct image_option *
cli_option_named(const struct image_option *list, const char *key)
{
	while (list->name && strcmp(list->name, key) != 0)
		list++;
	return list->name ? list : NULL;
}

int
cli_find_choice(const struct cli *cli, const struct image_format *format,
	const char *key, const struct image_option **out)
{
	const struct image_option *list = image_format_options(format);
	char text[CLI_SUGGESTION];
	struct suggestion suggestion;

	*out = cli_option_named(list, key);
	if (*out)
		return 0;
	suggest_begin(&suggestion, key);
	for (; list->name; list++)
		suggest_offer(&suggestion, list->name);
	char word[64];
	const char *dot = strchr(key, '.');
	snprintf(word, sizeof(word), "-o %.*s",
		dot ? (int)(dot - key + 1) : (int)strlen(key), key);
	const char *hint = cli_find_hint(IN(convert), word, strlen(word));
	if (hint)
		return cli_usage(
			cli, "-o: '%s' is not possible: %s", key, hint);
	return cli_usage(cli, "-o: '%s' is not an option of %s%s", key,
		format->name,
		suggestion.best ? suggest_text(&suggestion, "", text)
				: "; -o help lists its options");
}

/* Set *value to the index of text in a space separated list. */
static bool
parse_word(const char *words, const char *text, uint64_t *value)
{
	size_t length = strlen(text);

	for (*value = 0; *words; ++*value) {
		size_t n = strcspn(words, " ");
		if (n == length && strncmp(words, text, n) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

int
cli_parse_choice(const struct cli *cli, const struct image_option *option,
	const char *text, uint64_t *value)
{
	const char *fault = "is not a valid number";
	int number = 0;
	bool valid = false;

	if (!text)
		return cli_usage(
			cli, "-o: '%s' is not KEY=VALUE", option->name);
	switch (option->type) {
	case IMAGE_OPTION_SIZE:
		valid = cli_parse_size(text, value);
		fault = "is not a valid size";
		break;
	case IMAGE_OPTION_NUMBER:
		valid = cli_parse_int(text, &number);
		*value = (uint64_t)number;
		break;
	case IMAGE_OPTION_FLAG:
		valid = parse_word("off on", text, value);
		fault = "is neither on nor off";
		break;
	case IMAGE_OPTION_WORD:
		valid = parse_word(option->words, text, value);
		fault = "is not one of: ";
		break;
	}
	return valid ? 0
		     : cli_usage(cli, "-o %s: '%s' %s%s", option->name, text,
			       fault, option->words ? option->words : "");
}

int
cli_each_choice(const struct cli *cli, enum option_id id, cli_set_choice *set,
	void *opaque)
{
	const char *text = cli->option[id];
	char *copy = text ? strdup(text) : NULL;
	char *rest = copy;
	int rc = 0;

	if (text && !copy)
		return cli_fail(NULL, "out of memory");
	while (rc == 0 && rest) {
		char *key = strsep(&rest, ","), *value = key;
		strsep(&value, "=");
		rc = set(cli, key, value, opaque);
	}
	free(copy);
	return rc;
}

/* In convert, other keys are those of DST. */
static int
set_of_source(
	const struct cli *cli, const char *key, const char *text, void *how)
{
	const struct image_option *option =
		cli_option_named(image_open_options(), key);
	uint64_t value = 0;

	if (!option && cli->command == COMMAND_convert)
		return 0;
	/* image_open_options() has these alone. */
	if (!option)
		return cli_usage(cli,
			"-o: '%s' is not an option of an image that is read; "
			"size=current and size=geometry are, of a VHD",
			key);
	int rc = cli_parse_choice(cli, option, text, &value);
	if (rc == 0)
		image_open_set(how, option, value);
	return rc;
}

int
cli_source_choices(const struct cli *cli, struct image_open *how)
{
	return cli_each_choice(cli,
		cli->command == COMMAND_convert ? OPTION_CREATE : OPTION_SOURCE,
		set_of_source, how);
}
