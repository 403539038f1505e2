/* SPDX-License-Identifier: BSD-3-Clause */
/* How far it is: a bar on a terminal, or lines for a program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

#define BAR_WIDTH 40
#define REDRAW_NS UINT64_C(100000000)

static uint64_t
now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int
progress_begin(struct progress *progress, const struct cli *cli, bool may_draw)
{
	const char *text = cli->option[OPTION_PROGRESS_FD];
	int fd;

	*progress = (struct progress){.fd = -1, .shown = -1};
	progress->bar = may_draw && isatty(STDERR_FILENO);
	if (!text)
		return 0;
	if (!cli_parse_int(text, &fd))
		return cli_usage(cli_commands[cli->command].name,
			"--progress-fd: '%s' is no descriptor", text);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return cli_usage(cli_commands[cli->command].name,
			"--progress-fd: descriptor %s is not open for writing",
			text);
	/* Whoever reads may stop doing so: the work goes on without. */
	signal(SIGPIPE, SIG_IGN);
	progress->fd = fd;
	progress->bar = false;
	return 0;
}

static void
write_line(struct progress *progress, int percent)
{
	char line[16];
	int length = snprintf(line, sizeof(line), "%d/100\n", percent);

	for (int done = 0; done < length;) {
		ssize_t n = write(
			progress->fd, line + done, (size_t)(length - done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			progress->fd = -1;
			return;
		}
		done += (int)n;
	}
}

static void
draw(struct progress *progress, int percent)
{
	char bar[BAR_WIDTH + 1];
	uint64_t now = now_ns();

	if (now < progress->next_ns)
		return;
	progress->next_ns = now + REDRAW_NS;
	int filled = percent * BAR_WIDTH / 100;
	memset(bar, '=', (size_t)filled);
	memset(bar + filled, ' ', (size_t)(BAR_WIDTH - filled));
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %3d %%", bar, percent);
	fflush(stderr);
	progress->shown = percent;
}

void
progress_update(void *opaque, uint64_t done)
{
	struct progress *progress = opaque;

	if (progress->fd < 0 && !progress->bar)
		return;
	int percent =
		progress->total
			? (int)((double)done / (double)progress->total * 100)
			: 0;
	/* 100 means that all is done and said: progress_succeed() */
	if (percent > 99)
		percent = 99;
	if (percent <= progress->shown)
		return;
	if (progress->bar) {
		draw(progress, percent);
		return;
	}
	for (int i = progress->shown + 1; i <= percent; i++)
		if (progress->fd >= 0)
			write_line(progress, i);
	progress->shown = percent;
}

void
progress_clear(struct progress *progress)
{
	if (progress->bar && progress->shown >= 0)
		fprintf(stderr, "\r%*s\r", BAR_WIDTH + 8, "");
}

void
progress_succeed(struct progress *progress)
{
	for (int i = progress->shown + 1; i <= 100; i++)
		if (progress->fd >= 0)
			write_line(progress, i);
}
