/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HASH_H
#define HONE_IMAGE_HASH_H
/*
 * Digests of bytes, by the library that the build has. Any thread may use a
 * hash, one thread at a time.
 *
 *   evp.c      digests by OpenSSL; no_evp.c: a build without OpenSSL
 *   expect.c   the digest that an image has to have: found in a list, compared,
 *              computed of the bytes that pass
 *   sums.c     lists such as SHA256SUMS; line.c: a line of one, and parts of
 *              texts; the rows of algorithms.def
 */
#include <string.h>
#include "error.h"

struct image_hash;

/*
 * Begin a digest. On success the caller destroys *out; on failure *out is NULL.
 * Returns -ENOTSUP if the build or the library does not have the algorithm.
 */
int image_hash_create(struct image_hash **out,
	const struct image_algorithm *algorithm, struct image_error *err);
/* NULL is allowed. */
void image_hash_destroy(struct image_hash *hash);

int image_hash_add(struct image_hash *hash, const void *bytes, size_t length,
	struct image_error *err);
/* Set digest, of image_algorithm.length bytes. */
int image_hash_end(struct image_hash *hash, unsigned char *digest,
	struct image_error *err);

/*
 * Set digest to that of these bytes alone. Any number of threads may call this
 * with one hash at a time.
 */
int image_hash_once(const struct image_hash *hash, const void *bytes,
	size_t length, unsigned char *digest, struct image_error *err);

/*
 * sums.c: lists of digests, such as SHA256SUMS: the lines of line.c, also
 * within a clear-signed message of OpenPGP, whose signature is not checked.
 * Other lines are ignored. Digits alone are the digest of each name if they are
 * the only line.
 *
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

struct image_sum {
	struct image_expect expect;
	/* as in the line, not terminated; NULL: digits alone */
	const char *name;
	size_t length;
	/* backslashes of the name are escapes */
	bool escaped;
};

/* Bytes of a text; not terminated. */
struct image_span {
	const char *at;
	size_t length;
};

static inline void
image_span_skip(struct image_span *span, size_t n)
{
	span->at += n;
	span->length -= n;
}

static inline bool
image_span_is(struct image_span span, const char *text)
{
	return span.length == strlen(text) &&
	       memcmp(span.at, text, span.length) == 0;
}

/* Leave out the bytes of a set at the end. */
static inline void
image_span_trim(struct image_span *span, const char *set)
{
	while (span->length && span->at[span->length - 1] &&
		strchr(set, span->at[span->length - 1]))
		span->length--;
}

/* Take a line, without its end, from the front. Returns false if there is none.
 */
bool image_span_line(struct image_span *rest, struct image_span *line);

/*
 * Copy a text with a byte in place of each "%41"; to may be the text. What is
 * no escape, or that of a NUL, stays as it is: the result is false then.
 */
bool image_percent_decode(char *to, const char *from);

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
