/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams over sockets: which calls are made, and what each state gives. */
#include <time.h>
#include <hone/stream.h>
#include "socket_support.h"

/*
 * Stands between a stream and the calls that it makes: the linker redirects
 * them to this file. They are counted, may fail, and may use a simulated clock,
 * so that no test depends on real time.
 */

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
	struct hone_stream_attr attr = {.flags = flags};
	struct hone_stream *stream = NULL;

	assert_ok(hone_stream_open_fd(&stream, fd, &attr));
	return stream;
}

#define REQUEST 8192

static char sent[REQUEST], got[REQUEST];

FIXTURE(fill)
{
	uint64_t random = support_seed();

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)('a' + support_below(&random, 26));
	sent[sizeof(sent) - 1] = '\n';
	return 0;
}

/* Read n bytes, or a line, into got. */
typedef ptrdiff_t ask_fn(struct hone_stream *s, size_t n);

static ptrdiff_t
ask_some(struct hone_stream *s, size_t n)
{
	return hone_stream_read_some(s, got, n);
}

static ptrdiff_t
ask_all(struct hone_stream *s, size_t n)
{
	return hone_stream_read(s, got, n);
}

static ptrdiff_t
ask_peek(struct hone_stream *s, size_t n)
{
	const void *data;
	ptrdiff_t there = hone_stream_peek(s, &data, n);

	if (there > 0) {
		memcpy(got, data, (size_t)there);
		hone_stream_take(s, (size_t)there);
	}
	return there;
}

static ptrdiff_t
ask_line(struct hone_stream *s, size_t n)
{
	const char *line;
	ptrdiff_t there = hone_stream_read_line(s, &line, '\n', SIZE_MAX);

	(void)n;
	if (there > 0)
		memcpy(got, line, (size_t)there);
	return there;
}

static ask_fn *const asks[] = {ask_some, ask_all, ask_peek, ask_line};
#define N_ASKS (sizeof(asks) / sizeof(asks[0]))

/* i: flags of the stream and of the descriptor, and the way to ask */
SOCKETS_TEST(data_that_is_there_takes_one_call_and_no_poll, 2 * 2 * 2 * N_ASKS)
{
	unsigned flags = (i & 1 ? HONE_STREAM_NONBLOCK : 0) |
			 (i & 2 ? HONE_STREAM_EXACT : 0);
	struct hone_stream *s;

	assert_ok(fcntl(fds[0], F_SETFL, i & 4 ? O_NONBLOCK : 0));
	s = open_stream(fds[0], flags);
	if (!(i & 1))
		hone_stream_set_deadline(s, 0);
	for (int turn = 0; turn < 3; turn++) {
		send_exactly(fds[1], sent, sizeof(sent));
		await_bytes(fds[0], sizeof(sent));
		count();
		assert_int_equal(asks[i / 8](s, REQUEST), sizeof(sent));
		assert_calls(1, 0);
		assert_int_equal(calls.clocks, 0);
		assert_memory_equal(got, sent, sizeof(sent));
	}
	assert_ok(hone_stream_close(s));
}

SOCKETS_TEST(without_waiting_one_call_says_that_there_is_nothing, N_ASKS)
{
	struct hone_stream *s = open_stream(fds[0], HONE_STREAM_NONBLOCK);

	for (int turn = 0; turn < 2; turn++) {
		/* it never waits, so no deadline can pass */
		if (turn > 0)
			hone_stream_set_deadline(s, 0);
		count();
		assert_int_equal(asks[i](s, REQUEST), -EAGAIN);
		assert_calls(1, 0);
	}
	assert_false(hone_stream_eof(s));
	send_exactly(fds[1], sent, 100);
	await_bytes(fds[0], 100);
	count();
	/* a call that needs more keeps the bytes that arrived */
	assert_int_equal(asks[i](s, REQUEST), i < 2 ? 100 : -EAGAIN);
	assert_calls(i == 0 ? 1 : 2, 0);
	send_exactly(fds[1], sent + 100, sizeof(sent) - 100);
	await_bytes(fds[0], sizeof(sent) - 100);
	count();
	assert_int_equal(
		asks[i](s, REQUEST), i < 2 ? sizeof(sent) - 100 : sizeof(sent));
	assert_calls(i == 1 ? 2 : 1, 0);
	hone_stream_close(s);
}

/* Sends its bytes in small pieces, and closes. */
static void *
trickle(void *arg)
{
	for (size_t i = 0; i < sizeof(sent); i += 64) {
		if (send(*(int *)arg, sent + i, 64, MSG_NOSIGNAL) != 64)
			abort();
		if (i % 512 == 0)
			sched_yield();
	}
	close_one(arg);
	return NULL;
}

