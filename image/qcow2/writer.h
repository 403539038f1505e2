/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_WRITER_H
#define HONE_IMAGE_QCOW2_WRITER_H
/* Writing a new qcow2 image; the members of struct image_ops for that. */
#include "image.h"

int qcow2_option(struct image_create *create, const char *key, uint64_t value,
	struct image_error *err);
int qcow2_create(struct image *img, const struct image_create *create,
	struct image_error *err);
int qcow2_write(struct image *img, uint64_t offset, const void *buf,
	size_t length, struct image_error *err);
int qcow2_write_zeroes(struct image *img, uint64_t offset, uint64_t length,
	struct image_error *err);
int qcow2_finish(struct image *img, struct image_error *err);
void qcow2_writer_free(void *state);

#endif
