/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HASH_LINE_H
#define HONE_IMAGE_HASH_LINE_H
/*
 * A line of a list of digests, or of the manifest of an OVA:
 *
 *	HEX  NAME, HEX *NAME, HEX NAME		GNU coreutils, BSD
 *	SHA256 (NAME) = HEX			GNU coreutils, BSD
 *	SHA256(NAME)= HEX, SHA2-256(NAME)= HEX	OpenSSL, OVF
 *	HEX					digits alone
 *
 * A backslash before the line means that its name has escapes.
 */
#include "error.h"

struct image_sum {
	struct image_expect expect;
	/* as in the line, not terminated; NULL: digits alone */
	const char *name;
	size_t length;
	/* backslashes of the name are escapes */
	bool escaped;
};

/* The value of a hexadecimal digit, or -1. */
static inline int
image_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' - 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns whether a line, without its end, has a digest. */
bool image_sum_parse(const char *line, size_t length, struct image_sum *sum);

/*
 * Returns whether the line is for that name. Leading "./" and an asterisk
 * before the name of the line do not matter. last: nor do the folders of the
 * line.
 */
bool image_sum_is_for(const struct image_sum *sum, const char *name, bool last);

#endif
