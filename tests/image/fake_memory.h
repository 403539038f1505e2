/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_FAKE_MEMORY_H
#define HONE_TESTS_IMAGE_FAKE_MEMORY_H
/* A store of bytes in memory, for reading only: an image without a file. */
#include "store/store.h"

struct memory_store {
	struct image_store store;
	const unsigned char *bytes;
};

/* close frees the name and the store. */
extern const struct image_store_ops memory_store_ops;

/* The bytes stay the caller's, and outlive the store. */
int memory_store_open(const void *bytes, size_t length, const char *name,
	struct image_store **out, struct image_error *err);

#endif