SOCKETS_TEST(a_slow_peer_is_waited_for, 2 * N_ASKS)
{
	struct hone_stream *s;
	pthread_t thread;
	size_t have = 0;
	ptrdiff_t n;

	assert_ok(fcntl(fds[0], F_SETFL, i & 1 ? O_NONBLOCK : 0));
	s = open_stream(fds[0], 0);
	assert_ok(pthread_create(&thread, NULL, trickle, &fds[1]));
	while ((n = asks[i / 2](s, REQUEST)) > 0) {
		/* all calls but read_some wait for the whole */
		if (i / 2 > 0)
			assert_int_equal(n, sizeof(sent));
		assert_memory_equal(got, sent + have, (size_t)n);
		have += (size_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(have, sizeof(sent));
	assert_true(hone_stream_eof(s));
	assert_ok(pthread_join(thread, NULL));
	hone_stream_close(s);
}

/* i: the stream is exact */
SOCKETS_TEST(a_half_closed_one_ends_and_still_sends, 2)
{
	struct hone_stream *s = open_stream(fds[0], i ? HONE_STREAM_EXACT : 0);

	send_exactly(fds[1], sent, 100);
	shutdown(fds[1], SHUT_WR);
	await_event(fds[0], POLLRDHUP);
	count();
	assert_int_equal(ask_all(s, REQUEST), 100);
	assert_calls(2, 0);
	assert_true(hone_stream_eof(s));
	count();
	assert_int_equal(ask_all(s, REQUEST), 0);
	assert_calls(i ? 1 : 0, 0);
	send_exactly(fds[0], sent, 10);
	assert_int_equal(recv(fds[1], got, 100, 0), 10);
	hone_stream_close(s);
}

/* i: the stream waits */
SOCKETS_TEST(a_reset_comes_after_the_bytes, 2)
{
	struct hone_stream *s =
		open_stream(fds[0], i ? 0 : HONE_STREAM_NONBLOCK);

	send_exactly(fds[1], sent, 100);
	await_bytes(fds[0], 100);
	reset(kind, fds);
	count();
	assert_int_equal(ask_all(s, REQUEST), 100);
	assert_memory_equal(got, sent, 100);
	assert_calls(2, 0);
	assert_false(hone_stream_eof(s));
	count();
	assert_int_equal(ask_all(s, REQUEST), -ECONNRESET);
	assert_calls(0, 0);
	/* the kernel reports it once, then it is the end */
	assert_int_equal(ask_all(s, REQUEST), 0);
	hone_stream_close(s);
}

TEST(descriptors_that_are_no_use_say_so)
{
	static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
	struct sockaddr_in address;
	struct hone_stream *s = NULL;
	int fds[2], fd;

	for (int i = 0; i < 2; i++) {
		assert_ok(socketpair(AF_UNIX, types[i], 0, fds));
		assert_int_equal(
			hone_stream_open_fd(&s, fds[0], NULL), -EPROTOTYPE);
		assert_null(s);
		close_sockets(fds);
	}
	fd = bound_socket(SOCK_DGRAM, &address);
	assert_int_equal(hone_stream_open_fd(&s, fd, NULL), -EPROTOTYPE);
	close(fd);
	assert_int_equal(hone_stream_open_fd(&s, fd, NULL), -EBADF);

	fd = bound_socket(SOCK_STREAM, &address);
	s = open_stream(fd, 0);
	count();
	assert_int_equal(ask_all(s, REQUEST), -ENOTCONN);
	assert_calls(1, 0);
	close(fd);
	assert_int_equal(ask_all(s, REQUEST), -EBADF);
	assert_int_equal(ask_line(s, REQUEST), -EBADF);
	assert_ok(hone_stream_close(s));
}

TEST(a_socket_has_no_other_position)
{
	struct hone_stream *s;
	int fds[2];

	connect_sockets(UNIX, fds);
	s = open_stream(fds[0], HONE_STREAM_CLOSE_FD);
	send_exactly(fds[1], sent, sizeof(sent));
	assert_int_equal(hone_stream_skip(s, 5000), 5000);
	assert_int_equal(hone_stream_tell(s), 5000);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), -ESPIPE);
	assert_int_equal(hone_stream_read(s, got, 100), 100);
	assert_memory_equal(got, sent + 5000, 100);
	assert_ok(hone_stream_close(s));
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	/* and the peer notices */
	assert_int_equal(send(fds[1], "x", 1, MSG_NOSIGNAL), -1);
	close(fds[1]);
}

