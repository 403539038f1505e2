/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* kind is "" or "warning: ". */
static void
print_line(const char *kind, const char *name, const char *format, va_list args)
{
	char *text = NULL, *shown = NULL;

	/* A word of the command line, or a name from an image, may be an
	 * address. */
	if (vasprintf(&text, format, args) >= 0) {
		shown = image_hide_secrets(text);
		free(text);
	}
	/* Threads that serve images report, too. */
	flockfile(stderr);
	fprintf(stderr, "hone: %s", kind);
	if (name) {
		cli_print_name(stderr, name);
		fputs(": ", stderr);
	}
	cli_print_name(stderr, shown ? shown : "out of memory");
	putc('\n', stderr);
	funlockfile(stderr);
	free(shown);
}

int
cli_fail(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("", name, format, args);
	va_end(args);
	return CLI_FAILED;
}

void
cli_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("", NULL, format, args);
	va_end(args);
}

void
cli_warn(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("warning: ", name, format, args);
	va_end(args);
}

int
cli_point_at_help(const char *command)
{
	fprintf(stderr, "Try 'hone %s%s--help'.\n", command ? command : "",
		command ? " " : "");
	return CLI_USAGE;
}

int
cli_usage(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("", NULL, format, args);
	va_end(args);
	return cli_point_at_help(cli ? cli_commands[cli->command].name : NULL);
}

int
cli_image_fail(const char *name, const struct image_error *err)
{
	const char *file = err->file[0] ? err->file : name;

	if (file && strcmp(file, "-") == 0)
		file = "stdin";
	/* An address that was not opened may still have its password. */
	char *shown = file ? image_hide_secrets(file) : NULL;
	int rc = cli_fail(shown, "%s", err->text);

	free(shown);
	if (err->refused || err->damaged)
		return CLI_REFUSED;
	return err->again ? CLI_AGAIN : rc;
}

/* The errno of the first failed write to stdout. */
static int stdout_code;

bool
cli_stdout_is_good(void)
{
	if (!ferror(stdout))
		return true;
	if (stdout_code == 0)
		stdout_code = errno;
	return false;
}

int
cli_flush_stdout(void)
{
	if (fflush(stdout) == 0 && cli_stdout_is_good())
		return 0;
	return cli_fail("standard output", "cannot be written: %s",
		strerror(stdout_code ? stdout_code : errno));
}
