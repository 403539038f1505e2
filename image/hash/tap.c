/* SPDX-License-Identifier: BSD-3-Clause */
/* The digest of the bytes of a sequence, which has to be that expected. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/blocks.h"
#include "hash/hash.h"

struct expect_tap {
	struct image_tap tap;
	struct image_expect expect;
	struct image_hash *hash;
	char *name;
};

const char *
image_hash_text(const unsigned char *bytes, size_t length, char *text)
{
	for (size_t i = 0; i < length; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

static int
verify(struct expect_tap *t, struct image_error *err)
{
	unsigned char digest[IMAGE_DIGEST_MAX];
	int rc = image_hash_end(t->hash, digest, err);

	return rc == 0 ? image_expect_check(
				 &t->expect, digest, t->name, "the file", err)
		       : rc;
}

static int
expect_see(struct image_tap *tap, const void *bytes, size_t length,
	struct image_error *err)
{
	struct expect_tap *t = (struct expect_tap *)tap;

	return length ? image_hash_add(t->hash, bytes, length, err)
		      : verify(t, err);
}

static void
expect_close(struct image_tap *tap)
{
	struct expect_tap *t = (struct expect_tap *)tap;

	image_hash_destroy(t->hash);
	free(t->name);
	free(t);
}

int
image_tap_expect(const struct image_expect *expect, const char *name,
	struct image_tap **out, struct image_error *err)
{
	struct expect_tap *t = calloc(1, sizeof(*t));
	int rc;

	*out = NULL;
	if (!t)
		return image_no_memory(err);
	t->tap.see = expect_see;
	t->tap.close = expect_close;
	t->expect = *expect;
	t->name = strdup(name);
	rc = t->name ? image_hash_create(&t->hash, expect->algorithm, err)
		     : image_no_memory(err);
	if (rc < 0) {
		expect_close(&t->tap);
		return rc;
	}
	*out = &t->tap;
	return 0;
}

int
image_blocks_expect(struct image_store **store,
	const struct image_expect *expect, uint64_t memory,
	struct image_error *err)
{
	struct image_tap *tap;

	int rc = image_tap_expect(expect, (*store)->name, &tap, err);
	if (rc == 0)
		return image_blocks_once(store, memory, tap, err);
	image_store_close(*store);
	return rc;
}
