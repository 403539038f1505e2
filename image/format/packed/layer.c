/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer of an OCI layout. Its bytes and those that are packed in it pass
 * two hashes in their order, so there is one writer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/packed/packed.h"

/* The user qemu of KubeVirt, which refuses disks that others could write to. */
#define OWNER 107
/* of disk/ and of the disk */
#define HEADERS ((size_t)2 * TAR_BLOCK)
/* An archive ends with two blocks of zeros. */
#define END ((uint64_t)2 * TAR_BLOCK)

static int
hash_open(struct image_hash **hash, struct image_error *err)
{
	int rc = image_hash_create(
		hash, image_algorithm_by_name("sha256", 6), err);

	return rc < 0 ? rc : image_hash_begin(*hash, err);
}

int
packed_layer_open(struct packed_sink *s, const struct image_layout_how *how,
	struct image_error *err)
{
	struct packed_layer *layer = calloc(1, sizeof(*layer));

	if (!layer)
		return image_no_memory(err);
	s->layer = layer;
	layer->how = how;
	layer->from = how->archive ? PACKED_LAYOUT_FROM : 0;
	s->base.store->parallel_writes = false;
	if (how->container && s->base.size == IMAGE_SIZE_UNKNOWN)
		return image_fail(err, s->base.store->name, -ENOTSUP,
			"has a layer that begins with the size of the disk, "
			"and the source is a stream of unknown size; make a "
			"file of it first, or add --oci-type artifact");
	int rc = packed_layout_platform(layer, s->base.store->name, err);
	if (rc == 0)
		rc = hash_open(&layer->blob, err);
	if (rc == 0 && how->container)
		rc = hash_open(&layer->archive, err);
	return rc;
}

void
packed_layer_close(struct packed_layer *layer)
{
	if (!layer)
		return;
	image_hash_destroy(layer->blob);
	image_hash_destroy(layer->archive);
	free(layer);
}

int
packed_layer_begin(struct packed_sink *s, struct image_error *err)
{
	const struct tar_entry folder = {"disk/", '5', 0755, OWNER, 0};
	const struct tar_entry disk = {
		"disk/disk.img", TAR_REGULAR, 0440, OWNER, s->base.size};
	unsigned char headers[HEADERS] = {0}, out[IMAGE_PACK_ROOM(HEADERS)];
	struct image_packed part = {.length = HEADERS};
	struct image_scratch scratch = {0};

	if (!s->layer->archive)
		return 0;
	tar_put(headers, &folder);
	tar_put(headers + TAR_BLOCK, &disk);
	int rc = image_pack(&s->base.codec, &scratch, headers, out, sizeof(out),
		&part, err);
	image_scratch_destroy(&scratch);
	if (rc == 0)
		rc = packed_layer_add(s->layer, 0, headers, HEADERS, err);
	if (rc == 0)
		rc = s->kind->note(s, 0, &part, err);
	if (rc == 0)
		rc = packed_write(
			s, s->position, out, (size_t)part.stored, err);
	s->position += part.stored;
	return rc;
}

int
packed_layer_add(struct packed_layer *layer, uint64_t zeros, const void *bytes,
	uint64_t length, struct image_error *err)
{
	static const unsigned char zero[16384];
	int rc = 0;

	if (!layer || !layer->archive)
		return 0;
	for (uint64_t n; rc == 0 && zeros; zeros -= n) {
		n = zeros < sizeof(zero) ? zeros : sizeof(zero);
		rc = image_hash_add(layer->archive, zero, (size_t)n, err);
	}
	return rc < 0 || length == 0 ? rc
				     : image_hash_add(layer->archive, bytes,
					       (size_t)length, err);
}

uint64_t
packed_layer_tail(const struct packed_layer *layer)
{
	return layer && layer->archive ? END : 0;
}

/* Set text to the digits of what passed. */
static int
end_hash(struct image_hash *hash, char *text, struct image_error *err)
{
	unsigned char digest[IMAGE_DIGEST_MAX];

	int rc = hash ? image_hash_end(hash, digest, err) : 0;
	if (rc == 0 && hash)
		image_hash_text(digest, 32, text);
	return rc;
}

int
packed_layer_end(struct packed_sink *s, struct image_error *err)
{
	struct packed_layer *layer = s->layer;
	char blob[65] = "", archive[65] = "";

	int rc = end_hash(layer->blob, blob, err);
	if (rc == 0)
		rc = end_hash(layer->archive, archive, err);
	if (rc == 0)
		rc = packed_layout_fill(layer, blob, archive, err);
	return rc == 0 && layer->how->archive ? packed_layout_archive(s, err)
					      : rc;
}
