/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_PLAY_H
#define HONE_TESTS_IMAGE_PLAY_H
/* Make qcow2 images by random calls of their sink. */
#include "format/qcow2/sink.h"

struct play_how {
	struct image_create create;
	/* percent of the disk that has data */
	size_t dense;
	/* the same image for the same number */
	uint64_t seed;
};

/*
 * Write an image to one empty file and a raw file of the same bytes to another.
 * Places are written in any order. Exits with a message on any error.
 */
void play(int image, int raw, const struct play_how *how);

#endif
