/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between descriptors: the choice of the method, and the fallback. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include "stream/copy_fd.h"
#include "stream/socket.h"

/*
 * Most bytes of one call: a multiple of every file system's block size. With
 * another number, a file system that shares blocks would have to copy from the
 * second call on. The kernel cuts at 2 GiB less a page, which is no such
 * multiple.
 */
#define MOST ((uint64_t)1 << 30)

void
hone_copying_count(
	struct hone_copying *c, uint64_t moved, enum hone_copy_fd_method method)
{
	c->left -= moved;
	c->result.copied += moved;
	c->result.methods |= method;
}

/*
 * A file with bytes, as far as its size says. copy_file_range() finds no bytes
 * in a file of /proc, whose size is 0. The other methods of the kernel read 64
 * KiB at a time, and some files of /proc/sys return nothing but to the first
 * read.
 */
static bool
has_size(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_size > 0;
}

/* sendfile() requires a file that can be mapped. */
static bool
has_pages(const struct stat *status)
{
	return has_size(status) || S_ISBLK(status->st_mode);
}

static bool
range_fits(const struct hone_copying *c)
{
	return has_size(&c->in_status) && S_ISREG(c->out_status.st_mode);
}

static ssize_t
range_call(const struct hone_copying *c, size_t n)
{
	return copy_file_range(c->in, NULL, c->out, NULL, n, 0);
}

static bool
sendfile_fits(const struct hone_copying *c)
{
	return has_pages(&c->in_status);
}

static ssize_t
sendfile_call(const struct hone_copying *c, size_t n)
{
	return sendfile(c->out, c->in, NULL, n);
}

static bool
splice_fits(const struct hone_copying *c)
{
	return S_ISFIFO(c->in_status.st_mode) ||
	       S_ISFIFO(c->out_status.st_mode);
}

static ssize_t
splice_call(const struct hone_copying *c, size_t n)
{
	return splice(c->in, NULL, c->out, NULL, n, c->splice_flags);
}

/* A method of the kernel. */
struct method {
	enum hone_copy_fd_method bit;
	/* returns true if the method may work for these file types */
	bool (*fits)(const struct hone_copying *c);
	ssize_t (*call)(const struct hone_copying *c, size_t n);
};

static const struct method methods[] = {
	{HONE_COPY_FD_RANGE, range_fits, range_call},
	{HONE_COPY_FD_SENDFILE, sendfile_fits, sendfile_call},
	{HONE_COPY_FD_SPLICE, splice_fits, splice_call},
};
#define N_METHODS (sizeof(methods) / sizeof(methods[0]))

/*
 * Returns true if the error may concern the method and not the data. Then the
 * next method is tried. If the data are the cause, the last method returns the
 * error, so no error is lost. With any other error the next method would fail
 * in the same way, or read() would take bytes that cannot be put back.
 */
static bool
is_refusal(int error, enum hone_copy_fd_method method)
{
	switch (error) {
	case EINVAL:     /* no such operation between these two, or O_APPEND */
	case EXDEV:      /* copy_file_range(): two file systems */
	case ENOSYS:     /* an old kernel, an emulator */
	case EOPNOTSUPP: /* the file system */
	case EPERM:      /* a seccomp filter; old NFS */
	case EACCES:     /* a security module */
	case ETXTBSY:    /* copy_file_range(): a swap file */
	case EOVERFLOW:  /* copy_file_range(): n and the position together */
	case ENOMEM:     /* the pipe inside sendfile() */
		return true;
	case EBADF: /* copy_file_range(): O_APPEND */
	case EIO:   /* copy_file_range() on CIFS of kernels before 5.3 */
		return method == HONE_COPY_FD_RANGE;
	default:
		return false;
	}
}

static int
copy_by(struct hone_copying *c, const struct method *method)
{
	while (c->left > 0) {
		size_t most = (size_t)(c->left < MOST ? c->left : MOST);
		ssize_t moved = method->call(c, most);

		if (moved > 0)
			hone_copying_count(c, (uint64_t)moved, method->bit);
		else if (moved == 0)
			/*
			 * copy_file_range() uses the size from the file system,
			 * which is 0 in /proc. The other methods read.
			 */
			return method->bit == HONE_COPY_FD_RANGE
				       ? HONE_COPYING_NEXT
				       : HONE_COPYING_DONE;
		else if (is_refusal(errno, method->bit))
			return HONE_COPYING_NEXT;
		else if (errno != EINTR)
			return -errno;
	}
	return HONE_COPYING_DONE;
}

