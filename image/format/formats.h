/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FORMATS_H
#define HONE_IMAGE_FORMATS_H
/* Detection of a format by file name and first bytes. */
#include "format/format.h"

/* No signature of signatures.def that counts from the file's beginning passes
 * this offset. */
#define IMAGE_SIGNATURES_END ((uint64_t)64 << 10)

/* Returns the format whose probe() accepts the bytes, or NULL. */
const struct image_format *image_format_by_magic(
	const unsigned char *head, size_t length);
/* A row of foreign.def. */
struct image_foreign {
	const char *name;
	/* QEMU's name */
	const char *driver;
	size_t offset;
	const char *magic;
	size_t length;
	const char *suffixes;
	/* a disk may begin with the same magic */
	bool in_disk;
};

/* Returns the format of foreign.def whose magic the bytes have, or NULL. */
const struct image_foreign *image_foreign_by_magic(
	const unsigned char *head, size_t length);
/*
 * Returns whether the file name has the suffix of a format that this release
 * knows, such as ".img".
 */
bool image_has_suffix(const char *path);
/* The same, or one that disks have which are read as raw images: ".dd". */
bool image_is_disk_name(const char *path);
/*
 * Returns the name of the format with the suffix of path; NULL for raw or none.
 */
const char *image_claimed_by_suffix(const char *path);

/*
 * open.c: set *format to the format of the store.
 * Returns -ENOTSUP if that is one of foreign.def.
 * Returns -EINVAL if the store is a container of containers.def.
 * Returns -EINVAL if the suffix is that of a format whose magic is missing.
 * Returns -EINVAL, with err->refused, if the store begins as a packed file.
 */
int image_probe(struct image_store *store, const struct image_open *how,
	const struct image_format **format, struct image_error *err);

#define RAW_HINT "add -f raw to read it as a raw image"

/* Bytes at the end that have each magic of containers.def. */
#define IMAGE_TAIL_SIZE 512

/*
 * refuse.c: fail if a file without the header of an image is a packed file,
 * an archive, or one of containers.def. It begins with head.
 */
int image_refuse_container(const struct image_store *store,
	const struct image_open *how, const unsigned char *head, size_t length,
	struct image_error *err);
/* The same by the end of a store that has `size` bytes. */
int image_refuse_tail(
	struct image_store *store, uint64_t size, struct image_error *err);

/*
 * Fail if a file without the header of an image is no raw image either.
 * It begins with head.
 */
int image_refuse_text(const struct image_store *store,
	const unsigned char *head, size_t length, struct image_error *err);

#endif
