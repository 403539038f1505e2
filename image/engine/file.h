/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FILE_H
#define HONE_IMAGE_FILE_H
/* What formats that live in one file share. */
#include <sys/stat.h>
#include "image.h"

/* Set the sentence and return code, a negative errno. */
__attribute__((format(printf, 3, 4))) int image_fail(
	struct image_error *err, int code, const char *format, ...);

/* Say that a failure is about img; returns rc, which is 0 or more if none. */
static inline int
image_blame(struct image_error *err, const struct image *img, int rc)
{
	if (rc < 0)
		err->image = img;
	return rc;
}

/* As the members of struct image_ops; they name the image. */
int image_extents(struct image *img, uint64_t offset,
	struct image_extent *extent, struct image_error *err);
int image_recheck(struct image *img, struct image_error *err);

/* The file or block device behind img->fd, and its length. */
int image_file_stat(struct image *img, struct stat *st, uint64_t *size,
	struct image_error *err);
int image_file_size(struct image *img, uint64_t *size, struct image_error *err);

/* As the members of struct image_ops, at offsets of the file. */
int image_file_read(struct image *img, uint64_t offset, void *buf,
	size_t length, struct image_error *err);
int image_file_write(struct image *img, uint64_t offset, const void *buf,
	size_t length, struct image_error *err);
int image_file_truncate(
	struct image *img, uint64_t size, struct image_error *err);
int image_file_flush(struct image *img, struct image_error *err);

#endif
