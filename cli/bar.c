/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress as text: a bar on a terminal, and a line for SIGUSR1. There are
 * no colours, with or without NO_COLOR.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "cli.h"

#define BAR_WIDTH 40
#define BAR_SIZE (BAR_WIDTH + 16)
/* For a terminal that does not report its width. */
#define DEFAULT_WIDTH 79
/* The text beside the bar, and the line for SIGUSR1. */
#define RATE_SIZE 80
#define LINE_SIZE 256

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
			       : snprintf(line, BAR_SIZE, "%3d %%", percent);
	int filled = percent * width / 100;
	memset(bar, '=', (size_t)filled);
	memset(bar + filled, ' ', (size_t)(width - filled));
	bar[width] = '\0';
	return snprintf(line, BAR_SIZE, "[%s] %3d %%", bar, percent);
}

/* ", 1.2 GiB/s, 0:05 left", as far as these are known. */
static void
format_rate(const struct progress *progress, char text[RATE_SIZE])
{
	char rate[CLI_SIZE_TEXT];
	uint64_t left = progress_left(progress);
	size_t used = 0;

	text[0] = '\0';
	if (progress->rate >= 1)
		used = (size_t)snprintf(text, RATE_SIZE, ", %s/s",
			cli_size_text(rate, (uint64_t)progress->rate));
	if (left == UINT64_MAX)
		return;
	if (left >= 3600)
		snprintf(text + used, RATE_SIZE - used,
			", %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left",
			left / 3600, left / 60 % 60, left % 60);
	else
		snprintf(text + used, RATE_SIZE - used,
			", %" PRIu64 ":%02" PRIu64 " left", left / 60,
			left % 60);
}

void
bar_draw(struct progress *progress)
{
	char line[BAR_SIZE + RATE_SIZE] = "", rate[RATE_SIZE];
	char done[CLI_SIZE_TEXT];
	int room = line_width();

	format_rate(progress, rate);
	int length =
		progress->total == IMAGE_SIZE_UNKNOWN
			? snprintf(line, BAR_SIZE, "%.*s", room,
				  cli_size_text(done, progress->done))
			: format_bar(line, room, progress_percent(progress));
	/* Beside a bar that is whole. */
	if (length + (int)strlen(rate) <= room &&
		(length >= BAR_WIDTH || progress->total == IMAGE_SIZE_UNKNOWN))
		length += snprintf(line + length, RATE_SIZE, "%s", rate);
	/* Overwrite the rest of a longer line. */
	int drawn = progress->drawn > room ? room : progress->drawn;
	if (drawn < length)
		drawn = length;
	progress->drawn = drawn;
	signals_bar(drawn);
	fprintf(stderr, "\r%-*s", drawn, line);
	fflush(stderr);
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
bar_tell(struct progress *progress)
{
	char done[CLI_SIZE_TEXT], total[CLI_SIZE_TEXT], rate[RATE_SIZE];
	/* A handler may be printing one while the other is written. */
	static char lines[2][LINE_SIZE];
	static unsigned next;
	char *line = lines[next];

	format_rate(progress, rate);
	cli_size_text(done, progress->done);
	if (progress->total == IMAGE_SIZE_UNKNOWN)
		snprintf(line, LINE_SIZE, "hone: %s: %s%s\n", progress->phase,
			done, rate);
	else
		snprintf(line, LINE_SIZE, "hone: %s: %s of %s (%d %%)%s\n",
			progress->phase, done,
			cli_size_text(total, progress->total),
			progress_percent(progress), rate);
	signals_report(line);
	next ^= 1;
}
