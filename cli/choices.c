/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a new image's format: -o KEY=VALUE,... and -o help. */
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
print_choices(const struct image_format *format)
{
	const struct image_option *option = image_format_options(format);
	const char *name = image_format_name(format);

	if (!option->name) {
		printf("%s has no options.\n", name);
		return;
	}
	printf("Options of %s (-o KEY=VALUE,...), with defaults in "
	       "parentheses:\n",
		name);
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

int
cli_print_choices(const struct cli *cli)
{
	const struct image_format *format;

	int rc = cli_format(cli, OPTION_OUTPUT_FORMAT, &format);
	if (rc != 0)
		return rc;
	if (!format && cli->n_operands == 2)
		format = image_format_by_suffix(cli->operands[1]);
	if (format) {
		print_choices(format);
		return cli_flush_stdout();
	}
	for (size_t i = 0; (format = image_format(i)); i++)
		if (image_format_writable(format))
			print_choices(format);
	return cli_flush_stdout();
}

int
cli_find_choice(const struct image_format *format, const char *key,
	const struct image_option **out)
{
	char text[CLI_SUGGESTION];
	struct suggestion suggestion;

	suggest_begin(&suggestion, key);
	for (*out = image_format_options(format); (*out)->name; ++*out) {
		if (strcmp((*out)->name, key) == 0)
			return 0;
		suggest_offer(&suggestion, (*out)->name);
	}
	char word[64];
	const char *dot = strchr(key, '.');
	snprintf(word, sizeof(word), "-o %.*s",
		dot ? (int)(dot - key + 1) : (int)strlen(key), key);
	const char *hint = cli_find_hint(IN(convert), word, strlen(word));
	if (hint)
		return cli_usage(
			"convert", "-o: '%s' is not possible: %s", key, hint);
	return cli_usage("convert", "-o: '%s' is not an option of %s%s", key,
		image_format_name(format),
		suggestion.best ? suggest_text(&suggestion, "", text)
				: "; -o help lists its options");
}
