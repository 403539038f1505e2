/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_ERROR_H
#define HONE_IMAGE_ERROR_H
#include "image.h"

/* As image_fail(), for bytes that are damaged: sets err->damaged. */
__attribute__((format(printf, 4, 5))) int image_damaged(struct image_error *err,
	const char *file, int code, const char *format, ...);

/* Fail with err->refused: more than the limit of --max-size. `what` continues
 * the name of the file: "has a disk of more than". */
int image_too_large(struct image_error *err, const char *file, const char *what,
	uint64_t limit);

/* Fail with -ENOMEM. */
int image_no_memory(struct image_error *err);

#endif
