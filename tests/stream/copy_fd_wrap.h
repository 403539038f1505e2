/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_COPY_FD_WRAP_H
#define HONE_TESTS_COPY_FD_WRAP_H
/*
 * Stands between hone_copy_fd() and the calls that it makes: the linker
 * redirects them to this file. One file of a program may include it.
 */
#include <poll.h>
#include <sys/sendfile.h>
#include "copy_fd_support.h"

enum call { RANGE, SENDFILE, SPLICE, READ, WRITE, POLL, LSEEK, FSTAT, CALLS };
#define BIT(call) (1u << (call))

static struct plan {
	/* BIT()s of calls that fail with ENOSYS each time */
	unsigned refused;
	/* most bytes that one call moves, write() two thirds of them; 0: any */
	size_t cap;
	/* BIT()s of calls that are interrupted the first time */
	unsigned interrupted;
	/* call number fails_at of these calls, from 1, fails with error; if
	 * error is 0, it returns 0 */
	enum call fails;
	int fails_at;
	int error;
	/* nothing is moved, and the full count is returned */
	bool pretends;
	/* the largest request */
	size_t largest;
	/* no memory */
	bool no_malloc;
	/* fstat() reports files as block devices, with their inodes as device
	 * numbers */
	bool blocks;
	/* how often each call was made */
	int count[CALLS];
} plan;

/* Counts only what this thread calls from within hone_copy_fd(). */
static _Thread_local bool armed;

/* 0: continue; 1: return the full count; 2: return 0; -1: fail, errno is
 * set. */
static int
meddle(enum call call, size_t *n)
{
	size_t cap;

	if (!armed)
		return 0;
	plan.count[call]++;
	if (plan.refused & BIT(call)) {
		errno = ENOSYS;
		return -1;
	}
	if ((plan.interrupted & BIT(call)) && plan.count[call] == 1) {
		errno = EINTR;
		return -1;
	}
	if (plan.fails_at && plan.fails == call &&
		plan.count[call] == plan.fails_at) {
		errno = plan.error;
		return plan.error ? -1 : 2;
	}
	if (n && *n > plan.largest)
		plan.largest = *n;
	cap = call == WRITE ? plan.cap / 3 * 2 : plan.cap;
	if (n && cap && *n > cap)
		*n = cap;
	return plan.pretends;
}

/* Where off_t has 64 bits by choice, some have another name. */
#define STANDS_FOR_MOVING(call, name, n, arguments, ...)                       \
	STANDS_FOR(ssize_t, name, __VA_ARGS__)                                 \
	{                                                                      \
		int verdict = meddle(call, &n);                                \
                                                                               \
		if (verdict)                                                   \
			return verdict < 0    ? -1                             \
			       : verdict == 1 ? (ssize_t)n                     \
					      : 0;                             \
		return __real_##name arguments;                                \
	}

STANDS_FOR_MOVING(RANGE, copy_file_range, n, (in, at, out, to, n, flags),
	int in, off_t *at, int out, off_t *to, size_t n, unsigned flags)
STANDS_FOR_MOVING(SENDFILE, sendfile, n, (out, in, at, n), int out, int in,
	off_t *at, size_t n)
STANDS_FOR_MOVING(SENDFILE, sendfile64, n, (out, in, at, n), int out, int in,
	off_t *at, size_t n)
STANDS_FOR_MOVING(SPLICE, splice, n, (in, at, out, to, n, flags), int in,
	off_t *at, int out, off_t *to, size_t n, unsigned flags)
STANDS_FOR_MOVING(READ, read, n, (fd, buf, n), int fd, void *buf, size_t n)
STANDS_FOR_MOVING(
	WRITE, write, n, (fd, buf, n), int fd, const void *buf, size_t n)

#define STANDS_FOR_OTHER(type, name, call, arguments, ...)                     \
	STANDS_FOR(type, name, __VA_ARGS__)                                    \
	{                                                                      \
		return meddle(call, NULL) < 0 ? -1 : __real_##name arguments;  \
	}

STANDS_FOR_OTHER(int, poll, POLL, (fds, n, timeout), struct pollfd *fds,
	nfds_t n, int timeout)
STANDS_FOR_OTHER(
	off_t, lseek, LSEEK, (fd, at, whence), int fd, off_t at, int whence)
STANDS_FOR_OTHER(
	off_t, lseek64, LSEEK, (fd, at, whence), int fd, off_t at, int whence)

static inline int
told(int (*real)(int, struct stat *), int fd, struct stat *status)
{
	int error = meddle(FSTAT, NULL) < 0 ? -1 : real(fd, status);

	if (!error && armed && plan.blocks && S_ISREG(status->st_mode)) {
		status->st_mode = S_IFBLK | 0600;
		status->st_rdev = status->st_ino;
	}
	return error;
}

STANDS_FOR(int, fstat, int fd, struct stat *status)
{
	return told(__real_fstat, fd, status);
}

STANDS_FOR(int, fstat64, int fd, struct stat *status)
{
	return told(__real_fstat64, fd, status);
}

STANDS_FOR(void *, malloc, size_t n)
{
	return armed && plan.no_malloc ? NULL : __real_malloc(n);
}

static inline int64_t
copy(const struct source *source, const struct sink *sink, uint64_t n,
	struct hone_copy_fd_result *result)
{
	int64_t answer;

	memset(plan.count, 0, sizeof(plan.count));
	armed = true;
	answer = hone_copy_fd(source->fd, sink->fd, n, result);
	armed = false;
	return answer;
}

#endif
