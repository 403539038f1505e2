/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_SUMS_H
#define HONE_IMAGE_SUMS_H
/*
 * Lists of digests, such as SHA256SUMS: the lines of line.h, also within a
 * clear-signed message of OpenPGP, whose signature is not checked. Other lines
 * are ignored. Digits alone are the digest of each name if they are the only
 * line.
 */
#include "error.h"

/*
 * Set *expect to the digest of a file. name has no folder, and folders in the
 * list are ignored. MD5 and SHA-1 are ignored: files with a chosen digest can
 * be made. Of several algorithms the one with the longest digest is taken. The
 * text is changed. list is for messages.
 *
 * Returns -ENOENT if the list has no digest of the file.
 * Returns -EINVAL if it has two, or if its signed message is not complete or
 * not the only one.
 */
int image_sums_find(const char *list, char *text, size_t length,
	const char *name, struct image_expect *expect, struct image_error *err);

#endif
