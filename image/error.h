/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_ERROR_H
#define HONE_IMAGE_ERROR_H
#include "image.h"

/*
 * Set the message about the named file ("" or NULL: no file), and err->again if
 * code is a failure of a network. Returns code, a negative errno. A store that
 * knows more about the failure sets err->again afterwards.
 */
__attribute__((format(printf, 4, 5))) int image_fail(struct image_error *err,
	const char *file, int code, const char *format, ...);

/* The same for bytes that are damaged: sets err->damaged. */
__attribute__((format(printf, 4, 5))) int image_damaged(struct image_error *err,
	const char *file, int code, const char *format, ...);

/* Fail with err->refused: more than the limit of --max-size. `what` continues
 * the name of the file: "has a disk of more than". */
int image_too_large(struct image_error *err, const char *file, const char *what,
	uint64_t limit);

/* Fail with -ENOMEM. */
int image_no_memory(struct image_error *err);

#endif
