/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the other files in a build without libnbd. */
#include <errno.h>
#include <stddef.h>
#include "store/address.h"

const char *
image_nbd_library(void)
{
	return NULL;
}

int
image_nbd_open(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	(void)how;
	*out = NULL;
	return image_fail(err, address, -ENOTSUP,
		"needs libnbd, which this hone was built without: install "
		"libnbd-dev, then build with -Dlibnbd=enabled");
}

int
image_nbd_open_target(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	return image_nbd_open(address, how, out, err);
}
