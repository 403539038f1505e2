/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports the progress: on a terminal, and as lines for a program. The phases
 * of a command are "read", and of convert also "flush" and "verify"; SIGUSR1
 * tells "open" before the first of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

/* Between two lines on a terminal, and between two lines of JSON that have the
 * same percentage. */
#define REDRAW_NS UINT64_C(100000000)
#define REPEAT_NS UINT64_C(1000000000)
/* The rate is that of about the last seconds. */
#define RATE_SECONDS 5.0

uint64_t
cli_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns 0 to 99; 0 if the total is not known. */
static int
percent_done(const struct progress *progress)
{
	if (progress->total == 0 || progress->total == IMAGE_SIZE_UNKNOWN)
		return 0;
	double part = (double)progress->done / (double)progress->total;
	/* Only progress_succeed() reports 100. */
	return part < 0.99 ? (int)(part * 100) : 99;
}

/* Returns the seconds that are left, or UINT64_MAX if they are not known. */
static uint64_t
seconds_left(const struct progress *progress)
{
	if (progress->rate < 1 || progress->total == IMAGE_SIZE_UNKNOWN ||
		progress->done > progress->total)
		return UINT64_MAX;
	double left = (double)(progress->total - progress->done);
	return (uint64_t)(left / progress->rate + 0.5);
}

/*
 * The progress as text: a bar on a terminal, and a line for SIGUSR1. There are
 * no colours, with or without NO_COLOR.
 */

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
	uint64_t left = seconds_left(progress);
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

static void
bar_draw(struct progress *progress)
{
	char line[BAR_SIZE + RATE_SIZE] = "", rate[RATE_SIZE];
	char done[CLI_SIZE_TEXT];
	int room = line_width();

	format_rate(progress, rate);
	int length = progress->total == IMAGE_SIZE_UNKNOWN
			     ? snprintf(line, BAR_SIZE, "%.*s", room,
				       cli_size_text(done, progress->done))
			     : format_bar(line, room, percent_done(progress));
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

/* Set the line that SIGUSR1 prints. */
static void
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
			percent_done(progress), rate);
	signals_report(line);
	next ^= 1;
}

static int
parse_fd(struct progress *progress, const struct cli *cli)
{
	const char *text = cli->option[OPTION_PROGRESS_FD];
	int fd;

	if (!cli_parse_int(text, &fd))
		return cli_usage(cli,
			"--progress-fd: '%s' is not a file descriptor", text);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return cli_usage(cli,
			"--progress-fd: descriptor %s is not open for writing",
			text);
	/* The reader may close its end: the work continues without progress. */
	signal(SIGPIPE, SIG_IGN);
	progress->fd = fd;
	return 0;
}

int
progress_begin(struct progress *progress, const struct cli *cli, bool may_draw)
{
	*progress = (struct progress){.fd = -1,
		.shown = -1,
		.phase = "open",
		.total = IMAGE_SIZE_UNKNOWN};
	progress->json = cli->option[OPTION_PROGRESS_JSON];
	if (cli->option[OPTION_PROGRESS_FD]) {
		int rc = parse_fd(progress, cli);
		if (rc != 0)
			return rc;
	} else if (progress->json) {
		progress->fd = STDERR_FILENO;
	}
	progress->bar = may_draw && progress->fd < 0 && isatty(STDERR_FILENO);
	/* A signal must clear the bar. */
	if (progress->bar)
		signals_catch();
	/* A server may never answer. */
	bar_tell(progress);
	return 0;
}

/* Write to the descriptor. After an error, no more is written. */
static void
write_out(struct progress *progress, const char *text, size_t length)
{
	while (progress->fd >= 0 && length) {
		ssize_t n = write(progress->fd, text, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			progress->fd = -1;
			return;
		}
		text += n;
		length -= (size_t)n;
	}
}

static void
write_percent(struct progress *progress, int percent)
{
	char line[16];
	int length = snprintf(line, sizeof(line), "%d/100\n", percent);

	write_out(progress, line, (size_t)length);
}

