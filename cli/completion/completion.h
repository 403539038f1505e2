/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_COMPLETION_H
#define HONE_CLI_COMPLETION_H
/* Scripts for shells: a file for each shell, and words.c for what all offer. */
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
enum completion_kind completion_kind(enum option_id id);

/* Print the words for the value of an option, with spaces between them. */
void completion_words(enum option_id id);
void completion_commands(void);
/* "--name", with spaces between them */
void completion_options(unsigned where);
/* Print the begin of a help text, at most a line. No quotation marks. */
void completion_summary(const char *help);

/* Returns whether the commands have the option and show it. */
bool completion_offers(enum option_id id, unsigned where);

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

#endif