/* Bytes arrive in four pieces; call number at fails. */
static void
one_error(size_t ask, int at, int error)
{
	/* -EAGAIN after bytes is not kept */
	bool told = error != EINTR &&
		    (error != EAGAIN || asks[ask] != ask_all || at == 1);
	struct hone_stream *s;
	size_t have = 0;
	ptrdiff_t n;
	int fds[2], failures = 0;

	connect_sockets(UNIX, fds);
	s = open_stream(fds[0], HONE_STREAM_NONBLOCK);
	send_exactly(fds[1], sent, sizeof(sent));
	count();
	calls.cap = sizeof(sent) / 4;
	calls.fails_at = at;
	calls.error = error;
	while (have < sizeof(sent)) {
		n = asks[ask](s, sizeof(sent) - have);
		if (n < 0) {
			assert_int_equal(n, -error);
			assert_int_equal(++failures, 1);
			continue;
		}
		assert_memory_equal(got, sent + have, (size_t)n);
		have += (size_t)n;
	}
	assert_int_equal(have, sizeof(sent));
	assert_int_equal(failures, told);
	assert_calls(5, 0);
	hone_stream_close(s);
	close_sockets(fds);
}

TEST(an_error_is_told_and_costs_no_byte)
{
	static const int errors[] = {EINTR, EIO, ENOMEM, ECONNRESET, EAGAIN};

	for (size_t e = 0; e < 5; e++)
		for (size_t i = 0; i < N_ASKS; i++)
			for (int at = 1; at <= 4; at++)
				one_error(i, at, errors[e]);
}

/*
 * How long a stream waits for a socket. The clock is simulated, but for one
 * test, so that the length of each wait is exact to the nanosecond.
 */

#define NOW (100000 * MS)

static int ends[2];

/* A stream over a Unix socket whose peer is ends[1]; counting has begun, on the
 * simulated clock, which stands at 100 s. */
static struct hone_stream *
begin(const struct step *steps, size_t n_steps)
{
	struct hone_stream *s;

	connect_sockets(UNIX, ends);
	s = open_stream(ends[0], 0);
	count();
	calls.fake = true;
	calls.now = NOW;
	calls.peer = ends[1];
	memcpy(calls.steps, steps, n_steps * sizeof(*steps));
	return s;
}

static void
end(struct hone_stream *s)
{
	calls.armed = false;
	assert_ok(hone_stream_close(s));
	close_sockets(ends);
}

/* Reads some bytes, 100 at most. */
static ptrdiff_t
read_some(struct hone_stream *s)
{
	return hone_stream_read_some(s, got, 100);
}

/* One read of 100 bytes, the waits that it makes, and the timeouts of these. */
struct wait_case {
	int64_t deadline; /* from now on; -1: none */
	struct step steps[4];
	int64_t asked[4];
	int waits;
	ptrdiff_t got;
};

static void
waits_by(const struct wait_case *c, int flags)
{
	struct hone_stream *s;

	s = begin(c->steps, 4);
	assert_ok(fcntl(ends[0], F_SETFL, flags));
	if (c->deadline >= 0)
		hone_stream_set_deadline(s, NOW + c->deadline);
	assert_int_equal(read_some(s), c->got);
	/* a read before each wait, and after the last one but if it is late */
	assert_calls(c->waits + (c->got != -ETIMEDOUT), c->waits);
	assert_memory_equal(
		calls.asked, c->asked, (size_t)c->waits * sizeof(*c->asked));
	if (c->deadline < 0)
		assert_int_equal(calls.clocks, 0);
	end(s);
}

static void
waits_as(const struct wait_case *c)
{
	waits_by(c, 0);
	waits_by(c, O_NONBLOCK);
}

TEST(signals_do_not_put_the_deadline_off)
{
	waits_as(&(struct wait_case){100 * MS,
		{{40 * MS, 0, -EINTR}, {40 * MS, 0, -EINTR},
			{40 * MS, 0, -EINTR}, {0, 0, 0}},
		{100 * MS, 60 * MS, 20 * MS, 0}, 4, -ETIMEDOUT});
}

/* Another reader may have taken it. */
TEST(what_is_gone_when_it_is_read_is_waited_for_again)
{
	waits_as(&(struct wait_case){50 * MS,
		{{1 * MS, 0, 1}, {2 * MS, 0, 1}, {3 * MS, 16, 1}},
		{50 * MS, 49 * MS, 47 * MS}, 3, 16});
}

TEST(without_a_deadline_it_waits_and_asks_no_clock)
{
	waits_as(&(struct wait_case){-1,
		{{MS, 0, -EINTR}, {MS, 0, -EINTR}, {MS, 7, 1}}, {-1, -1, -1}, 3,
		7});
}

