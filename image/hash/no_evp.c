/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces evp.c in a build without libcrypto. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include "hash/hash.h"

const char *
image_digest_library(void)
{
	return NULL;
}

int
image_hash_create(struct image_hash **out,
	const struct image_algorithm *algorithm, struct image_error *err)
{
	*out = NULL;
	return image_fail(err, NULL, -ENOTSUP,
		"%s needs OpenSSL's libcrypto, which this hone was built "
		"without: install libssl-dev, then build with "
		"-Dlibcrypto=enabled",
		algorithm->name);
}

void
image_hash_destroy(struct image_hash *hash)
{
	assert(!hash);
	(void)hash;
}

/* There is no hash to call these with. */
int
image_hash_add(struct image_hash *hash, const void *bytes, size_t length,
	struct image_error *err)
{
	(void)hash;
	(void)bytes;
	(void)length;
	(void)err;
	return -ENOTSUP;
}

int
image_hash_end(
	struct image_hash *hash, unsigned char *digest, struct image_error *err)
{
	(void)hash;
	(void)digest;
	(void)err;
	return -ENOTSUP;
}

int
image_hash_once(const struct image_hash *hash, const void *bytes, size_t length,
	unsigned char *digest, struct image_error *err)
{
	(void)hash;
	(void)bytes;
	(void)length;
	(void)digest;
	(void)err;
	return -ENOTSUP;
}
