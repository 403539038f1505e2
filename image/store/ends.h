/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_ENDS_H
#define HONE_IMAGE_ENDS_H
/*
 * The first and the last bytes of a disk that passes once. Programs detect the
 * format of a raw disk by them.
 */
#include "store/store.h"

#define IMAGE_ENDS ((size_t)IMAGE_HEAD_SIZE)

/* Initialise it with {0}. */
struct image_ends {
	/* bytes that passed */
	uint64_t position;
	/* the first ones, and the last ones: byte n is tail[n % IMAGE_ENDS] */
	unsigned char head[IMAGE_ENDS];
	unsigned char tail[IMAGE_ENDS];
};

/* The next bytes pass. NULL: zeros. */
void image_ends_pass(
	struct image_ends *ends, const unsigned char *bytes, uint64_t length);

/*
 * Read from the first or from the last IMAGE_ENDS bytes. Bytes that did not
 * pass are zero.
 */
void image_ends_read(const struct image_ends *ends, uint64_t offset, void *buf,
	size_t length);

#endif
