/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_NAMED_H
#define HONE_IMAGE_NAMED_H
/* Files that an image names. An attacker may have chosen the names. */
#include "store/store.h"

/*
 * Open the file that a field of the image names, a regular file below the
 * directory that the user allowed. The name is relative to the directory of the
 * image. A name with a protocol, such as "nbd:...", is refused.
 */
int image_named_open(const struct image_store *image, const char *field,
	const char *name, const char *below, const struct image_open *how,
	struct image_store **out, struct image_error *err);

/* The bytes of a name for which a message has room. */
#define IMAGE_NAME_SHOWN 180

/* Returns what may be shown of a name, in a buffer of the block. A name may be
 * an address, and the sentence around it does not tell where that ends. */
#define IMAGE_NAME(name)                                                       \
	image_named_show((char[IMAGE_NAME_SHOWN + 1]){""}, name)
const char *image_named_show(
	char shown[IMAGE_NAME_SHOWN + 1], const char *name);

#endif
