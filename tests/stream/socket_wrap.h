/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_STREAM_SOCKET_WRAP_H
#define HONE_TESTS_STREAM_SOCKET_WRAP_H
/*
 * Stands between a stream and the calls that it makes: the linker redirects
 * them to this file. They are counted, may fail, and may use a simulated clock,
 * so that no test depends on real time. One file of a program may include it.
 */
#include <time.h>
#include <hone/stream.h>
#include "socket_support.h"

#define MS INT64_C(1000000)
#define STEPS 64

/* What happens in one wait on the simulated clock. */
struct step {
	/* how long it takes */
	int64_t ns;
	/* bytes that the peer sends during the wait */
	size_t sends;
	/* what it returns: 1, 0 or a negative errno */
	int returns;
};

static struct calls {
	/* count */
	bool armed;
	int recvs, polls, clocks, others;
	/* recv number fails_at, from 1, fails with error */
	int fails_at, error;
	/* most bytes that one recv returns; 0: any */
	size_t cap;
	/* waits use the simulated clock */
	bool fake;
	int64_t now;
	struct step steps[STEPS];
	int peer;
	/* the timeout of each wait; -1: for ever */
	int64_t asked[STEPS];
} calls;

STANDS_FOR(ssize_t, recv, int fd, void *buf, size_t n, int flags)
{
	if (!calls.armed)
		return __real_recv(fd, buf, n, flags);
	/* a call that can wait would be wrong whatever it returns */
	if (!(flags & MSG_DONTWAIT))
		abort();
	if (++calls.recvs == calls.fails_at) {
		errno = calls.error;
		return -1;
	}
	if (calls.cap && n > calls.cap)
		n = calls.cap;
	return __real_recv(fd, buf, n, flags);
}

STANDS_FOR(ssize_t, read, int fd, void *buf, size_t n)
{
	calls.others += calls.armed;
	return __real_read(fd, buf, n);
}

STANDS_FOR(int, poll, struct pollfd *fds, nfds_t n, int timeout)
{
	calls.others += calls.armed;
	return __real_poll(fds, n, timeout);
}

static int
fake_wait(const struct timespec *timeout)
{
	struct step step;

	if (calls.polls > STEPS)
		abort();
	step = calls.steps[calls.polls - 1];
	calls.asked[calls.polls - 1] =
		timeout ? timeout->tv_sec * 1000 * MS + timeout->tv_nsec : -1;
	calls.now += step.ns;
	if (step.sends > 0 &&
		send(calls.peer, "................", step.sends, 0) < 0)
		abort();
	if (step.returns >= 0)
		return step.returns;
	errno = -step.returns;
	return -1;
}

STANDS_FOR(int, ppoll, struct pollfd *fds, nfds_t n,
	const struct timespec *timeout, const sigset_t *mask)
{
	if (!calls.armed)
		return __real_ppoll(fds, n, timeout, mask);
	calls.polls++;
	if (n != 1 || !(fds->events & POLLIN) || mask)
		abort();
	return calls.fake ? fake_wait(timeout)
			  : __real_ppoll(fds, n, timeout, mask);
}

STANDS_FOR(int, clock_gettime, clockid_t clock, struct timespec *now)
{
	if (!calls.armed)
		return __real_clock_gettime(clock, now);
	calls.clocks++;
	if (clock != CLOCK_MONOTONIC)
		abort();
	if (!calls.fake)
		return __real_clock_gettime(clock, now);
	now->tv_sec = (time_t)(calls.now / (1000 * MS));
	now->tv_nsec = (long)(calls.now % (1000 * MS));
	return 0;
}

/* Start to count. */
static inline void
count(void)
{
	calls = (struct calls){.armed = true};
}

/* Counted on the simulated clock, which stands at 100 s. */
static inline void
count_on_our_clock(int peer)
{
	count();
	calls.fake = true;
	calls.now = 100000 * MS;
	calls.peer = peer;
}

static inline void
assert_calls(int recvs, int polls)
{
	calls.armed = false;
	assert_int_equal(calls.recvs, recvs);
	assert_int_equal(calls.polls, polls);
	assert_int_equal(calls.others, 0);
}

static inline struct hone_stream *
open_stream(int fd, unsigned flags)
{
	struct hone_stream_attr attr;
	struct hone_stream *stream = NULL;

	hone_stream_attr_init(&attr);
	attr.flags = flags;
	assert_int_equal(hone_stream_open_fd(&stream, fd, &attr), 0);
	return stream;
}

#endif
