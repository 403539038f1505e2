/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the progress: a bar on a terminal, or lines for a program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

#define BAR_WIDTH 40
#define LINE_SIZE (BAR_WIDTH + 16)
/* For a terminal that does not report its width. */
#define DEFAULT_WIDTH 79
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
	/* A signal must clear the bar. */
	if (progress->bar)
		signals_catch();
	if (!text)
		return 0;
	if (!cli_parse_int(text, &fd))
		return cli_usage(cli_commands[cli->command].name,
			"--progress-fd: '%s' is not a file descriptor", text);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return cli_usage(cli_commands[cli->command].name,
			"--progress-fd: descriptor %s is not open for writing",
			text);
	/* The reader may close its end: the work continues without progress. */
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

/*
 * Returns the characters that fit on a line of the terminal. Called before each
 * use, because the size of the window may change. The last column is left out,
 * because some terminals wrap there.
 */
static int
line_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return DEFAULT_WIDTH;
	return size.ws_col - 1;
}

/* "[====    ]  50 %", or without the bar, or nothing, as it fits. */
static int
format_bar(char *line, int room, int percent)
{
	char bar[BAR_WIDTH + 1];
	int width = room - (int)strlen("[] 100 %");

	if (width > BAR_WIDTH)
		width = BAR_WIDTH;
	if (width <= 0)
		return room < (int)strlen("100 %")
			       ? 0
			       : snprintf(line, LINE_SIZE, "%3d %%", percent);
	int filled = percent * width / 100;
	memset(bar, '=', (size_t)filled);
	memset(bar + filled, ' ', (size_t)(width - filled));
	bar[width] = '\0';
	return snprintf(line, LINE_SIZE, "[%s] %3d %%", bar, percent);
}

static void
draw(struct progress *progress, int percent, uint64_t done)
{
	char line[LINE_SIZE] = "", text[CLI_SIZE_TEXT];
	uint64_t now = now_ns();

	if (now < progress->next_ns)
		return;
	progress->next_ns = now + REDRAW_NS;
	int room = line_width();
	/* Without a total: the bytes. */
	int length = progress->total == IMAGE_SIZE_UNKNOWN
			     ? snprintf(line, sizeof(line), "%.*s", room,
				       cli_size_text(text, done))
			     : format_bar(line, room, percent);
	/* Overwrite the rest of a longer bar, which was drawn in a wider
	 * window. */
	if (progress->drawn > room)
		progress->drawn = room;
	if (progress->drawn < length)
		progress->drawn = length;
	signals_bar(progress->drawn);
	fprintf(stderr, "\r%-*s", progress->drawn, line);
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
	/* progress_succeed() reports 100 at the end */
	if (percent > 99)
		percent = 99;
	bool unknown = progress->total == IMAGE_SIZE_UNKNOWN;
	if (percent <= progress->shown && !(unknown && progress->bar))
		return;
	if (progress->bar) {
		draw(progress, percent, done);
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
	int width = line_width();

	if (progress->drawn == 0)
		return;
	if (progress->drawn < width)
		width = progress->drawn;
	fprintf(stderr, "\r%*s\r", width, "");
	progress->drawn = 0;
	signals_bar(0);
}

void
progress_succeed(struct progress *progress)
{
	for (int i = progress->shown + 1; i <= 100; i++)
		if (progress->fd >= 0)
			write_line(progress, i);
}
