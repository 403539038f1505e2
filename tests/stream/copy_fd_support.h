/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_COPY_FD_SUPPORT_H
#define HONE_TESTS_COPY_FD_SUPPORT_H
/*
 * What the tests of copying share: descriptors of every kind to copy from, with
 * known content, and to copy to, with a check of what arrived.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <hone/copy_fd.h>
#include "socket_support.h"

#define LARGEST ((size_t)300000)

/* Random, so that misplaced bytes show. fill_content() fills it. */
static unsigned char content[LARGEST];

FIXTURE(fill_content)
{
	uint64_t random = support_seed();

	for (size_t i = 0; i < LARGEST; i++)
		content[i] = (unsigned char)(support_random(&random) >> 32);
	return 0;
}

/* Until n bytes or the end. */
static inline size_t
read_all(int fd, void *buf, size_t n)
{
	size_t have = 0;
	ssize_t got = 1;

	while (have < n && got > 0) {
		got = read(fd, (char *)buf + have, n - have);
		have += got > 0 ? (size_t)got : 0;
	}
	return have;
}

static inline void
write_exactly(int fd, const void *buf, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = write(fd, (const char *)buf + done, n - done);

		assert_true(put > 0);
		done += (size_t)put;
	}
}

/* On a disk, if the current directory is on one; unlinked at once. */
static inline int
file_on_disk(void)
{
	char path[] = "/var/tmp/hone-copy-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	return fd;
}

