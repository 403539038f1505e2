/* SPDX-License-Identifier: BSD-3-Clause */
/* The cleanup before a signal ends the process, and the answer to SIGUSR1. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

/* Not on mips. */
#ifndef SIGSTKFLT
#define SIGSTKFLT SIGPWR
#endif

/* Signals that end a process by default, except crashes. */
static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGALRM,
	SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR, SIGSTKFLT};

/* A file to remove: valid while its name is not NULL. */
static atomic_int doomed_directory;
static _Atomic(const char *) doomed_name;

/* The line that SIGUSR1 prints, or NULL. */
static _Atomic(const char *) report;

/* Characters of a progress bar on the line of the cursor. */
static atomic_int bar_width;

static void
clear_bar(void)
{
	char line[2 + 80] = "\r";
	size_t width = (size_t)bar_width;

	if (width == 0)
		return;
	if (width > sizeof(line) - 2)
		width = sizeof(line) - 2;
	memset(line + 1, ' ', width);
	line[width + 1] = '\r';
	(void)!write(STDERR_FILENO, line, width + 2);
}

static void
on_deadly_signal(int signal_number)
{
	const char *name = doomed_name;

	if (name)
		unlinkat(doomed_directory, name, 0);
	clear_bar();
	/* SA_RESETHAND: the second signal ends the process, with the right
	 * status. */
	raise(signal_number);
}

static void catch (int number)
{
	struct sigaction action = {.sa_handler = on_deadly_signal};
	struct sigaction old;

	action.sa_flags = (int)SA_RESETHAND;
	sigfillset(&action.sa_mask);
	/* nohup and similar programs ignore a signal, which stays ignored */
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(number, &action, NULL);
}

void
signals_catch(void)
{
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		catch (deadly[i]);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		catch (number);
}

static void
on_question(int signal_number)
{
	int code = errno;
	const char *line = report;

	(void)signal_number;
	if (line) {
		clear_bar();
		/* The run goes on if stderr is closed. */
		(void)!write(STDERR_FILENO, line, strlen(line));
	}
	errno = code;
}

void
signals_tell(void)
{
	struct sigaction action = {
		.sa_handler = on_question, .sa_flags = SA_RESTART};
	struct sigaction old;

	sigfillset(&action.sa_mask);
	if (sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGUSR1, &action, NULL);
}

void
signals_report(const char *line)
{
	report = line;
}

void
signals_remove(int directory, const char *name)
{
	doomed_name = NULL;
	doomed_directory = directory;
	doomed_name = name;
}

void
signals_bar(int width)
{
	bar_width = width;
}
