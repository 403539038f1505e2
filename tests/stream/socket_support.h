/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_SOCKET_SUPPORT_H
#define HONE_TESTS_SOCKET_SUPPORT_H
/* Connected sockets for tests. */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "support.h"

enum socket_kind { UNIX, TCP, SOCKET_KINDS };

/* A port on loopback that somebody listens at, or is bound to. */
static inline int
bound_socket(int type, struct sockaddr_in *address)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*address);

	*address = (struct sockaddr_in){.sin_family = AF_INET};
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_ok(bind(fd, (struct sockaddr *)address, size));
	assert_ok(getsockname(fd, (struct sockaddr *)address, &size));
	return fd;
}

/* fds[0] is ours, fds[1] the peer's. */
static inline void
connect_sockets(enum socket_kind kind, int fds[2])
{
	struct sockaddr_in address;
	int listener;

	if (kind == UNIX) {
		assert_ok(socketpair(
			AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
		return;
	}
	listener = bound_socket(SOCK_STREAM, &address);
	assert_ok(listen(listener, 1));
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fds[0] >= 0);
	assert_ok(
		connect(fds[0], (struct sockaddr *)&address, sizeof(address)));
	fds[1] = accept(listener, NULL, NULL);
	assert_true(fds[1] >= 0);
	close(listener);
}

static inline void
close_sockets(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

static inline void
send_exactly(int fd, const void *data, size_t n)
{
	assert_int_equal(send(fd, data, n, MSG_NOSIGNAL), n);
}

/* Loopback is fast but not immediate: wait until n bytes are there. */
static inline void
await_bytes(int fd, int n)
{
	int there = 0;

	while (ioctl(fd, FIONREAD, &there) == 0 && there < n)
		poll(NULL, 0, 1);
	assert_int_equal(there, n);
}

/* The other end has closed, shut down or reset: wait until that arrives. */
static inline void
await_event(int fd, short event)
{
	struct pollfd poller = {.fd = fd, .events = event};

	/* a minute, which passes only if it never comes */
	assert_int_equal(poll(&poller, 1, 60000), 1);
	assert_true(poller.revents & event);
}

static inline void
close_one(int *fd)
{
	close(*fd);
	*fd = -1;
}

/* Close so that the peer's kernel sends a reset. */
static inline void
reset(enum socket_kind kind, int fds[2])
{
	const struct linger at_once = {.l_onoff = 1};

	if (kind == TCP)
		assert_ok(setsockopt(fds[1], SOL_SOCKET, SO_LINGER, &at_once,
			sizeof(at_once)));
	else
		/* a Unix socket is reset if it closes with bytes unread */
		send_exactly(fds[0], "x", 1);
	close_one(&fds[1]);
	await_event(fds[0], POLLHUP);
}

/* A test between connected sockets of each kind, for each i below n. It may
 * close them. */
#define SOCKETS_TEST(name, n)                                                  \
	static void between_##name(enum socket_kind kind, size_t i, int *fds); \
	TEST(name)                                                             \
	{                                                                      \
		for (size_t each = 0; each < (n)*SOCKET_KINDS; each++) {       \
			int fds[2];                                            \
                                                                               \
			connect_sockets(each % SOCKET_KINDS, fds);             \
			between_##name(each % SOCKET_KINDS,                    \
				each / SOCKET_KINDS, fds);                     \
			close_sockets(fds);                                    \
		}                                                              \
	}                                                                      \
	static void between_##name(                                            \
		__attribute__((unused)) enum socket_kind kind,                 \
		__attribute__((unused)) size_t i, int *fds)

#endif
