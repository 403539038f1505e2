/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_H
#define HONE_CLI_H
/*
 * Declarations for the files of the `hone` command, in the order of control:
 *
 *   main.c       options before the command's name, and the command's call
 *   options/     options.def as tables; the command line; values; help
 *   address.c    operands that are addresses: their secrets, their paths
 *   convert/     the command that writes; convert.h has its files
 *   output/      a new file, which appears when it is complete and synced
 *   map.c        and info.c, compare.c, check.c, digest.c, cpu.c: the commands
 *                that only read
 *   progress.c   the progress, and its bar; signals.c: SIGUSR1 and cleanup
 *   message.c    lines on stderr, and the exit status of a failure
 *   text.c       JSON and other parts of the output
 *   completion/  hone help --completion
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include "image.h"

/* Exit statuses; EXIT_SUCCESS is 0. For compare, 1 means that images differ and
 * 2 that they cannot be compared. */
#define CLI_FAILED 1
#define CLI_USAGE 2
/* Used in compare.c only, and no exit status: those are below 5. */
#define CLI_DIFFERS 5
/* The image is damaged, is not what --expect-file, --expect-disk or the
 * manifest of an OVA names, or is refused by --untrusted or --max-size. */
#define CLI_REFUSED 3
/* The network failed or an answer took too long: the same command may succeed
 * later. */
#define CLI_AGAIN 4

enum command_id {
#define HONE_COMMAND(name, ...) COMMAND_##name,
#include "options.def"
	COMMAND_COUNT
};

enum option_id {
#define HONE_OPTION(id, ...) OPTION_##id,
#include "options.def"
	OPTION_COUNT
};

enum group_id {
#define HONE_GROUP(name, what) GROUP_##name,
#include "options.def"
	GROUP_COUNT
};

#define IN(name) (1u << COMMAND_##name)
/* Commands that only read an image, and those that read one. */
#define IN_READ (IN(map) | IN(info) | IN(compare) | IN(check) | IN(digest))
#define IN_IMAGE (IN(convert) | IN_READ)
/* Commands that read the whole disk, and those that show their progress. */
#define IN_DISK (IN(convert) | IN(map) | IN(compare) | IN(digest))
#define IN_PROGRESS (IN(convert) | IN(compare) | IN(digest))
/* Before the command. */
#define IN_GLOBAL (1u << COMMAND_COUNT)

/* A parsed command line. */
struct cli {
	enum command_id command;
	/*
	 * NULL if not given; "" for an option without a value. The last value
	 * of a repeated option counts, but the values of -o are joined by
	 * commas.
	 */
	const char *option[OPTION_COUNT];
	/* the joined values, for free() */
	char *joined;
	int n_operands;
	/* as they may be shown: without passwords and signatures */
	char **operands;
	/* the operands of a command that reads images, to be opened */
	char **addresses;
	/* the address of --expect-file, or NULL */
	char *list;
};

struct command_row {
	const char *name;
	int operands;
	const char *synopsis;
	const char *summary;
	const char *details;
};

struct group_row {
	const char *name;
	const char *what;
};

struct option_row {
	enum group_id group;
	/* the commands whose help shows the option without a group */
	unsigned often;
	unsigned commands;
	int letter;
	const char *name;
	const char *value;
	const char *help;
};

/*
 * main.c: call run() for each operand, until the command line is wrong or
 * stdout cannot be written. Returns the worst status: from the best, 0, 4, 1, 3
 * and 2.
 */
int cli_for_each(
	const struct cli *cli, int (*run)(const struct cli *cli, int operand));

/* Each command is in the file of its name, and returns the exit status. */
#define HONE_COMMAND(name, ...) int name##_run(const struct cli *cli);
#include "options.def"

/* A word of qemu-img, and its equivalent here. */
struct hint_row {
	unsigned commands;
	const char *word;
	const char *hint;
};

/* options/parse.c */
extern const struct command_row cli_commands[COMMAND_COUNT];
extern const struct group_row cli_groups[GROUP_COUNT];
extern const struct option_row cli_options[OPTION_COUNT];
/* Ends with a NULL word. */
extern const struct hint_row cli_hints[];
const struct command_row *cli_command(const char *name, size_t length);
/* Returns whether the group has an option of the commands that is shown. */
bool cli_has_group(enum group_id group, unsigned where);

