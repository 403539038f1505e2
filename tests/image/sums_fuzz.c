/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a list of digests. A digest that is found stands in the list,
 * and a list in a signed message is found again without what surrounds it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "hash/hash.h"

#define NAME "disk.img"
#define BEFORE "d41d8cd98f00b204e9800998ecf8427e  x\n"
#define BEGIN "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n"
#define END "\n-----BEGIN PGP SIGNATURE-----\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
stands_in(const char *text, size_t size, const struct image_expect *expect)
{
	char hex[2 * IMAGE_DIGEST_MAX + 1];
	size_t length = image_algorithm_length(expect->algorithm);

	for (size_t i = 0; i < length; i++)
		snprintf(hex + 2 * i, 3, "%02x", expect->bytes[i]);
	for (size_t i = 0; i + 2 * length <= size; i++)
		if (strncasecmp(text + i, hex, 2 * length) == 0)
			return true;
	return false;
}

/* Finds the digest in a copy, since the text is changed. */
static int
find(const uint8_t *data, size_t size, const char *before, const char *after,
	struct image_expect *expect)
{
	size_t head = strlen(before), tail = strlen(after);
	struct image_error err;
	char *text = malloc(head + size + tail + 1);

	if (!text)
		abort();
	memcpy(text, before, head);
	memcpy(text + head, data, size);
	memcpy(text + head + size, after, tail);
	int rc = image_sums_find(
		"list", text, head + size + tail, NAME, expect, &err);
	free(text);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_expect found, again;

	int rc = find(data, size, "", "", &found);
	if (rc == 0 && !stands_in((const char *)data, size, &found))
		abort();
	if (memmem(data, size, "PGP", 3) || memmem(data, size, "- ", 2))
		return 0;
	if (find(data, size, BEFORE BEGIN, END, &again) != rc)
		abort();
	if (rc == 0 &&
		(again.algorithm != found.algorithm ||
			memcmp(again.bytes, found.bytes,
				image_algorithm_length(found.algorithm)) != 0))
		abort();
	return 0;
}
