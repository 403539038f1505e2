/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a tar archive, from a file and as a stream: both succeed or both
 * fail, and have the same bytes. What is described as a hole reads as zeros. A
 * stream is also refused if its manifest and description come too late.
 * The checksums of headers are made right first, since few inputs would pass
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "archive/archive.h"
#include "fake_memory.h"
#include "blocks/blocks.h"

/* As much of a member is read, and of a hole. */
#define MOST ((uint64_t)256 << 10)
#define CHUNK ((size_t)4096)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
repair(unsigned char *bytes, size_t size)
{
	for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
		unsigned char *h = bytes + at;
		unsigned sum = 8 * ' ';
		if (memcmp(h + 257, "ustar", 5) != 0)
			continue;
		for (size_t i = 0; i < TAR_BLOCK; i++)
			sum += i < 148 || i >= 156 ? h[i] : 0;
		snprintf((char *)h + 148, 8, "%06o", sum);
		h[155] = ' ';
	}
}

/* A hash of the bytes that were read. */
static uint64_t
mix(uint64_t sum, const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3;
	return sum;
}

static int
visit(struct image_store *store, uint64_t *sum, struct image_error *err)
{
	unsigned char buf[CHUNK];
	uint64_t left = MOST, length;
	bool hole;
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && at < store->size && left;
		at += length) {
		rc = image_store_extent(
			store, at, store->size - at, &length, &hole, err);
		if (rc < 0)
			break;
		if (!length || length > store->size - at)
			abort();
		uint64_t n = length < CHUNK ? length : CHUNK;
		rc = image_store_read(store, at, buf, (size_t)n, err);
		if (rc == 0 && hole && !hone_buffer_is_zero(buf, (size_t)n))
			abort();
		if (rc == 0 && !hole)
			*sum = mix(*sum, buf, (size_t)n);
		length = hole ? length : n;
		left -= n < left ? n : left;
		image_store_release(store, at, n);
	}
	return rc < 0 ? rc : image_store_unchanged(store, err);
}

static int
play(const unsigned char *bytes, size_t size, bool stream, uint64_t *sum,
	struct image_error *err)
{
	const struct image_open how = {.packing = IMAGE_PACKING_AUTO};
	struct image_stream *from;
	struct image_store *store;

	int rc = memory_store_open(bytes, size, "a.tar", &store, err);
	if (rc == 0 && stream) {
		rc = image_stream_of_store(store, &from, err);
		if (rc == 0)
			rc = image_blocks_open(from, 0, &store, err);
	}
	if (rc < 0)
		abort();
	rc = image_unwrap_store(&store, &how, true, err);
	if (rc < 0)
		return rc;
	*sum = mix(store->size, (const unsigned char *)store->name,
		strlen(store->name));
	rc = visit(store, sum, err);
	image_store_close(store);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t file = 0, stream = 0;
	struct image_error err;
	unsigned char *bytes = malloc(size + 1);

	if (!bytes)
		abort();
	memcpy(bytes, data, size);
	repair(bytes, size);
	int rc = play(bytes, size, false, &file, &err);
	int again = play(bytes, size, true, &stream, &err);
	/* A stream knows no description and no part that comes later. */
	bool late = again < 0 &&
		    (strstr(err.text, "cannot be verified as a stream") ||
			    strstr(err.text, "cannot be joined in a stream") ||
			    strstr(err.text, "has no member with the suffix"));
	if (((rc < 0) != (again < 0) && !late) ||
		(again == 0 && file != stream))
		abort();
	free(bytes);
	return 0;
}
