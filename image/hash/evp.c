/* SPDX-License-Identifier: BSD-3-Clause */
/* Digests by EVP of OpenSSL's libcrypto. */
#include <errno.h>
#include <stdlib.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include "hash/hash.h"
#include "loaded.h"

static struct {
#define IMAGE_LOADED(prefix, name) __typeof__(prefix##name) *name;
#include "hash/libcrypto.def"
#undef IMAGE_LOADED
} libcrypto;

static const struct image_loaded_function wanted[] = {
#define IMAGE_LOADED(prefix, name) IMAGE_LOADED_FUNCTION(prefix##name),
#include "hash/libcrypto.def"
#undef IMAGE_LOADED
	{NULL, NULL},
};

struct image_hash {
	EVP_MD *md;
	EVP_MD_CTX *context;
};

/*
 * The default library context fails without a report if there is not enough
 * memory, and reads openssl.cnf, which may replace algorithms. This one is kept
 * until the process ends: OSSL_LIB_CTX_free() of OpenSSL 3.0 may wait for
 * itself if there is not enough memory.
 */
static OSSL_LIB_CTX *context;

/* Without memory, context stays NULL. */
static int
evp_begin(struct image_error *err)
{
	const uint64_t options =
		OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT;

	(void)err;
	if (libcrypto.OPENSSL_init_crypto(options, NULL) == 1)
		context = libcrypto.OSSL_LIB_CTX_new();
	return 0;
}

static struct image_loaded library = {.file = "libcrypto.so.3",
	.package = "libssl3",
	.wanted = wanted,
	.functions = &libcrypto,
	.begin = evp_begin,
	.lock = PTHREAD_MUTEX_INITIALIZER};

const char *
image_digest_library(void)
{
	struct image_error err;

	return image_load(&library, &err) == 0
		       ? libcrypto.OpenSSL_version(OPENSSL_VERSION_STRING)
		       : NULL;
}

/* EVP has no other reason to fail once the algorithm was found. */
static int
check(int ok, struct image_error *err)
{
	return ok == 1 ? 0 : image_no_memory(err);
}

int
image_hash_create(struct image_hash **out,
	const struct image_algorithm *algorithm, struct image_error *err)
{
	struct image_hash *hash = calloc(1, sizeof(*hash));

	*out = NULL;
	if (!hash)
		return image_no_memory(err);
	int rc = image_load(&library, err);
	if (rc < 0) {
		free(hash);
		return rc;
	}
	if (context)
		hash->context = libcrypto.EVP_MD_CTX_new();
	if (!hash->context) {
		free(hash);
		return image_no_memory(err);
	}
	hash->md = libcrypto.EVP_MD_fetch(context, algorithm->evp, NULL);
	if (!hash->md) {
		image_hash_destroy(hash);
		return image_fail(err, NULL, -ENOTSUP,
			"OpenSSL %s does not have %s, or there is not enough "
			"memory",
			image_digest_library(), algorithm->name);
	}
	rc = check(libcrypto.EVP_DigestInit_ex(hash->context, hash->md, NULL),
		err);
	if (rc < 0)
		image_hash_destroy(hash);
	else
		*out = hash;
	return rc;
}

void
image_hash_destroy(struct image_hash *hash)
{
	if (!hash)
		return;
	libcrypto.EVP_MD_CTX_free(hash->context);
	libcrypto.EVP_MD_free(hash->md);
	free(hash);
}

int
image_hash_add(struct image_hash *hash, const void *bytes, size_t length,
	struct image_error *err)
{
	return check(
		libcrypto.EVP_DigestUpdate(hash->context, bytes, length), err);
}

int
image_hash_end(
	struct image_hash *hash, unsigned char *digest, struct image_error *err)
{
	return check(
		libcrypto.EVP_DigestFinal_ex(hash->context, digest, NULL), err);
}

int
image_hash_once(const struct image_hash *hash, const void *bytes, size_t length,
	unsigned char *digest, struct image_error *err)
{
	return check(libcrypto.EVP_Digest(
			     bytes, length, digest, NULL, hash->md, NULL),
		err);
}
