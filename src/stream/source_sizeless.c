/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regular files whose size is 0, as in /proc. Some files of /proc/sys return
 * nothing but to the first read, however little it requested:
 * ip_local_reserved_ports with many ports. So if the first read brought more
 * than half of its request and the second one nothing, the file is read again,
 * from where it began, by a larger read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "stream/stream.h"

/* More than a read again asks for beyond the bytes that came before. The kernel
 * refuses reads of 4 MiB in /proc/sys. */
#define MORE ((size_t)64 << 10)

/* Moves the position by n bytes, forward or back. Returns 0 or -errno. */
static int
sizeless_move(const struct hone_reader *r, int64_t n)
{
	return lseek(r->fd, (off_t)n, SEEK_CUR) < 0 ? -errno : 0;
}

/*
 * Reads again into memory: the bytes that came before, and up to more bytes.
 * Leaves the position after the bytes that are new. Returns their number, 0 at
 * the end, or a negative errno with the position as before.
 */
static ptrdiff_t
read_beyond(const struct hone_reader *r, unsigned char *memory, size_t more)
{
	size_t before = r->single.bytes;
	int error = sizeless_move(r, -(int64_t)before);
	ssize_t got;

	if (error)
		return error;
	got = read(r->fd, memory, before + more);
	if (got < 0)
		error = -errno;
	if (got < (ssize_t)before) {
		int moved =
			sizeless_move(r, (int64_t)before - (got < 0 ? 0 : got));

		return error ? error : moved;
	}
	return got - (ssize_t)before;
}

static ptrdiff_t
read_again(struct hone_reader *r, void *buf, size_t n)
{
	size_t before = r->single.bytes;
	size_t more = n < before + MORE ? n : before + MORE;
	unsigned char *memory = malloc(before + more);
	ptrdiff_t got;

	if (!memory)
		return -ENOMEM;
	got = read_beyond(r, memory, more);
	if (got > 0)
		memcpy(buf, memory + before, (size_t)got);
	free(memory);
	if (got >= 0)
		r->single.bytes = got > 0 ? before + (size_t)got : 0;
	return got;
}

static ptrdiff_t
sizeless_read(struct hone_stream *s, void *buf, size_t n)
{
	struct hone_reader *r = hone_reader(s);
	ptrdiff_t got = hone_source_fd_read(s, buf, n);

	if (got < 0)
		return got;
	if (got == 0 && r->single.bytes > 0)
		return read_again(r, buf, n);
	r->single.bytes = 0;
	if (r->single.next && (size_t)got > n / 2)
		r->single.bytes = (size_t)got;
	r->single.next = false;
	return got;
}

static int64_t
seek_sizeless(struct hone_stream *s, int64_t offset, int whence)
{
	struct hone_reader *r = hone_reader(s);
	int64_t position = hone_source_fd_seek(s, offset, whence);

	if (position >= 0 && (whence != SEEK_CUR || offset != 0)) {
		r->single.next = position == 0;
		r->single.bytes = 0;
	}
	return position;
}

const struct hone_source hone_source_sizeless = {
	sizeless_read, seek_sizeless, hone_source_fd_close};
