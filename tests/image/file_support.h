/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_SUPPORT_H
#define FILE_SUPPORT_H
/* Stores of files that a test has made. */
#include "store/store.h"

/* The file of a descriptor, opened by its path. */
struct image_store *open_again(int fd);
/* The descriptor itself, as a target. */
struct image_store *use(int fd);

#endif
