/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_DEVICE_H
#define HONE_IMAGE_DEVICE_H
/* Block devices, and regular files that are written in place. */
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "store/store.h"

/*
 * device.c: open a block device, or with how->in_place a regular file, to write
 * into it. Sets *out to NULL if the path names a regular file and how->in_place
 * is not set, or if it names nothing. A device that is in use is refused.
 */
int image_device_open(const char *path, const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

/*
 * in_use.c: returns whether /proc and /sys name a use of a block device or of
 * one of its partitions, with a text such as "is mounted on /mnt".
 */
bool image_device_in_use(dev_t device, char *text, size_t size);

/* The path of a file of sysfs about a device. */
void image_sysfs_path(char *path, size_t size, dev_t device, const char *below);
/* Returns the device whose numbers a file of sysfs has, or 0. */
dev_t image_sysfs_device(const char *path);

/*
 * loop.c: returns whether a file or device is the same disk as a loop device
 * that is in use, with a text that names both. That device is not st itself.
 */
bool image_loop_in_use(const struct stat *st, char *text, size_t size);

#endif
