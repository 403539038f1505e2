/* SPDX-License-Identifier: BSD-3-Clause */
/* From the address to the layer that has the disk. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "archive/archive.h"
#include "blocks/blocks.h"
#include "hash/hash.h"
#include "store/address.h"
#include "store/oci/oci.h"
#include "unpack/unpack.h"

/* Debian's registry has no answer for a type that is not named. */
#define ACCEPT                                                                 \
	"Accept: application/vnd.oci.image.manifest.v1+json, "                 \
	"application/vnd.oci.image.index.v1+json, "                            \
	"application/vnd.docker.distribution.manifest.v2+json, "               \
	"application/vnd.docker.distribution.manifest.list.v2+json"

struct registry {
	struct oci_address address;
	char *name;
	const struct image_store_how *how;
	struct oci_wanted wanted;
	struct image_auth *auth;
	struct image_error *err;
};

/* Open a file. Its bytes are verified as they pass, unless expect is NULL. */
static int
request_file(const struct registry *r, const char *kind, const char *reference,
	const struct image_request *request, const struct image_expect *expect,
	struct image_store **out)
{
	struct image_store_how how = *r->how;
	char *url;

	*out = NULL;
	how.request = request;
	how.expected |= expect != NULL;
	if (asprintf(&url, "%s://%s/v2/%s/%s/%s",
		    how.network.plain_http ? "http" : "https", r->address.host,
		    r->address.name, kind, reference) < 0)
		return image_no_memory(r->err);
	int rc = image_http_open(url, &how, out, r->err);
	free(url);
	return rc == 0 && expect
		       ? image_blocks_expect(out, expect, how.memory, r->err)
		       : rc;
}

/* A tag may be that of another manifest tomorrow. */
static int
name_digest(const struct registry *r, const char *text, size_t length)
{
	static const char name[] = "sha256";
	const struct image_algorithm *algorithm =
		image_algorithm_by_name(name, strlen(name));
	char *to = r->auth->registry.manifest;
	unsigned char digest[IMAGE_DIGEST_MAX];
	struct image_hash *hash;

	int rc = image_hash_create(&hash, algorithm, r->err);
	if (rc < 0)
		return rc;
	rc = image_hash_once(hash, text, length, digest, r->err);
	image_hash_destroy(hash);
	to += snprintf(to, OCI_DIGEST, "%s:", name);
	if (rc == 0)
		image_hash_text(digest, algorithm->length, to);
	return rc;
}

static int
read_manifest(const struct registry *r, const char *reference,
	const struct image_expect *expect, uint64_t size,
	struct oci_manifest *manifest)
{
	const struct image_request request = {.name = r->name,
		.accept = ACCEPT,
		.size = size,
		.auth = r->auth};
	struct image_store *store = NULL;
	char *text = NULL;
	size_t length = 0;

	int rc = request_file(
		r, "manifests", reference, &request, expect, &store);
	if (rc == 0 && store)
		rc = image_stream_read_store(
			store, OCI_MANIFEST, &text, &length, r->err);
	if (length > OCI_MANIFEST)
		image_fail(r->err, r->name, rc,
			"its manifest has more than %zu MiB",
			OCI_MANIFEST >> 20);
	if (rc == 0)
		rc = name_digest(r, text, length);
	if (rc == 0)
		rc = oci_manifest_parse(
			text, length, r->name, &r->wanted, manifest, r->err);
	free(text);
	return rc;
}

static int
find_manifest(const struct registry *r, struct oci_manifest *manifest)
{
	const struct oci_address *a = &r->address;

	int rc = read_manifest(r, a->reference,
		a->by_digest ? &a->expect : NULL, IMAGE_SIZE_UNKNOWN, manifest);
	if (rc < 0 || !manifest->index)
		return rc;
	const struct oci_file chosen = manifest->files[0];
	memcpy(r->auth->registry.platform, manifest->platform,
		sizeof(manifest->platform));
	oci_manifest_free(manifest);
	rc = read_manifest(
		r, chosen.digest, &chosen.expect, chosen.size, manifest);
	return rc == 0 && manifest->index
		       ? image_fail(r->err, r->name, -EINVAL,
				 "is an index of an index, which is not read")
		       : rc;
}

static int
open_layer(const struct registry *r, const struct oci_file *file,
	struct image_store **out)
{
	char *name;

	*out = NULL;
	if (asprintf(&name, "%s: %s", r->name, file->name) < 0)
		return image_no_memory(r->err);
	const struct image_request request = {
		.name = name, .size = file->size, .auth = r->auth};
	int rc = request_file(
		r, "blobs", file->digest, &request, &file->expect, out);
	free(name);
	if (rc != 0)
		return rc;
	assert(*out);
	snprintf(r->auth->registry.layer, OCI_DIGEST, "%s", file->digest);
	(*out)->registry = &r->auth->registry;
	(*out)->layer = file->layer;
	return rc;
}

static int
walk(const struct registry *r, struct image_store *store, bool *found)
{
	struct tar tar = {.store = store};
	struct tar_member file;
	bool more = true, hidden = false;
	int rc = 0;

	while (rc == 0 && more && !*found) {
		rc = tar_next(&tar, &file, r->err);
		more = rc == 0 && file.name;
		*found = more && archive_is_disk(&file, r->wanted.member);
		hidden = hidden || (more && archive_hides_disk(&file));
		tar_free(&file);
	}
	if (rc == 0 && !*found && hidden && !r->wanted.member)
		return image_fail(r->err, store->name, -ENOTSUP,
			"removes a disk of the layers below; --member NAME "
			"chooses one");
	return rc == 0 && !*found ? image_store_unchanged(store, r->err) : rc;
}

/* Look for the image in a layer, which is read to its end if it has none. */
static int
search(const struct registry *r, const struct oci_file *file, bool *found)
{
	const struct image_open how = {.inspect = true,
		.max_size = r->how->max_size,
		.memory = r->how->memory};
	struct image_store *store;
	struct image_error other;

	int rc = open_layer(r, file, &store);
	if (rc == 0)
		rc = image_unpack_store(&store, &how, r->err);
	if (rc != 0)
		return rc;
	assert(store);
	rc = walk(r, store, found);
	if (rc < 0 && image_store_unchanged(store, &other) < 0 && other.refused)
		*r->err = other;
	image_store_close(store);
	return rc;
}

int
image_oci_open(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	struct oci_manifest manifest = {.files = NULL};
	struct registry r = {.name = image_address_name(address),
		.how = how,
		.wanted = {how->network.platform, how->network.annotation,
			how->member},
		.err = err};

	*out = NULL;
	if (!r.name)
		return image_no_memory(err);
	const char *why = oci_address_parse(&r.address, address);
	int rc = why ? image_fail(err, r.name, -EINVAL,
			       "is not a valid address: %s", why)
		     : oci_auth_create(
			       &r.address, r.name, &how->network, &r.auth, err);
	if (rc == 0)
		rc = find_manifest(&r, &manifest);
	/* The image is in the last layer if it is in none of the others. */
	size_t i = 0;
	for (bool found = false; rc == 0 && i + 1 < manifest.count; i++) {
		rc = search(&r, &manifest.files[i], &found);
		if (found)
			break;
	}
	if (rc == 0)
		rc = open_layer(&r, &manifest.files[i], out);
	oci_manifest_free(&manifest);
	image_auth_drop(r.auth);
	free(r.name);
	return rc;
}
