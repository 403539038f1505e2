/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_FAKE_STORE_H
#define HONE_TESTS_IMAGE_FAKE_STORE_H
/* A store on a descriptor that counts what it is asked for, and can fail. */
#include "store/store.h"

struct test_store {
	struct image_store store;
	int fd;
	/* writes, zeros and resizes that were asked for */
	unsigned calls;
	/* bytes that were written */
	uint64_t bytes;
	/* bytes that were zeroed */
	uint64_t zeroed;
	/* the call of that number fails; 0: none */
	unsigned fail_at;
	/* of the last write */
	uint64_t last_offset;
	size_t last_length;
	bool last_was_write;
	bool closed;
};

/* fd stays the caller's; -1: what is written is dropped. The store lies in
 * *store: closing frees nothing. */
void test_store_init(struct test_store *store, int fd);

/* A file that is gone when it is closed. */
int test_store_scratch(void);

/* The file of a descriptor, opened by its path. */
struct image_store *open_again(int fd);
/* The descriptor itself, as a target. */
struct image_store *use(int fd);

#endif