static int
copy(struct hone_copying *c)
{
	for (size_t i = 0; i < N_METHODS; i++) {
		int verdict;

		if (!methods[i].fits(c))
			continue;
		verdict = copy_by(c, &methods[i]);
		if (verdict != HONE_COPYING_NEXT)
			return verdict;
	}
	return hone_copying_read_write(c);
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	if (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode))
		return a->st_rdev == b->st_rdev;
	return (S_ISREG(a->st_mode) || S_ISFIFO(a->st_mode)) &&
	       a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns true if the copy would read what it has written. */
static bool
overlaps(const struct hone_copying *c)
{
	off_t from, to;

	if (!is_same(&c->in_status, &c->out_status))
		return false;
	if (S_ISFIFO(c->in_status.st_mode))
		return true;
	from = lseek(c->in, 0, SEEK_CUR);
	to = lseek(c->out, 0, SEEK_CUR);
	if (fcntl(c->out, F_GETFL) & O_APPEND) {
		/* If both descriptors share one position, each write moves it
		 * to the end. Whether they share it cannot be found out. */
		if (fcntl(c->in, F_GETFL) & O_APPEND)
			return true;
		to = c->out_status.st_size;
	}
	return (uint64_t)(from < to ? to - from : from - to) < c->left;
}

/*
 * splice() of older kernels waits for a pipe even if its descriptor has
 * O_NONBLOCK.
 */
static unsigned
splice_flags(const struct hone_copying *c)
{
	int flags = 0;

	if (S_ISFIFO(c->in_status.st_mode))
		flags |= fcntl(c->in, F_GETFL);
	if (S_ISFIFO(c->out_status.st_mode))
		flags |= fcntl(c->out, F_GETFL);
	return flags & O_NONBLOCK ? SPLICE_F_NONBLOCK : 0;
}

static int
look(struct hone_copying *c)
{
	int error = 0;

	if (fstat(c->in, &c->in_status) < 0 ||
		fstat(c->out, &c->out_status) < 0)
		return -errno;
	if (S_ISSOCK(c->in_status.st_mode))
		error = hone_socket_check(c->in);
	if (error == 0 && S_ISSOCK(c->out_status.st_mode))
		error = hone_socket_check(c->out);
	if (error == 0 && overlaps(c))
		error = -EINVAL;
	if (error == 0 && splice_fits(c))
		c->splice_flags = splice_flags(c);
	return error;
}

/* The result of the whole call. */
static int64_t
report(const struct hone_copying *c, int error,
	struct hone_copy_fd_result *result)
{
	if (result)
		*result = c->result;
	return error < 0 ? error : (int64_t)c->result.copied;
}

/* The largest value of the result; no file is longer. */
static uint64_t
at_most(uint64_t n)
{
	return n < INT64_MAX ? n : INT64_MAX;
}

int64_t
hone_copy_fd(int in, int out, uint64_t n, struct hone_copy_fd_result *result)
{
	struct hone_copying c = {.in = in,
		.out = out,
		.left = at_most(n),
		.deadline_ns = INT64_MAX};
	int error = n > 0 ? look(&c) : 0;

	if (n > 0 && error == 0)
		error = copy(&c);
	return report(&c, error, result);
}

int64_t
hone_copy_fd_until(int in, int out, uint64_t n, int64_t deadline_ns,
	struct hone_copy_fd_result *result)
{
	struct hone_copying c = {.in = in,
		.out = out,
		.left = at_most(n),
		.deadline_ns = deadline_ns,
		.copied_before = UINT64_MAX};
	int error = n > 0 ? look(&c) : 0;

	while (n > 0 && error == 0) {
		error = copy(&c);
		if (error != -EAGAIN)
			break;
		error = hone_copying_wait_for_both(&c);
	}
	return report(&c, error, result);
}
