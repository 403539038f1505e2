/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets as sources: recv first, and a wait only if there is nothing. The
 * type of a socket, and whether its peer is connected. */
#include <errno.h>
#include <sys/socket.h>
#include "stream/stream.h"

ptrdiff_t
hone_socket_source_read(struct hone_stream *s, void *buf, size_t n)
{
	const struct hone_reader *r = hone_reader(s);

	for (;;) {
		ssize_t got = recv(r->fd, buf, n, MSG_DONTWAIT);
		int error;

		if (got >= 0)
			return got;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return -errno;
		if (r->flags & HONE_STREAM_NONBLOCK)
			return -EAGAIN;
		error = hone_stream_wait(s);
		if (error)
			return error;
	}
}

/* Returns SOCK_STREAM or another type, or a negative errno. */
static int
type_of(int fd)
{
	int type;
	socklen_t size = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return -errno;
	return type;
}

int
hone_socket_check(int fd)
{
	int type = type_of(fd);

	if (type < 0)
		return type;
	return type == SOCK_STREAM ? 0 : -EPROTOTYPE;
}

int
hone_socket_alive(int fd)
{
	char byte;
	ssize_t got;
	int type;

	do
		got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		return 1;
	if (got < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 1 : -errno;
	/* recv() returns 0 for an empty datagram and for a closed connection.
	 */
	type = type_of(fd);
	if (type < 0)
		return type;
	return type == SOCK_STREAM || type == SOCK_SEQPACKET ? 0 : 1;
}
