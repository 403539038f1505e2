/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_DEVICE_H
#define HONE_IMAGE_DEVICE_H
/* Block devices, and regular files that are written in place. */
#include <stddef.h>
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

#endif
