/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the peer is there, in each state that a socket can be in. */
#include <hone/stream.h>
#include "socket_support.h"

/* Calls of the library, which the linker redirects to this file. */
static bool armed;
static int calls, interruptions, getsockopt_error;

STANDS_FOR(ssize_t, recv, int fd, void *buf, size_t n, int flags)
{
	calls += armed;
	if (armed && interruptions > 0) {
		interruptions--;
		errno = EINTR;
		return -1;
	}
	return __real_recv(fd, buf, n, flags);
}

STANDS_FOR(int, getsockopt, int fd, int level, int name, void *value,
	socklen_t *size)
{
	calls += armed;
	if (armed && getsockopt_error) {
		errno = getsockopt_error;
		return -1;
	}
	return __real_getsockopt(fd, level, name, value, size);
}

/* The result, and the number of calls. */
static int
alive(int fd, int expected_calls)
{
	int answer;

	calls = 0;
	armed = true;
	answer = hone_socket_alive(fd);
	armed = false;
	assert_int_equal(calls, expected_calls);
	return answer;
}

SOCKETS_TEST(an_open_one_is_alive_and_is_not_waited_for, 1)
{
	assert_int_equal(alive(fds[0], 1), 1);
	assert_ok(fcntl(fds[0], F_SETFL, O_NONBLOCK));
	assert_int_equal(alive(fds[0], 1), 1);
	interruptions = 2;
	assert_int_equal(alive(fds[0], 3), 1);
}

/* The bytes that the peer has sent are there, and are received. */
static void
receives(int fd, const char *bytes)
{
	size_t n = strlen(bytes);
	char text[8];

	assert_int_equal(recv(fd, text, sizeof(text), 0), n);
	assert_memory_equal(text, bytes, n);
}

SOCKETS_TEST(nothing_is_taken, 1)
{
	send_exactly(fds[1], "hello", 5);
	await_bytes(fds[0], 5);
	assert_int_equal(alive(fds[0], 1), 1);
	assert_int_equal(alive(fds[0], 1), 1);
	receives(fds[0], "hello");
}

/* i: it is half closed */
SOCKETS_TEST(a_closed_one_is_dead_once_all_is_read, 2)
{
	send_exactly(fds[1], "bye", 3);
	if (i)
		shutdown(fds[1], SHUT_WR);
	else
		close_one(&fds[1]);
	await_event(fds[0], POLLRDHUP);
	await_bytes(fds[0], 3);
	assert_int_equal(alive(fds[0], 1), 1);
	receives(fds[0], "bye");
	assert_int_equal(alive(fds[0], 2), 0);
	assert_int_equal(alive(fds[0], 2), 0);
}

/* It may still send something. */
SOCKETS_TEST(one_that_we_shut_down_for_sending_is_alive, 1)
{
	assert_ok(shutdown(fds[0], SHUT_WR));
	await_event(fds[1], POLLRDHUP);
	assert_int_equal(alive(fds[0], 1), 1);
	assert_ok(shutdown(fds[0], SHUT_RD));
	assert_int_equal(alive(fds[0], 2), 0);
}

SOCKETS_TEST(a_reset_is_told_once, 1)
{
	reset(kind, fds);
	assert_int_equal(alive(fds[0], 1), -ECONNRESET);
	assert_int_equal(alive(fds[0], 2), 0);
}

SOCKETS_TEST(bytes_before_a_reset_come_first, 1)
{
	send_exactly(fds[1], "last", 4);
	await_bytes(fds[0], 4);
	reset(kind, fds);
	assert_int_equal(alive(fds[0], 1), 1);
	receives(fds[0], "last");
	assert_int_equal(alive(fds[0], 1), -ECONNRESET);
}

TEST(what_was_never_connected_says_so)
{
	struct sockaddr_in address;
	int fd = bound_socket(SOCK_STREAM, &address);

	assert_int_equal(alive(fd, 1), -ENOTCONN);
	assert_ok(listen(fd, 1));
	assert_int_equal(alive(fd, 1), -ENOTCONN);
	close(fd);
}

/* The port was ours and is closed: nobody listens. */
TEST(a_refused_connection_is_an_error)
{
	struct sockaddr_in address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	close(bound_socket(SOCK_STREAM, &address));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
		errno == EINPROGRESS) {
		await_event(fd, POLLERR);
		assert_int_equal(alive(fd, 1), -ECONNREFUSED);
	}
	close(fd);
}

TEST(an_empty_datagram_closes_nothing)
{
	struct sockaddr_in address;
	int fds[2];

	fds[0] = bound_socket(SOCK_DGRAM, &address);
	fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(alive(fds[0], 1), 1);
	assert_ok(sendto(fds[1], "", 0, 0, (struct sockaddr *)&address,
		sizeof(address)));
	await_event(fds[0], POLLIN);
	assert_int_equal(alive(fds[0], 2), 1);
	close_sockets(fds);
	/* ordered messages end as bytes do */
	assert_ok(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds));
	assert_int_equal(alive(fds[0], 1), 1);
	close(fds[1]);
	assert_int_equal(alive(fds[0], 2), 0);
	close(fds[0]);
}

/* Nobody listens: the second call reports it. */
TEST(an_error_of_a_datagram_is_told)
{
	struct sockaddr_in address;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	close(bound_socket(SOCK_DGRAM, &address));
	assert_ok(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	assert_int_equal(alive(fd, 1), 1);
	send_exactly(fd, "x", 1);
	await_event(fd, POLLERR);
	assert_int_equal(alive(fd, 1), -ECONNREFUSED);
	assert_int_equal(alive(fd, 1), 1);
	close(fd);
}

TEST(what_is_no_socket_is_an_error)
{
	int fds[2];

	assert_ok(pipe(fds));
	assert_int_equal(alive(fds[0], 1), -ENOTSOCK);
	close_sockets(fds);
	assert_int_equal(alive(fds[0], 1), -EBADF);
	assert_int_equal(alive(-1, 1), -EBADF);
}

/* As if another thread had closed it between the two calls. */
TEST(one_whose_type_is_not_told_is_an_error)
{
	struct hone_stream *stream;
	int fds[2];

	connect_sockets(0, fds);
	close(fds[1]);
	await_event(fds[0], POLLRDHUP);
	getsockopt_error = EBADF;
	assert_int_equal(alive(fds[0], 2), -EBADF);
	armed = true;
	assert_int_equal(hone_stream_open_fd(&stream, fds[0], NULL), -EBADF);
	armed = false;
	getsockopt_error = 0;
	close(fds[0]);
}
