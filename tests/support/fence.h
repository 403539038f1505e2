/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_FENCE_H
#define HONE_TESTS_FENCE_H
/*
 * Memory between two unreadable pages: code that reads one byte too many, or
 * one byte too early, faults.
 */
#include <stddef.h>

struct fence {
	unsigned char *start; /* first byte; the one before it faults */
	unsigned char *end;   /* one past the last byte; reading it faults */
	void *map;
	size_t map_size;
};

/* size is rounded up to whole pages; start is aligned to align (a power of two,
 * at least a page). Exits with a message if there is no memory. */
void fence_create(struct fence *f, size_t size, size_t align);
void fence_destroy(struct fence *f);

#endif
