/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_ADDRESS_H
#define HONE_IMAGE_ADDRESS_H
/*
 * Opens what an address of the user names: a path, or an address with a scheme.
 * The names inside an image are never addresses: image_store_open() opens
 * those.
 */
#include "store/store.h"

#define IMAGE_SCHEME(name, open, writable)                                     \
	int open(const char *address, const struct image_store_how *how,       \
		struct image_store **out, struct image_error *err);
#include "store/schemes.def"
#undef IMAGE_SCHEME

/* Returns whether the settings of the user make s3: use http. */
bool image_s3_is_plain(void);

/* Returns the version of libnbd, or NULL if this build has none. */
const char *image_nbd_library(void);

/* Open an address for reading. */
int image_store_open_address(const char *address,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err);

/*
 * Open what exists already and is written in place. Sets *out to NULL if the
 * address names a file that image_store_use() writes.
 */
int image_store_open_target(const char *address,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err);

#endif
