/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_STORE_LOCK_H
#define HONE_IMAGE_STORE_LOCK_H
/*
 * The locks by which QEMU's processes share image files.
 *
 * A process locks one byte for each operation that it does with an image, and
 * one byte for each operation that others must not do. Both kinds are shared
 * advisory locks of an open file description (F_OFD_SETLK, F_RDLCK), taken
 * first; the process then tests (F_OFD_GETLK) whether others hold a byte that
 * conflicts.
 */
#include <stddef.h>

/*
 * Lock the file of fd, which is open for reading, against writers until fd is
 * closed.
 *
 * Returns 0 if the file is locked, or its file system has no locks.
 * Returns -EBUSY if another process may write to the file, or does not share
 * it; or another negative errno. text is then a message.
 */
int image_lock_shared(int fd, char *text, size_t size);

#endif