static void
write_json(struct progress *progress)
{
	uint64_t left = seconds_left(progress);
	struct json json;
	char *text = NULL;
	size_t length = 0;

	/* A line that there is no memory for is left out. */
	FILE *to = open_memstream(&text, &length);
	if (!to)
		return;
	json_begin(&json, to, '{');
	json_string(&json, "phase", progress->phase);
	json_string(&json, "store", progress->store);
	json_number(&json, "bytes", progress->done);
	if (progress->total != IMAGE_SIZE_UNKNOWN)
		json_number(&json, "total", progress->total);
	json_number(&json, "rate", (uint64_t)progress->rate);
	if (left != UINT64_MAX)
		json_number(&json, "eta", left);
	json_end(&json, '}');
	putc('\n', to);
	if (fclose(to) == 0)
		write_out(progress, text, length);
	free(text);
}

/*
 * Set the rate: the average of the phase at first, then one in which older
 * bytes count less.
 */
static void
measure(struct progress *progress, uint64_t now)
{
	double seconds = (double)(now - progress->rate_ns) * 1e-9;
	double before = (double)(progress->rate_ns - progress->phase_ns) * 1e-9;

	/* The times of a few chunks differ too much. */
	if (progress->done < progress->rate_done || seconds < 0.05)
		return;
	if (before > RATE_SECONDS)
		before = RATE_SECONDS;
	double bytes = (double)(progress->done - progress->rate_done);
	progress->rate += seconds / (seconds + before) *
			  (bytes / seconds - progress->rate);
	progress->rate_ns = now;
	progress->rate_done = progress->done;
}

void
progress_phase(struct progress *progress, const char *phase, const char *store,
	uint64_t total)
{
	uint64_t now = cli_now_ns();

	progress->phase = phase;
	progress->store = store;
	progress->total = total;
	progress->done = 0;
	progress->rate = 0;
	progress->phase_ns = progress->rate_ns = now;
	progress->rate_done = 0;
	if (!progress->begin_ns)
		progress->begin_ns = now;
	progress->repeat_ns = now + REPEAT_NS;
	bar_tell(progress);
	if (!progress->json)
		return;
	progress->shown = 0;
	write_json(progress);
}

/* Each percentage of the first phase once: "0/100" to "99/100". */
static void
update_percent(struct progress *progress)
{
	int percent = percent_done(progress);

	if (strcmp(progress->phase, "read") != 0)
		return;
	for (int i = progress->shown + 1; i <= percent; i++)
		write_percent(progress, i);
	if (progress->shown < percent)
		progress->shown = percent;
}

static void
update_json(struct progress *progress, uint64_t now)
{
	int percent = percent_done(progress);

	if (percent <= progress->shown && now < progress->repeat_ns)
		return;
	measure(progress, now);
	write_json(progress);
	progress->shown = percent;
	progress->repeat_ns = now + REPEAT_NS;
}

void
progress_update(void *opaque, uint64_t done)
{
	struct progress *progress = opaque;
	uint64_t now = cli_now_ns();

	progress->done = done;
	if (now >= progress->next_ns) {
		progress->next_ns = now + REDRAW_NS;
		measure(progress, now);
		bar_tell(progress);
		if (progress->bar)
			bar_draw(progress);
	}
	if (progress->fd < 0)
		return;
	if (progress->json)
		update_json(progress, now);
	else
		update_percent(progress);
}

void
progress_succeed(struct progress *progress)
{
	if (progress->fd < 0)
		return;
	if (progress->json) {
		progress->phase = "done";
		if (progress->total != IMAGE_SIZE_UNKNOWN)
			progress->done = progress->total;
		/* A short run has no other rate. */
		progress->rate =
			(double)progress->done * 1e9 /
			(double)(cli_now_ns() - progress->begin_ns + 1);
		write_json(progress);
		return;
	}
	for (int i = progress->shown + 1; i <= 100; i++)
		write_percent(progress, i);
}
