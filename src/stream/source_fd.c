/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors as sources, and the wait for them. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "stream/read_file.h"
#include "stream/stream.h"

#define NS_PER_S 1000000000

static struct timespec
time_left(int64_t deadline_ns)
{
	struct timespec now, left = {0, 0};
	int64_t now_ns;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
	if (deadline_ns > now_ns) {
		left.tv_sec = (time_t)((deadline_ns - now_ns) / NS_PER_S);
		left.tv_nsec = (long)((deadline_ns - now_ns) % NS_PER_S);
	}
	return left;
}

void
hone_stream_set_deadline(struct hone_stream *stream, int64_t ns)
{
	hone_reader(stream)->deadline_ns = ns;
}

int
hone_stream_wait(const struct hone_stream *s)
{
	const struct hone_reader *r = hone_reader(s);
	bool nonblock = (r->flags & HONE_STREAM_NONBLOCK) != 0;
	bool for_ever = !nonblock && r->deadline_ns == INT64_MAX;
	struct pollfd poller = {.fd = r->fd, .events = POLLIN};
	struct timespec left = {0, 0};
	int n;

	if (!nonblock && !for_ever)
		left = time_left(r->deadline_ns);
	n = ppoll(&poller, 1, for_ever ? NULL : &left, NULL);
	if (n < 0)
		return -errno;
	if (n > 0)
		return 0;
	return nonblock ? -EAGAIN : -ETIMEDOUT;
}

ptrdiff_t
hone_source_fd_read(struct hone_stream *s, void *buf, size_t n)
{
	ssize_t got = read(hone_reader(s)->fd, buf, n);

	return got < 0 ? -errno : got;
}

/*
 * The descriptor may be blocking or not, independent of the stream's settings.
 * If the stream must not wait, or not forever, poll comes before the read;
 * otherwise only after -EAGAIN.
 */
static ptrdiff_t
read_waiting(struct hone_stream *s, void *buf, size_t n)
{
	const struct hone_reader *r = hone_reader(s);
	bool nonblock = (r->flags & HONE_STREAM_NONBLOCK) != 0;
	bool poll_first = nonblock || r->deadline_ns != INT64_MAX;

	for (;;) {
		ptrdiff_t got = poll_first ? hone_stream_wait(s) : 0;

		if (got < 0)
			return got;
		got = hone_source_fd_read(s, buf, n);
		if (got != -EAGAIN || nonblock)
			return got;
		poll_first = true;
	}
}

int64_t
hone_source_fd_seek(struct hone_stream *s, int64_t offset, int whence)
{
	off_t position = lseek(hone_reader(s)->fd, offset, whence);

	return position < 0 ? -errno : position;
}

/*
 * Some devices, such as /dev/zero and /dev/urandom, return position 0 after any
 * seek and any read: they have no position.
 */
static int64_t
seek_device(struct hone_stream *s, int64_t offset, int whence)
{
	const struct hone_reader *r = hone_reader(s);
	int64_t position = hone_source_fd_seek(s, offset, whence);

	if (offset == 0 && whence == SEEK_CUR && !r->known && position >= 0 &&
		position < r->offset)
		return -ESPIPE;
	return position;
}

int
hone_source_fd_close(struct hone_stream *s)
{
	const struct hone_reader *r = hone_reader(s);

	if (!(r->flags & HONE_STREAM_CLOSE_FD) || close(r->fd) == 0)
		return 0;
	/* Linux has closed it: a second close might close another file. */
	return errno == EINTR ? 0 : -errno;
}

/* A wait only if recv() found nothing. */
static ptrdiff_t
read_socket(struct hone_stream *s, void *buf, size_t n)
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

/* Returns 0 if the socket is a byte stream, so that a read of 0 bytes is the
 * end; -EPROTOTYPE if it carries messages; or another negative errno. */
static int
check_socket(int fd)
{
	int type = type_of(fd);

	if (type < 0)
		return type;
	return type == SOCK_STREAM ? 0 : -EPROTOTYPE;
}

const struct hone_source hone_source_file = {
	hone_source_fd_read, hone_source_fd_seek, hone_source_fd_close};
const struct hone_source hone_source_pipe = {
	read_waiting, NULL, hone_source_fd_close};
const struct hone_source hone_source_device = {
	read_waiting, seek_device, hone_source_fd_close};
const struct hone_source hone_source_socket = {
	read_socket, NULL, hone_source_fd_close};

static const struct hone_source *
source_of(const struct stat *status)
{
	switch (status->st_mode & S_IFMT) {
	case S_IFREG:
		return status->st_size == 0 ? &hone_source_sizeless
					    : &hone_source_file;
	case S_IFBLK:
		return &hone_source_file;
	case S_IFCHR:
		return &hone_source_device;
	case S_IFSOCK:
		return &hone_source_socket;
	default: /* FIFOs, and descriptors from eventfd() and others */
		return &hone_source_pipe;
	}
}

int
hone_stream_open_fd(struct hone_stream **stream, int fd,
	const struct hone_stream_attr *attr)
{
	struct hone_reader *r;
	struct stat status;
	int error;

	if (fstat(fd, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (hone_reads_directly(fd, &status))
		return -EINVAL;
	/* Of a socket with messages, an empty message would look like the end.
	 */
	error = S_ISSOCK(status.st_mode) ? check_socket(fd) : 0;
	if (error)
		return error;
	error = hone_reader_create(&r, attr, source_of(&status));
	if (error)
		return error;
	r->fd = fd;
	if (S_ISREG(status.st_mode)) {
		r->file_size = status.st_size;
		r->size_is_claim = hone_size_is_claim(&status);
		r->single.next = true;
	}
	*stream = &r->view;
	return 0;
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
