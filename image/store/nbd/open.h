/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_NBD_OPEN_H
#define HONE_IMAGE_NBD_OPEN_H
/* Exports of NBD servers. In a build without libnbd, the calls fail. */
#include "store/store.h"

/* Returns the version of libnbd, or NULL if this build has none. */
const char *image_nbd_library(void);

/* As image_store_open_address(). */
int image_nbd_open(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err);
/* As image_store_open_target(). */
int image_nbd_open_target(const char *address,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err);

#endif
