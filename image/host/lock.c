/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes are those of QEMU's block/file-posix.c, from 2.10 on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "image.h"
#include "host/host.h"

/* Offset of the bytes that a process locks for the operations that it does. */
#define DOES 100
/* Offset of the bytes for the operations that others must not do. */
#define FORBIDS 200

/*
 * The operations, QEMU's BLK_PERM_*, added to both. 2 and 4 are not used here.
 */
#define READ_CONSISTENT 0
#define WRITE 1
#define RESIZE 3
#define N_THINGS 5

static struct flock
range(int first, int length)
{
	return (struct flock){.l_whence = SEEK_SET,
		.l_start = (off_t)first,
		.l_len = (off_t)length};
}

/* Kernels and file systems without such locks return one of these. */
static bool
unsupported(int code)
{
	return code == EINVAL || code == ENOLCK || code == ENOSYS ||
	       code == EOPNOTSUPP;
}

static int
call(int fd, int command, struct flock *lock)
{
	int rc;

	do
		rc = fcntl(fd, command, lock);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? errno : 0;
}

static int
fail(int code, char *text, size_t size)
{
	snprintf(text, size, "cannot be locked: %s", strerror(code));
	return -code;
}

/* The kernel reports no owner of a lock of an open file description. */
static int
refuse(const char *what, char *text, size_t size)
{
	snprintf(text, size, "%s another process", what);
	return -EBUSY;
}

/*
 * Lock bytes. Returns 0 if they are locked, -EOPNOTSUPP if there are no locks.
 * QEMU's locks are all shared, so that only a lock of another program
 * conflicts.
 */
static int
take(int fd, int first, int length, char *text, size_t size)
{
	struct flock lock = range(first, length);

	lock.l_type = F_RDLCK;
	int code = call(fd, F_OFD_SETLK, &lock);
	if (code == 0)
		return 0;
	if (unsupported(code))
		return -EOPNOTSUPP;
	if (code != EAGAIN && code != EACCES)
		return fail(code, text, size);
	return refuse("is locked by", text, size);
}

/* Refuse the file if another process holds a lock on one of the bytes. */
static int
test(int fd, int first, int length, const char *what, char *text, size_t size)
{
	struct flock lock = range(first, length);

	lock.l_type = F_WRLCK;
	int code = call(fd, F_OFD_GETLK, &lock);
	if (unsupported(code))
		return -EOPNOTSUPP;
	if (code != 0)
		return fail(code, text, size);
	if (lock.l_type == F_UNLCK)
		return 0;
	return refuse(what, text, size);
}

/* A file system without locks is treated like a file that nobody has locked. */
static int
conclude(int rc)
{
	return rc == -EOPNOTSUPP ? 0 : rc;
}

int
image_lock_shared(int fd, char *text, size_t size)
{
	static const char writes[] = "is open for writing in";
	int rc = take(fd, DOES + READ_CONSISTENT, 1, text, size);

	if (rc == 0)
		rc = take(fd, FORBIDS + WRITE, 1, text, size);
	if (rc == 0)
		rc = take(fd, FORBIDS + RESIZE, 1, text, size);
	if (rc == 0)
		rc = test(fd, DOES + WRITE, 1, writes, text, size);
	if (rc == 0)
		rc = test(fd, DOES + RESIZE, 1, writes, text, size);
	if (rc == 0)
		rc = test(fd, FORBIDS + READ_CONSISTENT, 1,
			"may be inconsistent: it is open in", text, size);
	if (rc == -EBUSY) {
		/* Every command that reads an image has the option. */
		size_t length = strlen(text);
		snprintf(text + length, size - length,
			"; add --force-share to read the image anyway");
	}
	return conclude(rc);
}

int
image_lock_exclusive(int fd, char *text, size_t size)
{
	static const char used[] = "is in use by";
	int rc = take(fd, DOES + WRITE, 1, text, size);

	if (rc == 0)
		rc = take(fd, FORBIDS, N_THINGS, text, size);
	if (rc == 0)
		rc = test(fd, DOES, N_THINGS, used, text, size);
	if (rc == 0)
		rc = test(fd, FORBIDS, N_THINGS, used, text, size);
	return conclude(rc);
}
