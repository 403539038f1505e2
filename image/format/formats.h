/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FORMATS_H
#define HONE_IMAGE_FORMATS_H
/* What a file's name and first bytes claim. */
#include "format/format.h"

/* Enough for every magic of foreign.def and every probe(). */
#define IMAGE_HEAD_SIZE 512

/* No signature of signatures.def that counts from the file's beginning passes
 * this offset. */
#define IMAGE_SIGNATURES_END ((uint64_t)64 << 10)

/* The format that recognises the bytes, or NULL. */
const struct image_format *image_format_by_magic(
	const unsigned char *head, size_t length);
/* Name of the format of foreign.def that begins like this, or NULL. *in_disk is
 * set to true if a disk may begin like this too. */
const char *image_foreign_by_magic(
	const unsigned char *head, size_t length, bool *in_disk);
/* Name of the format that a file's ending claims; NULL for raw or none. */
const char *image_claimed_by_suffix(const char *path);

/*
 * open.c: set *format to what the store holds.
 * Returns -ENOTSUP if that is a format of foreign.def.
 * Returns -EINVAL if the name claims another format than the bytes.
 */
int image_probe(struct image_store *store, const struct image_format **format,
	struct image_error *err);

#endif
