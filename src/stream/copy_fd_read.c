/* SPDX-License-Identifier: BSD-3-Clause */
/* The last method of hone_copy_fd(): read() into a buffer and write(). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include "stream/copy_fd.h"

/* Bytes on the stack: for short copies, and if malloc() fails. */
#define SMALL ((size_t)4096)
/*
 * Bytes of one read of a longer copy. From a socket into memory, in GB/s: 64
 * KiB 2.5, 128 KiB 2.8, 256 KiB 3.3, 1 MiB 3.3; from memory into memory 2.5,
 * 2.6, 2.6, 2.6 (medians of 15 copies of 64 MiB, 2026-11-21, EPYC Zen 4).
 */
#define LARGE ((size_t)256 << 10)

/* Gives n bytes that were read back to in; returns false if that fails. */
static int
put_back(const struct hone_copying *c, size_t n)
{
	/* For other file types lseek() may succeed without an effect. */
	return (S_ISREG(c->in_status.st_mode) ||
		       S_ISBLK(c->in_status.st_mode)) &&
	       lseek(c->in, -(off_t)n, SEEK_CUR) >= 0;
}

/* Handles a failed write() of n bytes. Returns 0 to try again, or -errno. */
static int
after_failure(struct hone_copying *c, int error, size_t n)
{
	if (error == EINTR)
		return 0;
	if (put_back(c, n))
		return -error;
	if (error == EAGAIN)
		error = -hone_copying_wait(c, c->out, POLLOUT);
	if (error != 0)
		c->result.lost += n;
	return -error;
}

static int
write_all(struct hone_copying *c, const char *buf, size_t n)
{
	while (n > 0) {
		ssize_t put = write(c->out, buf, n);
		int error;

		if (put > 0) {
			hone_copying_count(
				c, (uint64_t)put, HONE_COPY_FD_READ_WRITE);
			buf += put;
			n -= (size_t)put;
			continue;
		}
		/* A write of 0 bytes is an error: otherwise a device that
		 * accepts nothing would cause an endless loop. */
		error = after_failure(c, put < 0 ? errno : EIO, n);
		if (error < 0)
			return error;
	}
	return 0;
}

static int
read_and_write(struct hone_copying *c, char *buf, size_t size)
{
	while (c->left > 0) {
		size_t most = c->left < size ? (size_t)c->left : size;
		ssize_t got = read(c->in, buf, most);
		int error = 0;

		if (got == 0)
			return 0;
		if (got > 0)
			error = write_all(c, buf, (size_t)got);
		else if (errno != EINTR)
			error = -errno;
		if (error < 0)
			return error;
	}
	return 0;
}

static void
free_buffer(char **buffer)
{
	free(*buffer);
}

int
hone_copying_read_write(struct hone_copying *c)
{
	char small[SMALL];
	size_t size = c->left < LARGE ? (size_t)c->left : LARGE;
	/* Freed also if the thread is cancelled while it waits. */
	char *large __attribute__((cleanup(free_buffer))) =
		size > SMALL ? malloc(size) : NULL;

	return read_and_write(
		c, large ? large : small, large ? size : sizeof(small));
}
