/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "file_support.h"
#include "support.h"

struct image_store *
open_again(int fd)
{
	static const struct image_store_how how;
	struct image_store *store;
	struct image_error err;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(image_store_open(path, NULL, &how, &store, &err), 0);
	return store;
}

struct image_store *
use(int fd)
{
	static const struct image_store_how how;
	struct image_store *store;
	struct image_error err;

	assert_int_equal(image_store_use(fd, "file", &how, &store, &err), 0);
	return store;
}
