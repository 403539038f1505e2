/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_H
#define HONE_CLI_H
/* What the files of the `hone` command share. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "image.h"

/* Exit statuses; EXIT_SUCCESS is 0. */
#define CLI_FAILED 1
#define CLI_USAGE 2

enum command_id {
#define HONE_COMMAND(name, ...) COMMAND_##name,
#define HONE_OPTION(...)
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION
	COMMAND_COUNT
};

enum option_id {
#define HONE_COMMAND(...)
#define HONE_OPTION(id, ...) OPTION_##id,
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION
	OPTION_COUNT
};

#define IN(name) (1u << COMMAND_##name)
/* Before the command. */
#define IN_GLOBAL (1u << COMMAND_COUNT)

/* A parsed command line. */
struct cli {
	enum command_id command;
	/*
	 * NULL if not given; "" for one without a value. Given again, the last
	 * one counts, but values of -o are joined by commas.
	 */
	const char *option[OPTION_COUNT];
	/* the memory of what was joined, for free() */
	char *joined;
	int n_operands;
	char **operands;
};

struct command_row {
	const char *name;
	int operands;
	const char *synopsis;
	const char *summary;
	const char *details;
	int (*run)(const struct cli *cli);
};

struct option_row {
	unsigned commands;
	int letter;
	const char *name;
	const char *value;
	const char *help;
};

/* Each in the file of that name; returns the exit status. */
#define HONE_COMMAND(name, ...) int name##_run(const struct cli *cli);
#define HONE_OPTION(...)
#include "options.def"
#undef HONE_COMMAND
#undef HONE_OPTION

extern const struct command_row cli_commands[COMMAND_COUNT];
extern const struct option_row cli_options[OPTION_COUNT];

/* parse.c: take what belongs to `where` (IN_GLOBAL or one command's bit). */
int cli_parse(struct cli *cli, unsigned where, int argc, char **argv);
const struct command_row *cli_command(const char *name, size_t length);

/* help.c */
void cli_help(void);
void cli_command_help(enum command_id id);

/* message.c: one line on stderr each. */
/* "hone: NAME: ..."; returns CLI_FAILED. Bytes that are no text are escaped. */
__attribute__((format(printf, 2, 3))) int cli_fail(
	const char *name, const char *format, ...);
/* "hone: ..." and where to find help; command may be NULL. */
__attribute__((format(printf, 2, 3))) int cli_usage(
	const char *command, const char *format, ...);
/* Write out stdout; CLI_FAILED if it cannot all be written. */
int cli_flush_stdout(void);

/* text.c */
/*
 * Length of the UTF-8 sequence at s as RFC 3629 allows it, 0 if it is none:
 * no overlong form, no surrogate, nothing above U+10FFFF.
 */
size_t cli_utf8_length(const unsigned char *s);
/*
 * A name for a terminal: control characters, and bytes that are no UTF-8, as
 * \xNN; a backslash as two.
 */
void cli_print_name(FILE *to, const char *name);

/* sizes.c */
/* "64k", "1G", "512"; returns false for anything else and on overflow. */
bool cli_parse_size(const char *text, uint64_t *size);
/* Decimal digits alone, 0 to INT_MAX. */
bool cli_parse_int(const char *text, int *number);
/* A size to read, "1.5 GiB"; buf is returned. */
#define CLI_SIZE_TEXT 32
const char *cli_size_text(char *buf, uint64_t size);

/* arguments.c: values of options; 0 or CLI_USAGE after the message. */
int cli_format(const struct cli *cli, enum option_id id,
	const struct image_ops **format);
int cli_run(const struct cli *cli, struct image_run *run);
/* Names of the formats, of those that can be written: "-O qcow2, -O raw". */
#define CLI_FORMATS 128
const char *cli_list_formats(char *list, const char *before, bool written);

/* json.c: an object or array written as it goes. */
struct json {
	FILE *to;
	bool comma;
};
void json_begin(struct json *json, FILE *to, char bracket);
void json_end(struct json *json, char bracket);
/* Begin a value; key is NULL in an array. */
void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, uint64_t value);
void json_seconds(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_open(struct json *json, const char *key, char bracket);

/* progress.c */
struct progress {
	/* -1: none */
	int fd;
	bool bar;
	/* last value shown, -1 at first */
	int shown;
	uint64_t total;
	uint64_t next_ns;
};
int progress_begin(
	struct progress *progress, const struct cli *cli, bool may_draw);
void progress_update(void *progress, uint64_t done);
/* Make way for a line of text. */
void progress_clear(struct progress *progress);
/* The last value, once all is done and said. */
void progress_succeed(struct progress *progress);

/* output.c: a file that appears under its name only when complete. */
struct output {
	int fd;
	int directory;
	char *path;
	char *temporary;
	bool replace;
	char text[256];
};
/*
 * Make the temporary file beside name, which must not be the file open as
 * source_fd. Both return 0, or -1 with a sentence in output->text and
 * nothing left to abandon.
 */
int output_begin(
	struct output *output, const char *name, int source_fd, bool force);
/* The descriptor must have been synced. */
int output_commit(struct output *output);
void output_abandon(struct output *output);

#endif
