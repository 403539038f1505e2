/* SPDX-License-Identifier: BSD-3-Clause */
/* One whole file: open, fstat, read, close. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include "stream/read_file.h"

#define KNOWN_FLAGS                                                            \
	((unsigned)(HONE_READ_NOFOLLOW | HONE_READ_NOATIME |                   \
		    HONE_READ_HUGE_ADVISE | HONE_READ_NONBLOCK))

int
hone_read_open_flags(const struct hone_read_attr *attr)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;

	if ((attr->flags & ~KNOWN_FLAGS) || !attr->allocate || !attr->resize ||
		!attr->release || !hone_reserved_are_zero(attr->reserved))
		return -EINVAL;
	if (attr->flags & HONE_READ_NOFOLLOW)
		flags |= O_NOFOLLOW;
	if (attr->flags & HONE_READ_NOATIME)
		flags |= O_NOATIME;
	if (attr->flags & HONE_READ_NONBLOCK)
		flags |= O_NONBLOCK;
	return flags;
}

/* A thread that is cancelled while open() returns may lose the descriptor
 * (glibc bug 12683). So an open() that does not wait is not cancelled. */
static int
open_uncancelled(int dirfd, const char *path, int flags)
{
	int fd, state;

	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	fd = openat(dirfd, path, flags);
	pthread_setcancelstate(state, NULL);
	return fd;
}

/* Returns a descriptor or a negative errno. If the kernel refuses O_NOATIME,
 * opens without it. */
static int
open_to_read(const char *path, const struct hone_read_attr *attr)
{
	int flags = hone_read_open_flags(attr);
	int fd;

	if (flags < 0)
		return flags;
	while ((fd = flags & O_NONBLOCK
			       ? open_uncancelled(attr->dirfd, path, flags)
			       : openat(attr->dirfd, path, flags)) < 0) {
		if (errno == EPERM && (flags & O_NOATIME))
			flags &= ~O_NOATIME; /* the file of another user */
		else if (errno != EINTR)
			return -errno;
	}
	return fd;
}

/* The size of a regular file; 0 for other files, and if the size may be wrong;
 * or -EISDIR. */
static int64_t
expected_size(const struct stat *st, const struct hone_read_attr *attr)
{
	if (S_ISREG(st->st_mode))
		return hone_read_size(st, attr->limit);
	return S_ISDIR(st->st_mode) ? -EISDIR : 0;
}

bool
hone_reads_directly(int fd, const struct stat *st)
{
	/* Of a pipe, the same flag keeps packets apart. */
	return (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode)) &&
	       fcntl(fd, F_GETFL) & O_DIRECT;
}

/* Returns 0 or a negative errno; after an error the caller drops the buffer.
 * *reads: set to the number of reads that returned bytes. */
static int
read_to_end(struct hone_file_buffer *f, int fd, size_t *reads)
{
	for (*reads = 0;; ++*reads) {
		size_t requested;
		ssize_t got;
		int error = hone_file_buffer_make_room(f);

		if (error)
			return error;
		requested = hone_file_buffer_request(f);
		do
			got = read(fd, f->data + f->size, requested);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return -errno;
		if (hone_file_buffer_add(f, requested, (size_t)got))
			return 0;
	}
}

/* Moves the position back by n bytes, to where a regular file was begun. */
static bool
go_back(int fd, size_t n)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       lseek(fd, -(off_t)n, SEEK_CUR) >= 0;
}

/*
 * Some files of /proc/sys return nothing but to the first read, however little
 * it requested: ip_local_reserved_ports with many ports. So the end is not
 * believed if one read returned all, and more than half of its request. The
 * file is then read again, from where it began, into twice the memory, until
 * that brings no more.
 */
static int
read_sizeless(struct hone_file_buffer *f, int fd)
{
	size_t before = 0, reads;

	for (;;) {
		size_t requested = f->capacity;
		int error = read_to_end(f, fd, &reads);

		if (error || reads != 1 || f->size <= requested / 2 ||
			f->size <= before)
			return error;
		if (f->capacity < 2 * requested)
			error = hone_file_buffer_grow(f);
		if (error || f->capacity == requested || !go_back(fd, f->size))
			return error;
		before = f->size;
		f->size = 0;
	}
}

/* Also if the allocator has thrown an exception, or the thread is cancelled. */
static inline void
drop_unless_finished(struct hone_file_buffer *f)
{
	if (f->data)
		hone_file_buffer_drop(f);
}

static int
read_expected(struct hone_file_data *out, int fd,
	const struct hone_read_attr *attr, int64_t expected)
{
	struct hone_file_buffer f
		__attribute__((cleanup(drop_unless_finished)));
	size_t reads;
	int error;

	f.data = NULL;
	if (expected < 0)
		return (int)expected;
	error = hone_file_buffer_begin(&f, attr, (uint64_t)expected);
	if (error)
		return error;
	error = expected > 0 ? read_to_end(&f, fd, &reads)
			     : read_sizeless(&f, fd);
	if (error)
		return error;
	hone_file_buffer_finish(&f, out);
	f.data = NULL;
	return 0;
}

static inline void
close_file(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int
hone_read_file(struct hone_file_data *out, const char *path,
	const struct hone_read_attr *attr)
{
	int fd __attribute__((cleanup(close_file))) = -1;
	struct hone_read_attr all;
	struct stat st;

	attr = hone_read_complete(attr, &all);
	fd = open_to_read(path, attr);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return read_expected(out, fd, attr, expected_size(&st, attr));
}

int
hone_read_fd(
	struct hone_file_data *out, int fd, const struct hone_read_attr *attr)
{
	struct hone_read_attr all;
	struct stat st;
	int64_t expected;

	attr = hone_read_complete(attr, &all);
	if (hone_read_open_flags(attr) < 0)
		return -EINVAL;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (hone_reads_directly(fd, &st))
		return -EINVAL;
	expected = expected_size(&st, attr);
	if (expected > 0) {
		off_t position = lseek(fd, 0, SEEK_CUR);

		if (position < 0 || position > expected)
			expected = 0;
		else
			expected -= position;
	}
	return read_expected(out, fd, attr, expected);
}