TEST(what_poll_says_is_told)
{
	static const struct step steps[] = {{MS, 0, -ENOMEM}, {MS, 5, 1}};
	struct hone_stream *s;

	s = begin(steps, 2);
	assert_int_equal(read_some(s), -ENOMEM);
	assert_int_equal(read_some(s), 5);
	assert_calls(3, 2);
	end(s);
}

TEST(bytes_that_trickle_do_not_put_the_deadline_off)
{
	static const struct step steps[] = {{30 * MS, 1, 1}, {30 * MS, 2, 1},
		{30 * MS, 1, 1}, {10 * MS, 0, 0}, {0, 0, 0}, {0, 0, 0}};
	static const int64_t asked[] = {100 * MS, 70 * MS, 40 * MS, 10 * MS, 0};
	struct hone_stream *s;

	s = begin(steps, 6);
	hone_stream_set_deadline(s, NOW + 100 * MS);
	assert_int_equal(ask_all(s, 100), 4);
	/* the deadline is still over, so the next call reports it again */
	assert_int_equal(ask_all(s, 100), -ETIMEDOUT);
	assert_false(hone_stream_eof(s));
	assert_calls(4 + 3 + 1, 5);
	assert_memory_equal(calls.asked, asked, sizeof(asked));
	end(s);
}

TEST(a_deadline_may_be_anywhere_in_time)
{
	static const int64_t deadlines[] = {INT64_MIN, -1, 0, NOW - 1, NOW,
		NOW + 1, NOW + 1000 * MS, INT64_MAX - 1};
	static const int64_t asked[] = {
		0, 0, 0, 0, 0, 1, 1000 * MS, INT64_MAX - 1 - NOW};

	for (int i = 0; i < 8; i++) {
		static const struct step steps[] = {{0, 0, 0}};
		struct hone_stream *s;

		s = begin(steps, 1);
		hone_stream_set_deadline(s, deadlines[i]);
		assert_int_equal(read_some(s), -ETIMEDOUT);
		assert_calls(1, 1);
		assert_int_equal(calls.asked[0], asked[i]);
		/* the available bytes are read without a look at the clock */
		send_exactly(ends[1], "late", 4);
		count();
		assert_int_equal(read_some(s), 4);
		assert_calls(1, 0);
		assert_int_equal(calls.clocks, 0);
		end(s);
	}
}

TEST(a_line_that_was_late_goes_on_with_the_next_deadline)
{
	static const struct step steps[] = {{5 * MS, 3, 1}, {5 * MS, 0, 0},
		{5 * MS, 0, 0}, {5 * MS, 4, 1}, {0, 0, 0}};
	struct hone_stream *s;
	const char *line;

	s = begin(steps, 5);
	hone_stream_set_deadline(s, NOW + 10 * MS);
	assert_int_equal(
		hone_stream_read_line(s, &line, '\n', 100), -ETIMEDOUT);
	hone_stream_set_deadline(s, NOW + 15 * MS);
	assert_int_equal(
		hone_stream_read_line(s, &line, '\n', 100), -ETIMEDOUT);
	assert_int_equal(hone_stream_tell(s), 0);
	hone_stream_set_deadline(s, NOW + 20 * MS);
	assert_int_equal(
		hone_stream_read_line(s, &line, '\n', 100), -ETIMEDOUT);
	send_exactly(ends[1], "end\n", 4);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 11);
	assert_memory_equal(line, ".......end\n", 11);
	end(s);
}

static int64_t
clock_ns(void)
{
	struct timespec now;

	assert_ok(clock_gettime(CLOCK_MONOTONIC, &now));
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void
on_signal(int signal_number)
{
	(void)signal_number;
}

static void *
nag(void *arg)
{
	const struct timespec pause = {.tv_nsec = 1 * MS};

	for (int i = 0; i < 30; i++) {
		nanosleep(&pause, NULL);
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
	}
	return NULL;
}

/* With the kernel's clock, while signals arrive. */
SOCKETS_TEST(time_passes_before_it_is_late, 1)
{
	struct sigaction action = {.sa_handler = on_signal}, old;
	pthread_t self = pthread_self(), thread;
	struct hone_stream *s = open_stream(fds[0], 0);
	int64_t deadline;

	assert_ok(sigaction(SIGUSR1, &action, &old));
	assert_ok(pthread_create(&thread, NULL, nag, &self));
	deadline = clock_ns() + 20 * MS;
	hone_stream_set_deadline(s, deadline);
	assert_int_equal(ask_all(s, 100), -ETIMEDOUT);
	assert_true(clock_ns() >= deadline);
	assert_ok(pthread_join(thread, NULL));
	assert_ok(hone_stream_close(s));
	assert_ok(sigaction(SIGUSR1, &old, NULL));
}

int
main(void)
{
	return run_all_tests(fill, NULL);
}
