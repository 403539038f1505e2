/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_ERROR_H
#define HONE_IMAGE_ERROR_H
#include <errno.h>
#include "image.h"

/* Make a system call until no signal interrupts it. */
#define IMAGE_RETRY(call)                                                      \
	__extension__({                                                        \
		__typeof__(call) result_;                                      \
		do                                                             \
			result_ = (call);                                      \
		while (result_ < 0 && errno == EINTR);                         \
		result_;                                                       \
	})

/* As image_fail(), for bytes that are damaged: sets err->damaged. */
__attribute__((format(printf, 4, 5))) int image_damaged(struct image_error *err,
	const char *file, int code, const char *format, ...);

/* Fail with err->refused: more than the limit of --max-size. `what` continues
 * the name of the file: "has a disk of more than". */
int image_too_large(struct image_error *err, const char *file, const char *what,
	uint64_t limit);

/* Fail with -ENOMEM. */
int image_no_memory(struct image_error *err);

/*
 * Give an array room for `wanted` elements of `size` bytes, and for twice as
 * many as before if it grows. New elements are not initialised. `list` is the
 * address of the pointer to the array, which stays on failure.
 */
int image_grow(void *list, uint64_t *room, uint64_t wanted, size_t size,
	struct image_error *err);

#endif
