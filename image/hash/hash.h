/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HASH_H
#define HONE_IMAGE_HASH_H
/*
 * Digests of bytes, by the library that the build has. Any thread may use a
 * hash, one thread at a time.
 *
 *   algorithms.c  the rows of algorithms.def
 *   evp.c         digests by OpenSSL; no_evp.c: a build without OpenSSL
 *   expect.c      the digest of an image in a list of --expect-file
 *   sums.c        lists such as SHA256SUMS; line.c: a line of one
 */
#include "error.h"

struct image_algorithm {
	/* lower case */
	const char *name;
	/* as GNU coreutils print it */
	const char *tag;
	/* of other tools, with blanks between them */
	const char *other_tags;
	/* in OpenSSL */
	const char *evp;
	/* bytes of a digest */
	size_t length;
};

struct image_hash;

/*
 * On success the caller destroys *out; on failure *out is NULL.
 * Returns -ENOTSUP if the build or the library does not have the algorithm.
 */
int image_hash_create(struct image_hash **out,
	const struct image_algorithm *algorithm, struct image_error *err);
/* NULL is allowed. */
void image_hash_destroy(struct image_hash *hash);

/* Begin a digest; what was added before is forgotten. */
int image_hash_begin(struct image_hash *hash, struct image_error *err);
int image_hash_add(struct image_hash *hash, const void *bytes, size_t length,
	struct image_error *err);
/* Set digest, of image_algorithm.length bytes. */
int image_hash_end(struct image_hash *hash, unsigned char *digest,
	struct image_error *err);

/*
 * Set digest to that of these bytes alone. Any number of threads may call this
 * with one hash at a time.
 */
int image_hash_once(const struct image_hash *hash, const void *bytes,
	size_t length, unsigned char *digest, struct image_error *err);

#endif
