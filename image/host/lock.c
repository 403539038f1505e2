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

/*
 * Lock bytes (F_OFD_SETLK), or look whether another process has locked one of
 * them (F_OFD_GETLK). A file system without locks is treated like a file that
 * nobody has locked. `what` is for the message: the kernel reports no owner of
 * a lock of an open file description.
 */
static int
ask(int fd, int command, int first, int length, const char *what, char *text,
	size_t size)
{
	struct flock lock = {
		.l_type = command == F_OFD_SETLK ? F_RDLCK : F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = length};
	int rc;

	do
		rc = fcntl(fd, command, &lock);
	while (rc < 0 && errno == EINTR);
	int code = rc < 0 ? errno : 0;
	switch (code) {
	case 0:
		if (command == F_OFD_SETLK || lock.l_type == F_UNLCK)
			return 0;
		break;
	case EINVAL:
	case ENOLCK:
	case ENOSYS:
	case EOPNOTSUPP:
		return 0;
	case EAGAIN:
	case EACCES:
		/* A look waits for nobody. */
		if (command == F_OFD_SETLK)
			break;
		__attribute__((fallthrough));
	default:
		snprintf(text, size, "cannot be locked: %s", strerror(code));
		return -code;
	}
	snprintf(text, size, "%s another process", what);
	return -EBUSY;
}

/* QEMU's locks are all shared, so that only a lock of another program
 * conflicts. */
static int
take(int fd, int first, int length, char *text, size_t size)
{
	return ask(fd, F_OFD_SETLK, first, length, "is locked by", text, size);
}

static int
test(int fd, int first, int length, const char *what, char *text, size_t size)
{
	return ask(fd, F_OFD_GETLK, first, length, what, text, size);
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
	return rc;
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
	return rc;
}