/*
 * options/parse.c: parse the options of `where` (IN_GLOBAL or one command's
 * bit). Returns 0, or a status after a message about the first invalid option.
 */
int cli_parse(struct cli *cli, unsigned where, int argc, char **argv);

/* options/refuse.c: messages about invalid words of the command line. */
int cli_refuse_command(const char *name);
/* A letter behind a dash, or a word that begins with two and may hold a value.
 * cli is NULL before the command. */
int cli_refuse_word(const struct cli *cli, const char *word);
/* Returns the hint for the first length bytes of a word, or NULL. */
const char *cli_find_hint(unsigned where, const char *word, size_t length);
/*
 * Returns CLI_USAGE after a message if the operand is a URL or "json:",
 * otherwise 0.
 */
int cli_refuse_protocol(const struct cli *cli, const char *operand);
/*
 * The same if the operand of that index is "-" and cannot be a stream there.
 */
int cli_refuse_stream(const struct cli *cli, int operand);
/*
 * Returns CLI_USAGE after a message about the value of option id, which is not
 * a format here.
 */
int cli_refuse_format(
	const struct cli *cli, enum option_id id, const char *name);
/*
 * List the formats, with `written` only those that can be written: "-O qcow2,
 * -O raw".
 */
#define CLI_FORMATS 128
const char *cli_list_formats(char *list, const char *before, bool written);

/*
 * address.c: make paths of the operands and of --expect-file that are
 * addresses of files. Returns 0, or another status after a message.
 */
int cli_file_urls(struct cli *cli);

/*
 * address.c: set cli->addresses and cli->list, and remove what is secret from
 * the command line, which other users can see in /proc. Returns 0, or
 * CLI_FAILED after a message.
 */
int cli_addresses(struct cli *cli);
/* Without -q, print a line if others can change what comes from the address.
 * Called after the image was read: a failure to open it needs no such line. */
void cli_warn_plain(const struct cli *cli, int operand);
/* image_open() of the operand, then cli_warn_plain(). Returns 0, or the status
 * after a message. */
int cli_image_open(const struct cli *cli, int operand,
	const struct image_open *how, struct image_source **out);

/* options/help.c */
void cli_help(void);
/*
 * With the options of a group, or with the most used ones if the name is empty.
 * Returns 0, or CLI_USAGE after a message if the command has no such group.
 */
int cli_command_help(enum command_id id, const char *group);

/* completion/: print the script for a shell. Returns false if there is none. */
bool completion_print(const char *shell);
/* Answer such a script: the words of the command line behind "hone", up to the
 * cursor. */
int completion_answer(int count, char **words);

/* message.c: each function prints one line on stderr. */
/*
 * "hone: NAME: ...", or without the name if it is NULL. Returns CLI_FAILED.
 * Bytes that are not text are escaped.
 */
__attribute__((format(printf, 2, 3))) int cli_fail(
	const char *name, const char *format, ...);
/* "hone: ...", of what is not a failure. */
__attribute__((format(printf, 1, 2))) void cli_note(const char *format, ...);
/* "hone: warning: NAME: ...", or without the name if it is NULL. */
__attribute__((format(printf, 2, 3))) void cli_warn(
	const char *name, const char *format, ...);
/* "Try 'hone COMMAND --help'."; command may be NULL. Returns CLI_USAGE. */
int cli_point_at_help(const char *command);
/* cli_fail() without a name, then cli_point_at_help() of the command; cli is
 * NULL before the command. */
__attribute__((format(printf, 2, 3))) int cli_usage(
	const struct cli *cli, const char *format, ...);
/*
 * Print the message of err about err->file or, if that is empty, about name.
 * Returns CLI_REFUSED if err->refused or err->damaged is set, CLI_AGAIN if
 * err->again is set, otherwise CLI_FAILED.
 */
int cli_image_fail(const char *name, const struct image_error *err);
/* Flush stdout. Returns CLI_FAILED if not all output can be written. */
int cli_flush_stdout(void);
/*
 * Returns false after a failed write to stdout, so that a long output can end
 * early.
 */
bool cli_stdout_is_good(void);

/* text.c */
/*
 * Print a name for a terminal: the bytes of control characters, and bytes that
 * are not UTF-8, as \xNN; a backslash as two.
 */
