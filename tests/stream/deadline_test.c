/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a stream waits for a socket. The clock is simulated, but for one
 * test, so that the length of each wait is exact to the nanosecond.
 */
#include "socket_wrap.h"

#define NOW (100000 * MS)

/* A stream over a Unix socket whose peer is fds[1]; counting has begun. */
static struct hone_stream *
begin(int fds[2], const struct step *steps, size_t n_steps)
{
	struct hone_stream *s;

	connect_sockets(UNIX, fds);
	s = open_stream(fds[0], 0);
	count_on_our_clock(fds[1]);
	memcpy(calls.steps, steps, n_steps * sizeof(*steps));
	return s;
}

static void
end(struct hone_stream *s, const int fds[2])
{
	assert_int_equal(hone_stream_close(s), 0);
	close_sockets(fds);
}

static void
assert_asked(const int64_t *ns, int n)
{
	assert_int_equal(calls.polls, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(calls.asked[i], ns[i]);
}

TEST(bytes_that_trickle_do_not_put_the_deadline_off)
{
	static const struct step steps[] = {{30 * MS, 1, 1}, {30 * MS, 2, 1},
		{30 * MS, 1, 1}, {10 * MS, 0, 0}, {0, 0, 0}, {0, 0, 0}};
	static const int64_t asked[] = {100 * MS, 70 * MS, 40 * MS, 10 * MS, 0};
	struct hone_stream *s;
	char buf[100];
	int fds[2];

	s = begin(fds, steps, 6);
	hone_stream_set_deadline(s, NOW + 100 * MS);
	assert_int_equal(hone_stream_read(s, buf, sizeof(buf)), 4);
	/* the deadline is still over, so the next call reports it again */
	assert_int_equal(hone_stream_read(s, buf, sizeof(buf)), -ETIMEDOUT);
	assert_false(hone_stream_eof(s));
	assert_calls(4 + 3 + 1, 5);
	assert_asked(asked, 5);
	end(s, fds);
}

TEST(signals_do_not_put_the_deadline_off)
{
	static const struct step steps[] = {{40 * MS, 0, -EINTR},
		{40 * MS, 0, -EINTR}, {40 * MS, 0, -EINTR}, {0, 0, 0}};
	static const int64_t asked[] = {100 * MS, 60 * MS, 20 * MS, 0};
	struct hone_stream *s;
	char buf[100];
	int fds[2];

	s = begin(fds, steps, 4);
	hone_stream_set_deadline(s, NOW + 100 * MS);
	assert_int_equal(
		hone_stream_read_some(s, buf, sizeof(buf)), -ETIMEDOUT);
	assert_calls(4, 4);
	assert_asked(asked, 4);
	end(s, fds);
}

/* O_NONBLOCK belongs to all that share the descriptor: the stream's attributes
 * decide. */
TEST(a_socket_that_does_not_block_is_waited_for)
{
	static const struct step steps[] = {{MS, 7, 1}};
	static const int64_t asked[] = {-1};
	struct hone_stream *s;
	char buf[100];
	int fds[2];

	s = begin(fds, steps, 1);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(hone_stream_read_some(s, buf, sizeof(buf)), 7);
	assert_calls(2, 1);
	assert_asked(asked, 1);
	end(s, fds);
}

/* Another reader may have taken it. */
TEST(what_is_gone_when_it_is_read_is_waited_for_again)
{
	static const struct step steps[] = {
		{1 * MS, 0, 1}, {2 * MS, 0, 1}, {3 * MS, 16, 1}};
	static const int64_t asked[] = {50 * MS, 49 * MS, 47 * MS};
	struct hone_stream *s;
	char buf[100];
	int fds[2];

	s = begin(fds, steps, 3);
	hone_stream_set_deadline(s, NOW + 50 * MS);
	assert_int_equal(hone_stream_read_some(s, buf, sizeof(buf)), 16);
	assert_calls(4, 3);
	assert_asked(asked, 3);
	end(s, fds);
}

TEST(without_a_deadline_it_waits_and_asks_no_clock)
{
	static const struct step steps[] = {
		{MS, 0, -EINTR}, {MS, 0, -EINTR}, {MS, 7, 1}};
	static const int64_t asked[] = {-1, -1, -1};
	struct hone_stream *s;
	char buf[100];
	int fds[2];

	s = begin(fds, steps, 3);
	assert_int_equal(hone_stream_read_some(s, buf, sizeof(buf)), 7);
	assert_calls(4, 3);
	assert_int_equal(calls.clocks, 0);
	assert_asked(asked, 3);
	end(s, fds);
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
		char buf[100];
		int fds[2];

		s = begin(fds, steps, 1);
		hone_stream_set_deadline(s, deadlines[i]);
		assert_int_equal(
			hone_stream_read_some(s, buf, sizeof(buf)), -ETIMEDOUT);
		assert_calls(1, 1);
		assert_asked(&asked[i], 1);
		/* the available bytes are read without a look at the clock */
		send_exactly(fds[1], "late", 4);
		count();
		assert_int_equal(hone_stream_read_some(s, buf, sizeof(buf)), 4);
		assert_calls(1, 0);
		assert_int_equal(calls.clocks, 0);
		end(s, fds);
	}
}

TEST(a_line_that_was_late_goes_on_with_the_next_deadline)
{
	static const struct step steps[] = {{5 * MS, 3, 1}, {5 * MS, 0, 0},
		{5 * MS, 0, 0}, {5 * MS, 4, 1}, {0, 0, 0}};
	struct hone_stream *s;
	const char *line;
	int fds[2];

	s = begin(fds, steps, 5);
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
	send_exactly(fds[1], "end\n", 4);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 11);
	assert_memory_equal(line, ".......end\n", 11);
	end(s, fds);
}

TEST(what_poll_says_is_told)
{
	static const struct step steps[] = {{MS, 0, -ENOMEM}, {MS, 5, 1}};
	struct hone_stream *s;
	char buf[100];
	int fds[2];

	s = begin(fds, steps, 2);
	assert_int_equal(hone_stream_read_some(s, buf, sizeof(buf)), -ENOMEM);
	assert_int_equal(hone_stream_read_some(s, buf, sizeof(buf)), 5);
	assert_calls(3, 2);
	end(s, fds);
}

/* It never waits, so no deadline can pass. */
TEST(without_waiting_there_is_no_deadline)
{
	struct hone_stream *s;
	char buf[100];
	int fds[2];

	connect_sockets(UNIX, fds);
	s = open_stream(fds[0], HONE_STREAM_NONBLOCK);
	hone_stream_set_deadline(s, 0);
	count();
	assert_int_equal(hone_stream_read_some(s, buf, sizeof(buf)), -EAGAIN);
	assert_calls(1, 0);
	end(s, fds);
}

static int64_t
clock_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
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
TEST(time_passes_before_it_is_late)
{
	struct sigaction action = {.sa_handler = on_signal}, old;
	pthread_t self = pthread_self(), thread;
	int64_t deadline;
	char buf[100];

	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	for (int kind = 0; kind < SOCKET_KINDS; kind++) {
		struct hone_stream *s;
		int fds[2];

		connect_sockets(kind, fds);
		s = open_stream(fds[0], 0);
		assert_int_equal(pthread_create(&thread, NULL, nag, &self), 0);
		deadline = clock_ns() + 20 * MS;
		hone_stream_set_deadline(s, deadline);
		assert_int_equal(
			hone_stream_read(s, buf, sizeof(buf)), -ETIMEDOUT);
		assert_true(clock_ns() >= deadline);
		assert_int_equal(pthread_join(thread, NULL), 0);
		end(s, fds);
	}
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}
