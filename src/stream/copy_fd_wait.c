/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting of hone_copy_fd_until(), and of writes that cannot be put off. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>
#include "stream/copy_fd.h"

#define NS_PER_S 1000000000
#define NS_PER_MS 1000000

/* Milliseconds to the deadline, rounded up, for poll(). */
static int
time_left(const struct hone_copying *c)
{
	struct timespec now;
	int64_t ns, ms;

	if (c->deadline_ns == INT64_MAX)
		return -1;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
	if (c->deadline_ns <= ns)
		return 0;
	ms = (c->deadline_ns - ns - 1) / NS_PER_MS + 1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

int
hone_copying_wait(const struct hone_copying *c, int fd, short events)
{
	struct pollfd poller = {.fd = fd, .events = events};

	for (;;) {
		int left = time_left(c);
		int n = poll(&poller, 1, left);

		/* After a signal the caller tries again first. */
		if (n > 0 || (n < 0 && errno == EINTR))
			return 0;
		if (n < 0)
			return -errno;
		/* A deadline may be later than the longest wait. */
		if (left == 0 || time_left(c) == 0)
			return -ETIMEDOUT;
	}
}

/*
 * Waits after -EAGAIN until both sides are ready: which of them was not, the
 * system call does not say. A regular file is always ready.
 */
int
hone_copying_wait_for_both(struct hone_copying *c)
{
	int error = hone_copying_wait(c, c->in, POLLIN);

	if (!error)
		error = hone_copying_wait(c, c->out, POLLOUT);
	/* Ready, and nothing has moved since the last wait: poll() and the
	 * system call disagree. A pause keeps this thread from spinning. */
	if (!error && c->result.copied == c->copied_before) {
		const struct timespec pause = {.tv_nsec = NS_PER_MS};

		if (time_left(c) == 0)
			return -ETIMEDOUT;
		(void)nanosleep(&pause, NULL);
	}
	c->copied_before = c->result.copied;
	return error;
}