void cli_print_name(FILE *to, const char *name);

/*
 * Parse "64k", "1G", "2MiB" or "512". Returns false if text is not a size below
 * 2^64.
 */
bool cli_parse_size(const char *text, uint64_t *size);
/* Parse decimal digits, 0 to INT_MAX. */
bool cli_parse_int(const char *text, int *number);
/* Format a size as "1.5 GiB". Returns buf. */
#define CLI_SIZE_TEXT 32
const char *cli_size_text(char *buf, uint64_t size);

/* options/arguments.c: values of options; 0 or CLI_USAGE after the message. */
int cli_format(const struct cli *cli, enum option_id id,
	const struct image_format **format);
/* Without the option, *size is not changed. */
int cli_size(const struct cli *cli, enum option_id id, uint64_t least,
	uint64_t *size);
int cli_run(const struct cli *cli, struct image_run *run);
/* Set the options of opening a source. */
int cli_open(const struct cli *cli, struct image_open *how);
/*
 * Set *direct by a MODE of -t or -T, with the modes of qemu-img. Without the
 * option, *direct is not changed.
 */
int cli_cache_mode(const struct cli *cli, enum option_id id, bool *direct);
/*
 * convert/cache.c: set the use of the page cache for a command that only reads
 * the operand. Called after cli_open(). Returns 0 or the exit status.
 */
int cli_cache(const struct cli *cli, int operand, struct image_open *how);

/*
 * options/refuse.c: begin with an unknown word, then offer all known words.
 * The text is "; did you mean BEFOREword?", or empty if no known word is
 * similar. Returns buf.
 */
struct suggestion {
	const char *word;
	const char *best;
	unsigned distance;
	unsigned limit;
};
#define CLI_SUGGESTION 64
void suggest_begin(struct suggestion *suggestion, const char *word);
void suggest_offer(struct suggestion *suggestion, const char *known);
const char *suggest_text(
	const struct suggestion *suggestion, const char *before, char *buf);

/* options/choices.c: the keys of -o. */
/* Returns whether the values of -o include help. */
bool cli_choices_help(const struct cli *cli);
/*
 * List the options of the format of -O or of DST's suffix, or of all formats.
 */
int cli_print_choices(const struct cli *cli);
/*
 * Set *out to the option `key` of the format. Returns 0, or CLI_USAGE after a
 * message if the format has no such option.
 */
int cli_find_choice(const struct cli *cli, const struct image_format *format,
	const char *key, const struct image_option **out);
/*
 * Set *value to that of the option; text is NULL without a value. Returns 0, or
 * CLI_USAGE after a message.
 */
int cli_parse_choice(const struct cli *cli, const struct image_option *option,
	const char *text, uint64_t *value);
/* Returns the option of the list with that name, or NULL. */
const struct image_option *cli_option_named(
	const struct image_option *list, const char *key);
/*
 * Call set() for each KEY=VALUE of option id, up to the first failure, which is
 * returned. text is NULL without "=".
 */
typedef int cli_set_choice(
	const struct cli *cli, const char *key, const char *text, void *opaque);
int cli_each_choice(const struct cli *cli, enum option_id id,
	cli_set_choice *set, void *opaque);
/* Set what the keys about the image that is read choose. Returns 0, or a status
 * after a message. */
int cli_source_choices(const struct cli *cli, struct image_open *how);

