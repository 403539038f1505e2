/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_STORE_HOLDER_H
#define HONE_IMAGE_STORE_HOLDER_H
#include <fcntl.h>

#define IMAGE_HOLDER 64

/*
 * Find the process that holds a lock that fcntl() reported for the file in fd.
 * fd must have a lock too. Sets name to "qemu-nbd (pid 1234)", or to "another
 * process" if /proc does not show the holder to this user.
 */
void image_holder(int fd, const struct flock *held, char name[IMAGE_HOLDER]);

#endif
