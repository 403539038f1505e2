/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The `hone` command: options before the command's name, and the command's
 * call.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hone/hone.h>
#include "cli.h"

static int (*const run[COMMAND_COUNT])(const struct cli *cli) = {
#define HONE_COMMAND(name, ...) name##_run,
#include "options.def"
};

static int
limit_cpu(const char *list)
{
	uint64_t allowed = 0;

	if (strcmp(list, "all") == 0)
		return 0;
	if (strcmp(list, "none") == 0)
		list = "";
	while (*list) {
		size_t length = strcspn(list, ",");
		uint64_t bit = hone_cpu_feature_by_name(list, length);
		if (!bit)
			return cli_usage(NULL,
				"--cpu-limit: '%.*s' is not a CPU feature; "
				"hone cpu lists them",
				(int)length, list);
		allowed |= bit;
		list += length + (list[length] == ',');
	}
	hone_cpu_limit(allowed);
	return 0;
}

/* List the libraries that this build has, or that it lacks. */
static void
print_libraries(bool has)
{
	const char *name, *version, *before = has ? " with" : " without";

	for (size_t i = 0; (name = image_library(i, &version)); i++) {
		if (!version == has)
			continue;
		printf("%s %s", before, name);
		if (has)
			/* libbz2 adds a date. */
			printf(" %.*s", (int)strcspn(version, ","), version);
		before = ",";
	}
}

/*
 * Handle the options before the command. Returns -1 to continue, otherwise the
 * exit status.
 */
static int
run_global(const struct cli *cli)
{
	if (cli->option[OPTION_HELP]) {
		cli_help();
		return cli_flush_stdout();
	}
	if (cli->option[OPTION_VERSION]) {
		printf("hone %s", hone_version());
		print_libraries(true);
		print_libraries(false);
		putchar('\n');
		return cli_flush_stdout();
	}
	if (cli->option[OPTION_CPU_LIMIT]) {
		int rc = limit_cpu(cli->option[OPTION_CPU_LIMIT]);
		if (rc != 0)
			return rc;
	}
	return -1;
}

/* An operand is empty after an error in a script: an unset variable. */
static int
refuse_empty(const struct cli *cli, int operand)
{
	const char *word = cli_commands[cli->command].synopsis;

	while (operand-- > 0 && word[strcspn(word, " ")])
		word += strcspn(word, " ") + 1;
	return cli_usage(cli, "the name of %.*s is empty",
		(int)strcspn(word, " ."), word);
}

/* "convert needs SRC and DST; DST is missing" */
static int
refuse_number(const struct cli *cli)
{
	const struct command_row *row = &cli_commands[cli->command];
	char names[64] = "";
	const char *last = strrchr(row->synopsis, ' ');

	if (last && row->operands && row->synopsis[0] != '[')
		snprintf(names, sizeof(names), "%.*s and %s",
			(int)(last - row->synopsis), row->synopsis, last + 1);
	else
		snprintf(names, sizeof(names), "%.*s",
			(int)strcspn(row->synopsis, "."), row->synopsis);
	if (!row->operands)
		snprintf(names, sizeof(names), "no operand");
	if (cli->n_operands > row->operands)
		return cli_usage(cli,
			"%s takes %s; '%s' is one operand too many", row->name,
			names, cli->operands[row->operands]);
	return cli_usage(cli, "%s needs %s%s%s%s", row->name, names,
		cli->n_operands ? "; " : "", cli->n_operands ? last + 1 : "",
		cli->n_operands ? " is missing" : "");
}

int
cli_for_each(const struct cli *cli,
	int (*run_one)(const struct cli *cli, int operand))
{
	static const int order[] = {
		0, CLI_AGAIN, CLI_FAILED, CLI_REFUSED, CLI_USAGE};
	size_t worst = 0;

	for (int i = 0; i < cli->n_operands && cli_stdout_is_good() &&
			order[worst] != CLI_USAGE;
		i++) {
		int rc = run_one(cli, i);
		size_t place = 0;
		while (order[place] != rc)
			place++;
		if (place > worst)
			worst = place;
	}
	return order[worst];
}

static int
run_parsed(struct cli *cli)
{
	const struct command_row *row = &cli_commands[cli->command];

	if (cli->option[OPTION_EXPLAIN]) {
		int status = cli_command_help(
			cli->command, cli->option[OPTION_EXPLAIN]);
		return status ? status : cli_flush_stdout();
	}
	if (cli_choices_help(cli))
		return cli_print_choices(cli);
	bool too_few =
		cli->n_operands < row->operands && cli->command != COMMAND_help;
	bool any = strstr(row->synopsis, "...");
	if (too_few || (cli->n_operands > row->operands && !any))
		return refuse_number(cli);
	if (cli->command == COMMAND_help)
		return run[cli->command](cli);
	int rc = cli_file_urls(cli);
	for (int i = 0; rc == 0 && i < cli->n_operands; i++) {
		if (!*cli->operands[i])
			return refuse_empty(cli, i);
		rc = cli_refuse_stream(cli, i);
		if (rc == 0)
			rc = cli_refuse_protocol(cli, cli->operands[i]);
	}
	if (rc != 0)
		return rc;
	/* For compare, 1 means a difference. */
	if (cli_addresses(cli) != 0)
		return cli->command == COMMAND_compare ? CLI_USAGE : CLI_FAILED;
	return run[cli->command](cli);
}

static int
run_command(int argc, char **argv)
{
	struct cli cli = {0};
	const struct command_row *row = cli_command(argv[0], strlen(argv[0]));

	if (strcmp(argv[0], "__complete") == 0)
		return completion_answer(argc - 1, argv + 1);
	if (!row)
		return cli_refuse_command(argv[0]);
	cli.command = (enum command_id)(row - cli_commands);
	int rc = cli_parse(&cli, 1u << cli.command, argc, argv);
	if (rc == 0)
		rc = run_parsed(&cli);
	free(cli.joined);
	for (int i = 0; cli.addresses && i < cli.n_operands; i++)
		free(cli.addresses[i]);
	free(cli.addresses);
	free(cli.list);
	return rc;
}

/*
 * A file that was opened on a closed standard descriptor would receive the
 * output for that descriptor. So /dev/null is opened there, for the other
 * direction, so that using the descriptor still fails.
 */
static int
occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
		if (open("/dev/null", mode) != fd)
			return cli_fail("/dev/null", "cannot be opened: %s",
				strerror(errno));
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct cli cli = {0};

	if (occupy_standard_descriptors() != 0)
		return CLI_FAILED;
	signals_tell();
	/*
	 * By default glibc keeps freed memory for the thread that had it.
	 * Blocks of xz have several MiB, and those of one thread are of no use
	 * to another.
	 */
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 1);
#endif
	/*
	 * libcurl and GnuTLS would write the keys of each connection into a
	 * file that a variable names, which a user may have inherited without
	 * knowing. There are no other threads yet.
	 */
	unsetenv("SSLKEYLOGFILE");
	int rc = cli_parse(&cli, IN_GLOBAL, argc, argv);
	if (rc != 0)
		return rc;
	rc = run_global(&cli);
	if (rc >= 0)
		return rc;
	if (cli.n_operands == 0)
		return cli_usage(NULL, "a command is missing");
	return run_command(cli.n_operands, cli.operands);
}
