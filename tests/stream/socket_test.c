/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams over sockets: which calls are made, and what each state gives. */
#include "socket_wrap.h"

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

TEST(data_that_is_there_takes_one_call_and_no_poll)
{
	for (int kind = 0; kind < SOCKET_KINDS; kind++)
		for (unsigned i = 0; i < 2 * 2 * 2 * N_ASKS; i++) {
			unsigned flags = (i & 1 ? HONE_STREAM_NONBLOCK : 0) |
					 (i & 2 ? HONE_STREAM_EXACT : 0);
			struct hone_stream *s;
			int fds[2];

			connect_sockets(kind, fds);
			assert_int_equal(
				fcntl(fds[0], F_SETFL, i & 4 ? O_NONBLOCK : 0),
				0);
			s = open_stream(fds[0], flags);
			if (!(i & 1))
				hone_stream_set_deadline(s, 0);
			for (int turn = 0; turn < 3; turn++) {
				send_exactly(fds[1], sent, sizeof(sent));
				await_bytes(fds[0], sizeof(sent));
				count();
				assert_int_equal(
					asks[i / 8](s, REQUEST), sizeof(sent));
				assert_calls(1, 0);
				assert_int_equal(calls.clocks, 0);
				assert_memory_equal(got, sent, sizeof(sent));
			}
			assert_int_equal(hone_stream_close(s), 0);
			close_sockets(fds);
		}
}

TEST(without_waiting_one_call_says_that_there_is_nothing)
{
	for (int kind = 0; kind < SOCKET_KINDS; kind++)
		for (size_t i = 0; i < N_ASKS; i++) {
			struct hone_stream *s;
			int fds[2];

			connect_sockets(kind, fds);
			s = open_stream(fds[0], HONE_STREAM_NONBLOCK);
			for (int turn = 0; turn < 2; turn++) {
				count();
				assert_int_equal(asks[i](s, REQUEST), -EAGAIN);
				assert_calls(1, 0);
			}
			assert_false(hone_stream_eof(s));
			send_exactly(fds[1], sent, 100);
			await_bytes(fds[0], 100);
			count();
			/* a call that needs more keeps the bytes that
			 * arrived */
			assert_int_equal(
				asks[i](s, REQUEST), i < 2 ? 100 : -EAGAIN);
			assert_calls(i == 0 ? 1 : 2, 0);
			send_exactly(fds[1], sent + 100, sizeof(sent) - 100);
			await_bytes(fds[0], sizeof(sent) - 100);
			count();
			assert_int_equal(asks[i](s, REQUEST),
				i < 2 ? sizeof(sent) - 100 : sizeof(sent));
			assert_calls(i == 1 ? 2 : 1, 0);
			hone_stream_close(s);
			close_sockets(fds);
		}
}

/* Sends its bytes in small pieces, and closes. */
static void *
trickle(void *arg)
{
	int fd = *(int *)arg;

	for (size_t i = 0; i < sizeof(sent); i += 64) {
		if (send(fd, sent + i, 64, MSG_NOSIGNAL) != 64)
			abort();
		if (i % 512 == 0)
			sched_yield();
	}
	close(fd);
	return NULL;
}

TEST(a_slow_peer_is_waited_for)
{
	for (int kind = 0; kind < SOCKET_KINDS; kind++)
		for (size_t i = 0; i < 2 * N_ASKS; i++) {
			struct hone_stream *s;
			pthread_t thread;
			size_t have = 0;
			ptrdiff_t n;
			int fds[2];

			connect_sockets(kind, fds);
			assert_int_equal(
				fcntl(fds[0], F_SETFL, i & 1 ? O_NONBLOCK : 0),
				0);
			s = open_stream(fds[0], 0);
			assert_int_equal(
				pthread_create(&thread, NULL, trickle, &fds[1]),
				0);
			while ((n = asks[i / 2](s, REQUEST)) > 0) {
				/* all calls but read_some wait for the whole */
				if (i / 2 > 0)
					assert_int_equal(n, sizeof(sent));
				assert_memory_equal(
					got, sent + have, (size_t)n);
				have += (size_t)n;
			}
			assert_int_equal(n, 0);
			assert_int_equal(have, sizeof(sent));
			assert_true(hone_stream_eof(s));
			assert_int_equal(pthread_join(thread, NULL), 0);
			hone_stream_close(s);
			close(fds[0]);
		}
}

TEST(a_half_closed_one_ends_and_still_sends)
{
	for (int kind = 0; kind < SOCKET_KINDS; kind++)
		for (int exact = 0; exact < 2; exact++) {
			struct hone_stream *s;
			int fds[2];

			connect_sockets(kind, fds);
			s = open_stream(fds[0], exact ? HONE_STREAM_EXACT : 0);
			send_exactly(fds[1], sent, 100);
			shutdown(fds[1], SHUT_WR);
			await_event(fds[0], POLLRDHUP);
			count();
			assert_int_equal(ask_all(s, REQUEST), 100);
			assert_calls(2, 0);
			assert_true(hone_stream_eof(s));
			count();
			assert_int_equal(ask_all(s, REQUEST), 0);
			assert_calls(exact ? 1 : 0, 0);
			send_exactly(fds[0], sent, 10);
			assert_int_equal(recv(fds[1], got, 100, 0), 10);
			hone_stream_close(s);
			close_sockets(fds);
		}
}

TEST(a_reset_comes_after_the_bytes)
{
	for (int kind = 0; kind < SOCKET_KINDS; kind++)
		for (int waits = 0; waits < 2; waits++) {
			struct hone_stream *s;
			int fds[2];

			connect_sockets(kind, fds);
			s = open_stream(
				fds[0], waits ? 0 : HONE_STREAM_NONBLOCK);
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
			close(fds[0]);
		}
}

TEST(descriptors_that_are_no_use_say_so)
{
	static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
	struct sockaddr_in address;
	struct hone_stream *s = NULL;
	int fds[2], fd;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(socketpair(AF_UNIX, types[i], 0, fds), 0);
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
	assert_int_equal(hone_stream_close(s), 0);
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
	assert_int_equal(hone_stream_close(s), 0);
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

int
main(void)
{
	return run_all_tests(fill, NULL);
}