/* In tmpfs, whether one is mounted or not. */
static inline int
file_in_memory(void)
{
	int fd = memfd_create("hone-copy", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline void
make_pair(bool is_socket, int fds[2])
{
	int error = is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					0, fds)
			      : pipe2(fds, O_CLOEXEC);

	assert_int_equal(error, 0);
}

enum source_kind {
	FROM_DISK,
	FROM_MEMORY,
	FROM_PROC,
	FROM_PIPE,
	FROM_SOCKET,
	FROM_TCP,
	SOURCE_KINDS
};
enum sink_kind {
	TO_DISK,
	TO_MEMORY,
	TO_APPENDED,
	TO_PIPE,
	TO_SOCKET,
	TO_TCP,
	TO_NULL,
	SINK_KINDS
};
static const char *const source_names[] = {
	"disk", "memory", "proc", "pipe", "socket", "TCP"};
static const char *const sink_names[] = {
	"disk", "memory", "appended", "pipe", "socket", "TCP", "null"};

struct source {
	enum source_kind kind;
	int fd;
	const unsigned char *data;
	size_t size;
	/* feeds a pipe or a socket */
	pthread_t thread;
	int feeding_fd;
};

static inline void *
feed(void *arg)
{
	struct source *source = arg;

	for (size_t done = 0; done < source->size;) {
		ssize_t put = write(source->feeding_fd, source->data + done,
			source->size - done);

		if (put <= 0)
			abort();
		done += (size_t)put;
	}
	close(source->feeding_fd);
	return NULL;
}

/* Its size is 0, and yet it has content, which does not change. */
static inline void
open_proc(struct source *source)
{
	static unsigned char version[4096];

	source->fd = open("/proc/version", O_RDONLY | O_CLOEXEC);
	assert_true(source->fd >= 0);
	source->size = read_all(source->fd, version, sizeof(version));
	assert_true(source->size > 10 && source->size < sizeof(version));
	source->data = version;
	assert_int_equal(lseek(source->fd, 0, SEEK_SET), 0);
}

/* Has the first size bytes of content, unless it is a file of /proc. */
static inline void
source_open(struct source *source, enum source_kind kind, size_t size)
{
	int fds[2];

	*source = (struct source){.kind = kind, .data = content, .size = size};
	switch (kind) {
	case FROM_PROC:
		open_proc(source);
		break;
	case FROM_PIPE:
	case FROM_SOCKET:
	case FROM_TCP:
		if (kind == FROM_TCP)
			connect_sockets(TCP, fds);
		else
			make_pair(kind == FROM_SOCKET, fds);
		source->fd = fds[0];
		source->feeding_fd = fds[1];
		assert_int_equal(
			pthread_create(&source->thread, NULL, feed, source), 0);
		break;
	default:
		source->fd =
			kind == FROM_DISK ? file_on_disk() : file_in_memory();
		write_exactly(source->fd, content, size);
		assert_int_equal(lseek(source->fd, 0, SEEK_SET), 0);
	}
}

/* All bytes that the copy did not take are still there, after the first
 * ones. */
static inline void
source_close(struct source *source, size_t taken)
{
	static unsigned char rest[LARGEST];
	size_t n = read_all(source->fd, rest, sizeof(rest));

	assert_int_equal(n, source->size - taken);
	assert_memory_equal(rest, source->data + taken, n);
	if (source->kind >= FROM_PIPE)
		assert_int_equal(pthread_join(source->thread, NULL), 0);
	close(source->fd);
}

/* The content of a file before bytes are appended. */
#define HEAD "head\n"
#define HEAD_SIZE ((size_t)5)
/* More than can arrive, so that surplus bytes show. */
#define ROOM (LARGEST + HEAD_SIZE + 1)

struct sink {
	enum sink_kind kind;
	int fd;
	unsigned char *got;
	size_t size;
	/* drains a pipe or a socket */
	pthread_t thread;
	int draining_fd;
};

static inline void *
drain(void *arg)
{
	struct sink *sink = arg;

	sink->size = read_all(sink->draining_fd, sink->got, ROOM);
	close(sink->draining_fd);
	return NULL;
}

static inline void
sink_open(struct sink *sink, enum sink_kind kind)
{
	int fds[2];

	*sink = (struct sink){.kind = kind, .got = malloc(ROOM)};
	assert_non_null(sink->got);
	switch (kind) {
	case TO_NULL:
		sink->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		break;
	case TO_PIPE:
	case TO_SOCKET:
	case TO_TCP:
		if (kind == TO_TCP)
			connect_sockets(TCP, fds);
		else
			make_pair(kind == TO_SOCKET, fds);
		sink->draining_fd = fds[0];
		sink->fd = fds[1];
		assert_int_equal(
			pthread_create(&sink->thread, NULL, drain, sink), 0);
		break;
	case TO_APPENDED:
		sink->fd = file_on_disk();
		write_exactly(sink->fd, HEAD, HEAD_SIZE);
		assert_int_equal(lseek(sink->fd, 0, SEEK_SET), 0);
		assert_int_equal(fcntl(sink->fd, F_SETFL, O_APPEND), 0);
		break;
	default:
		sink->fd = kind == TO_DISK ? file_on_disk() : file_in_memory();
	}
	assert_true(sink->fd >= 0);
}

static inline void
check_file(struct sink *sink, const unsigned char *data, size_t size)
{
	size_t head = sink->kind == TO_APPENDED ? HEAD_SIZE : 0;

	/* the position is after the copied bytes, unless nothing was copied */
	if (size > 0)
		assert_int_equal(lseek(sink->fd, 0, SEEK_CUR), head + size);
	assert_int_equal(lseek(sink->fd, 0, SEEK_END), head + size);
	assert_int_equal(lseek(sink->fd, 0, SEEK_SET), 0);
	assert_int_equal(read_all(sink->fd, sink->got, ROOM), head + size);
	assert_memory_equal(sink->got, HEAD, head);
	assert_memory_equal(sink->got + head, data, size);
}

/* It has these bytes and no others. */
static inline void
sink_close(struct sink *sink, const unsigned char *data, size_t size)
{
	if (sink->kind >= TO_PIPE && sink->kind <= TO_TCP) {
		close(sink->fd);
		assert_int_equal(pthread_join(sink->thread, NULL), 0);
		assert_int_equal(sink->size, size);
		assert_memory_equal(sink->got, data, size);
	} else {
		if (sink->kind != TO_NULL)
			check_file(sink, data, size);
		close(sink->fd);
	}
	free(sink->got);
}

#endif
