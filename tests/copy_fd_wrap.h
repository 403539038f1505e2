/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_COPY_FD_WRAP_H
#define HONE_TESTS_COPY_FD_WRAP_H
/*
 * Stands between hone_copy_fd() and the calls that it makes: the linker gives
 * them to us. To be included by one file of a program.
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
	/* BIT()s of calls whose first is interrupted */
	unsigned interrupted;
	/* the fails_at'th of these calls, counted from 1, fails with error; if
	 * that is 0, it returns 0 */
	enum call fails;
	int fails_at;
	int error;
	/* nothing is moved, and all that was asked for is said to be */
	bool pretends;
	/* the most that was asked for at once */
	size_t largest;
	/* no memory */
	bool no_malloc;
	/* what was called how often */
	int count[CALLS];
} plan;

/* Only what this thread calls from within hone_copy_fd() is of interest. */
static _Thread_local bool armed;

/* 0: go on; 1: return what was asked for; 2: return 0; -1: fail, errno is set.
 */
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
#define STANDS_FOR_MOVING(name, call, n, arguments, ...)                       \
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

STANDS_FOR_MOVING(copy_file_range, RANGE, n, (in, at, out, to, n, flags),
	int in, off_t *at, int out, off_t *to, size_t n, unsigned flags)
STANDS_FOR_MOVING(sendfile, SENDFILE, n, (out, in, at, n), int out, int in,
	off_t *at, size_t n)
STANDS_FOR_MOVING(sendfile64, SENDFILE, n, (out, in, at, n), int out, int in,
	off_t *at, size_t n)
STANDS_FOR_MOVING(splice, SPLICE, n, (in, at, out, to, n, flags), int in,
	off_t *at, int out, off_t *to, size_t n, unsigned flags)
STANDS_FOR_MOVING(read, READ, n, (fd, buf, n), int fd, void *buf, size_t n)
STANDS_FOR_MOVING(
	write, WRITE, n, (fd, buf, n), int fd, const void *buf, size_t n)

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
STANDS_FOR_OTHER(int, fstat, FSTAT, (fd, status), int fd, struct stat *status)
STANDS_FOR_OTHER(int, fstat64, FSTAT, (fd, status), int fd, struct stat *status)

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
