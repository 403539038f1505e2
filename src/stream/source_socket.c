/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets as sources: recv first, and a wait only if there is nothing. */
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
