/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of the command line that are addresses of files become their paths. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* Returns 1 if the word has become a path, or CLI_USAGE after a message. */
static int
replace(const struct cli *cli, char *word)
{
	/* the word changes, and a host may have a password before it */
	char *shown = image_hide_secrets(word);
	const char *why;

	int rc = image_file_url(word, &why);
	if (rc < 0)
		rc = cli_usage(cli_commands[cli->command].name, "'%s' %s",
			shown ? shown : "file:", why);
	free(shown);
	return rc;
}

int
cli_file_urls(struct cli *cli)
{
	const char *expect = cli->option[OPTION_EXPECT_FILE];
	int rc = 0;

	for (int i = 0; i < cli->n_operands; i++) {
		rc = replace(cli, cli->operands[i]);
		if (rc == CLI_USAGE)
			return rc;
	}
	if (!expect)
		return 0;
	/* a word of main()'s argv, which may be changed */
	char *list = (char *)(uintptr_t)expect + (*expect == '@');
	rc = replace(cli, list);
	if (rc != 1)
		return rc;
	cli->list = strdup(list);
	return cli->list ? 0 : cli_fail(NULL, "out of memory");
}
