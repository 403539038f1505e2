/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HOST_H
#define HONE_IMAGE_HOST_H
/*
 * Questions to the system about a file or a block device, in the order in which
 * they are asked before a device is written:
 *
 *	device.c	opens a target that exists already, or refuses it; sizes
 *	in_use.c	what else uses the device: /proc and /sys
 *	loop.c		is another name of the same disk in use
 *	lock.c		has another process opened the image: QEMU's locks
 */
#include <dirent.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "store/store.h"

/*
 * Open a block device, or with how->in_place a regular file, to write into it.
 * Sets *out to NULL if the path names a regular file and how->in_place is not
 * set, or if it names nothing. A device that is in use is refused.
 */
int image_device_open(const char *path, const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

/*
 * Returns whether /proc and /sys name a use of a block device or of one of its
 * partitions, with a text such as "is mounted on /mnt".
 */
bool image_device_in_use(dev_t device, char *text, size_t size);

/* Open a folder of sysfs about a device; NULL if there is none. */
DIR *image_sysfs_folder(dev_t device, const char *below);
/* Read the first line of a file of sysfs about a device. */
bool image_sysfs_line(char *line, size_t size, dev_t device, const char *below);

/*
 * Returns whether a file or device is the same disk as a loop device that is in
 * use, with a text that names both. That device is not st itself.
 */
bool image_loop_in_use(const struct stat *st, char *text, size_t size);

/*
 * Returns whether two files or devices are one, or have bytes in common because
 * one of them, or both, are loop devices.
 */
bool image_is_same_disk(const struct stat *a, const struct stat *b);

/* Bytes of an open file or block device. */
int image_file_size(int fd, const char *name, struct stat *st, uint64_t *size,
	struct image_error *err);

/*
 * Lock the file of fd, which is open for reading, against writers until fd is
 * closed.
 *
 * A process of QEMU locks one byte for each operation that it does with an
 * image, and one byte for each operation that others must not do. Both kinds
 * are shared advisory locks of an open file description (F_OFD_SETLK, F_RDLCK),
 * taken first; the process then tests (F_OFD_GETLK) whether others hold a byte
 * that conflicts.
 *
 * Returns 0 if the file is locked, or its file system has no locks.
 * Returns -EBUSY if another process may write to the file, or does not share
 * it; or another negative errno. text is then a message.
 */
int image_lock_shared(int fd, char *text, size_t size);

#endif