/* text.c: print an object or an array of JSON value by value. */
struct json {
	FILE *to;
	bool comma;
};
void json_begin(struct json *json, FILE *to, char bracket);
void json_end(struct json *json, char bracket);
/* key is NULL in an array. */
void json_string(struct json *json, const char *key, const char *value);
void json_null(struct json *json, const char *key);
void json_number(struct json *json, const char *key, uint64_t value);
void json_seconds(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_open(struct json *json, const char *key, char bracket);

/* digest.c */
/*
 * Add the algorithms of a list, split by commas, which is the value of option
 * id. Returns 0, or CLI_USAGE after a message.
 */
int cli_digests_parse(const struct cli *cli, enum option_id id,
	const char *list, struct image_digests *digests);
/* List the algorithms: those that image_algorithm_is_safe(), or all. Returns
 * list. */
#define CLI_ALGORITHMS 128
const char *cli_list_algorithms(char *list, bool safe);
/* Room for image_hash_text(). */
#define CLI_DIGEST_TEXT (2 * IMAGE_DIGEST_MAX + 1)
/* Print lines as those of GNU coreutils: with tags if there are several. */
void cli_digests_print(const char *name, const struct image_digests *digests);
/* The member "digests" of an object. */
void cli_digests_json(struct json *json, const struct image_digests *digests);

/*
 * convert/expect.c: set how->expect by --expect-file, to *expect if the option
 * is given, for the image of the operand. Returns 0 or the exit status.
 */
int cli_expect(const struct cli *cli, int operand, struct image_expect *expect,
	struct image_open *how);
/* The member "expect" of an object. */
void cli_expect_json(struct json *json, const struct image_expect *expect);

/* progress.c */
/* Nanoseconds of the monotonic clock. */
uint64_t cli_now_ns(void);
struct progress {
	/* -1: none */
	int fd;
	/* lines of JSON in place of percentages */
	bool json;
	bool bar;
	/* the last percentage of fd, -1 at first */
	int shown;
	const char *phase;
	/* the name of what is read or written */
	const char *store;
	/* bytes; total may be IMAGE_SIZE_UNKNOWN */
	uint64_t done;
	uint64_t total;
	/* bytes a second; 0: not known yet */
	double rate;
	/* of the first phase, and of the present one */
	uint64_t begin_ns;
	uint64_t phase_ns;
	/* the last measurement */
	uint64_t rate_ns;
	uint64_t rate_done;
	/* the times of the next line on the terminal, and of JSON */
	uint64_t next_ns;
	uint64_t repeat_ns;
	/* characters of the bar that are on the screen */
	int drawn;
};
int progress_begin(
	struct progress *progress, const struct cli *cli, bool may_draw);
/* Begin a phase. The names stay the caller's, and must stay valid. */
void progress_phase(struct progress *progress, const char *phase,
	const char *store, uint64_t total);
void progress_update(void *progress, uint64_t done);
/* Report the last value after the end of the command's output. */
void progress_succeed(struct progress *progress);
/* Clear the bar for a line of text. */
void progress_clear(struct progress *progress);

/*
 * signals.c: cleanup when a signal ends the process. Catch such signals; a
 * second call has no effect.
 */
void signals_catch(void);
/* Set the file of a directory that the cleanup removes; name NULL: none. */
void signals_remove(int directory, const char *name);
/*
 * Set the width of the progress bar on stderr that the cleanup clears; 0: none.
 */
void signals_bar(int width);
/* Let SIGUSR1 print the line of signals_report(), or nothing. */
void signals_tell(void);
/* The line stays the caller's; a later call replaces it. */
void signals_report(const char *line);

/* output/: a file that appears under its name only when it is complete. */
struct output_how {
	/* replace an existing file */
	bool force;
	/* whose files are not replaced, and limit the permissions of a new
	 * one */
	const struct image_source *source;
	/* the new file is the first of those of output.layout, in a new folder
	 */
	bool folder;
};

struct output {
	/* the new file, open for reading and writing */
	int fd;
	/* after output_commit() */
	struct image_usage usage;
	/* with how.folder: the files. Set before output_commit(). */
	const struct image_layout *layout;
	/* the message of a failed call */
	char text[256];

	/* The rest is for output/ alone. */
	struct output_how how;
	/* the destination: a directory, a path that led to it at the beginning,
	 * and a name in it */
	char *folder;
	char *name;
	int directory;
	bool may_sync;
	/* the file to replace; fd is -1 if there is none */
	struct old {
		int fd;
		/* open for reading, not with O_PATH alone */
		bool readable;
		struct stat st;
	} old;
	/* a name in the directory; the new file has the name if named is set */
	char *temporary;
	bool named;
};

/*
 * Create the new file. output_begin() and output_commit() return 0, or -1 with
 * a message in output->text. After -1, output_abandon() is not needed.
 */
int output_begin(
	struct output *output, const char *name, const struct output_how *how);
/* The caller must have synced output->fd. */
int output_commit(struct output *output);
void output_abandon(struct output *output);
/* Returns whether the folder is one of devices. /dev/shm has files. */
bool output_is_of_devices(const char *folder);

#endif
