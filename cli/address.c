/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands that are addresses: what is secret in them, and what is unsafe. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

int
cli_addresses(struct cli *cli)
{
	assert(cli->n_operands <= CLI_OPERANDS);
	for (int i = 0; i < cli->n_operands; i++) {
		char *operand = cli->operands[i];
		char *name = image_address_name(operand);
		cli->addresses[i] = strdup(operand);
		if (!name || !cli->addresses[i]) {
			free(name);
			cli_complain("out of memory");
			return CLI_FAILED;
		}
		/* A name is at most as long as its address, and strncpy() fills
		 * the rest with zeros. The operand is what /proc/PID/cmdline
		 * shows. */
		strncpy(operand, name, strlen(operand));
		free(name);
	}
	return 0;
}

void
cli_warn_plain(const struct cli *cli)
{
	bool has_expect =
		cli_options[OPTION_EXPECT_FILE].commands & (1u << cli->command);

	if (cli->option[OPTION_EXPECT_FILE] || cli->option[OPTION_EXPECT])
		return;
	for (int i = 0; i < cli->n_operands; i++)
		if (image_address_is_plain(cli->addresses[i]))
			cli_fail(cli->operands[i],
				"http does not protect the image against "
				"changes on the way; use https%s",
				has_expect ? " or --expect" : "");
}
