/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_SUMS_H
#define HONE_IMAGE_SUMS_H
/*
 * Lists of digests, such as SHA256SUMS: the lines of GNU coreutils
 * ("HEX  NAME", "HEX *NAME"), those with tags ("SHA256 (NAME) = HEX"), and both
 * within a clear-signed message of OpenPGP, whose signature is not checked. A
 * line that begins with a backslash has a name with escapes. Other lines are
 * ignored.
 */
#include "error.h"

/* The value of a hexadecimal digit, or -1. */
static inline int
image_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' - 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

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
