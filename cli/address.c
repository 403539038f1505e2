/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands that are addresses: what is secret in them, and what is unsafe. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/*
 * Set *address to a copy of a word of the command line, and replace the word,
 * which /proc/PID/cmdline shows, by its name. Returns false without memory.
 */
static bool
take(char *word, char **address)
{
	char *name = image_address_name(word);

	*address = strdup(word);
	if (!name || !*address) {
		free(name);
		return false;
	}
	/* A name is at most as long as its address, and strncpy() fills the
	 * rest with zeros. */
	strncpy(word, name, strlen(word));
	free(name);
	return true;
}

int
cli_addresses(struct cli *cli)
{
	const char *expect = cli->option[OPTION_EXPECT_FILE];

	cli->addresses = calloc((size_t)cli->n_operands + 1, sizeof(char *));
	bool good = cli->addresses;
	for (int i = 0; good && i < cli->n_operands; i++)
		good = take(cli->operands[i], &cli->addresses[i]);
	if (good && expect && !cli->list && strstr(expect, "://"))
		/* a word of main()'s argv, which may be changed */
		good = take((char *)(uintptr_t)expect + (*expect == '@'),
			&cli->list);
	if (good)
		return 0;
	cli_fail(NULL, "out of memory");
	return CLI_FAILED;
}

void
cli_warn_plain(const struct cli *cli, int operand)
{
	bool has_expect =
		cli_options[OPTION_EXPECT_FILE].commands & (1u << cli->command);

	if (cli->option[OPTION_QUIET] || cli->option[OPTION_EXPECT_FILE] ||
		cli->option[OPTION_EXPECT] ||
		!image_address_is_plain(cli->addresses[operand],
			cli->option[OPTION_PLAIN_HTTP]))
		return;
	cli_warn(cli->operands[operand],
		"http does not protect the image against changes on the way; "
		"use https%s",
		has_expect ? " or --expect-file" : "");
}

/* In a message about the second image, replace "-f raw" by "-F raw". */
static void
name_second_format(char *text)
{
	char *option = strstr(text, "-f raw");
	char *first = strstr(text, "--unpack ");

	if (!first)
		first = strstr(text, "--member NAME");
	if (option)
		option[1] = 'F';
	/* Those are options of A. */
	if (first && option > first)
		memmove(first, option, strlen(option) + 1);
	char *of_a = strstr(text, "; --unpack none reads");
	if (!of_a)
		of_a = strstr(text, "; --trailing-data leaves");
	if (of_a)
		*of_a = '\0';
}

int
cli_image_open(const struct cli *cli, int operand, const struct image_open *how,
	struct image_source **out)
{
	/* For compare, -o is about A. */
	bool second = cli->command == COMMAND_compare && operand == 1;
	const char *name = cli->operands[operand];
	struct image_error err;

	if (image_open(cli->addresses[operand], how, out, &err) < 0) {
		if (second)
			name_second_format(err.text);
		return cli_image_fail(name, &err);
	}
	cli_warn_plain(cli, operand);
	if ((*out)->doubt && !how->inspect && !cli->option[OPTION_QUIET])
		cli_warn(name, "%s%s", (*out)->doubt,
			second ? ""
			       : "; -o size=current or -o size=geometry "
				 "chooses");
	return 0;
}

/* Returns 1 if the word has become a path, or CLI_USAGE after a message. */
static int
replace_file_url(const struct cli *cli, char *word)
{
	/* the word changes, and a host may have a password before it */
	char *shown = image_hide_secrets(word);
	const char *why;

	int rc = image_file_url(word, &why);
	if (rc < 0)
		rc = cli_usage(cli, "'%s' %s", shown ? shown : "file:", why);
	free(shown);
	return rc;
}

int
cli_file_urls(struct cli *cli)
{
	const char *expect = cli->option[OPTION_EXPECT_FILE];
	int rc = 0;

	for (int i = 0; i < cli->n_operands; i++) {
		rc = replace_file_url(cli, cli->operands[i]);
		if (rc == CLI_USAGE)
			return rc;
	}
	if (!expect)
		return 0;
	/* a word of main()'s argv, which may be changed */
	char *list = (char *)(uintptr_t)expect + (*expect == '@');
	rc = replace_file_url(cli, list);
	if (rc != 1)
		return rc;
	cli->list = strdup(list);
	return cli->list ? 0 : cli_fail(NULL, "out of memory");
}
