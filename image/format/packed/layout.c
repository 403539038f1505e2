/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer of an OCI layout, and its small files, as of "OCI Image Format
 * Specification" 1.1:
 *
 *	index.json --> manifest --> config (the digest of what is packed)
 *	                       \--> layer
 *
 * The bytes of the layer and those that are packed in it pass two hashes in
 * their order, so there is one writer. Nothing has a time: the same disk gives
 * the same bytes.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/packed/packed.h"
#include "store/oci/oci.h"

/* The user qemu of KubeVirt, which refuses disks that others could write to. */
#define OWNER 107
/* of disk/ and of the disk */
#define HEADERS ((size_t)2 * TAR_BLOCK)
/* An archive ends with two blocks of zeros. */
#define END ((uint64_t)2 * TAR_BLOCK)
/* What the archive of a layout has in front of the layer. */
#define FRONT ((uint64_t)3 * TAR_BLOCK)

#define OCI "application/vnd.oci."
#define MANIFEST_TYPE OCI "image.manifest.v1+json"
#define DISK "application/vnd.kubevirt.disk.raw+zstd"
#define DESCRIPTOR                                                             \
	"{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":%" PRIu64
#define BLOB "blobs/sha256/%s"
#define DIGITS 65
#define WORD 64

enum { LAYER, CONFIG, MANIFEST, INDEX, VERSION };

/* Copy a word of a platform. Returns what is behind it, or NULL. */
static const char *
take_word(const char *text, char *word)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-");

	if (length == 0 || length >= WORD ||
		(text[length] && text[length] != '/'))
		return NULL;
	snprintf(word, WORD, "%.*s", (int)length, text);
	return text + length + (text[length] == '/');
}

static int
set_platform(
	struct packed_layer *layer, const char *name, struct image_error *err)
{
	char words[3][WORD] = {""};
	const char *platform = layer->how->platform ? layer->how->platform
						    : oci_this_platform();
	const char *rest = platform, *variant = words[2];

	for (int i = 0; i < 3 && rest && (i < 2 || *rest); i++)
		rest = take_word(rest, words[i]);
	if (!rest || *rest)
		return image_fail(err, name, -EINVAL,
			"cannot have the platform '%.100s'", platform);
	snprintf(layer->platform, sizeof(layer->platform),
		"\"architecture\":\"%s\",\"os\":\"%s\"%s%s%s",
		oci_docker_name(words[1]), words[0],
		*variant ? ",\"variant\":\"" : "", variant,
		*variant ? "\"" : "");
	return 0;
}

static int
hash_open(struct image_hash **hash, struct image_error *err)
{
	return image_hash_create(
		hash, image_algorithm_by_name("sha256", 6), err);
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
	layer->from = how->archive ? FRONT : 0;
	s->base.store->parallel_writes = false;
	if (how->container && s->base.size == IMAGE_SIZE_UNKNOWN)
		return image_fail(err, s->base.store->name, -ENOTSUP,
			"has a layer that begins with the size of the disk, "
			"and the source is read once and has an unknown size; "
			"make a file of it that is not packed, or add "
			"--oci-type artifact");
	int rc = set_platform(layer, s->base.store->name, err);
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

/* The text is set, with this length: set the name and the digits. */
static int
set_blob(const struct packed_layer *layer, struct image_layout_file *file,
	int length, char *digits, struct image_error *err)
{
	unsigned char digest[IMAGE_DIGEST_MAX];

	assert(length > 0 && length < IMAGE_LAYOUT_TEXT);
	int rc = image_hash_once(
		layer->blob, file->text, (size_t)length, digest, err);
	if (rc == 0)
		snprintf(file->name, IMAGE_LAYOUT_NAME, BLOB,
			image_hash_text(digest, 32, digits));
	return rc;
}

static int
set_manifest(struct packed_layer *layer, const char *config, const char *blob,
	char *digits, struct image_error *err)
{
	struct image_layout *l = &layer->layout;
	struct image_layout_file *file = &l->files[MANIFEST];
	bool container = layer->how->container;

	int length = snprintf(file->text, IMAGE_LAYOUT_TEXT,
		"{\"schemaVersion\":2,\"mediaType\":\"" MANIFEST_TYPE "\",%s"
		"\"config\":" DESCRIPTOR "},\"layers\":[" DESCRIPTOR "%s}]}",
		container ? "" : "\"artifactType\":\"" DISK "\",",
		container ? OCI "image.config.v1+json" : OCI "empty.v1+json",
		config, (uint64_t)strlen(l->files[CONFIG].text),
		container ? OCI "image.layer.v1.tar+gzip" : DISK, blob,
		layer->length,
		container
			? ""
			: ",\"annotations\":{\"org.opencontainers.image.title\""
			  ":\"disk.img.zst\"}");
	int rc = set_blob(layer, file, length, digits, err);
	if (rc == 0)
		snprintf(l->manifest, sizeof(l->manifest), "sha256:%s", digits);
	return rc;
}

static void
set_index(struct packed_layer *layer, const char *manifest)
{
	struct image_layout_file *files = layer->layout.files;
	const char *tag = layer->how->tag;

	snprintf(files[INDEX].name, IMAGE_LAYOUT_NAME, "index.json");
	snprintf(files[INDEX].text, IMAGE_LAYOUT_TEXT,
		"{\"schemaVersion\":2,\"mediaType\":\"" OCI
		"image.index.v1+json\",\"manifests\":[" DESCRIPTOR "%s%s%s}]}",
		MANIFEST_TYPE, manifest, (uint64_t)strlen(files[MANIFEST].text),
		tag ? ",\"annotations\":{\"org.opencontainers.image.ref.name\":"
		      "\""
		    : "",
		tag ? tag : "", tag ? "\"}" : "");
	snprintf(files[VERSION].name, IMAGE_LAYOUT_NAME, "oci-layout");
	snprintf(files[VERSION].text, IMAGE_LAYOUT_TEXT,
		"{\"imageLayoutVersion\":\"1.0.0\"}");
}

/* Write the headers in front of the layer and what is behind the layer. */
static int
put_archive(const struct packed_sink *s, struct image_error *err)
{
	const struct packed_layer *layer = s->layer;
	const struct image_layout_file *file = layer->layout.files;
	const struct tar_entry head[] = {
		{"blobs/", '5', 0755, 0, 0},
		{"blobs/sha256/", '5', 0755, 0, 0},
		{file->name, TAR_REGULAR, 0644, 0, layer->length},
	};
	/* a file with its padding, or two blocks of zeros at the end */
	unsigned char bytes[TAR_BLOCK + IMAGE_LAYOUT_TEXT];
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < 3; i++, at += TAR_BLOCK) {
		memset(bytes, 0, TAR_BLOCK);
		tar_put(bytes, &head[i]);
		rc = image_store_write(
			s->base.store, at, bytes, TAR_BLOCK, err);
	}
	at += layer->length + tar_padding(layer->length);
	for (int i = CONFIG; rc == 0 && i <= IMAGE_LAYOUT_FILES; i++) {
		size_t length = TAR_BLOCK;
		memset(bytes, 0, sizeof(bytes));
		if (i < IMAGE_LAYOUT_FILES) {
			length = strlen((++file)->text);
			const struct tar_entry entry = {
				file->name, TAR_REGULAR, 0644, 0, length};
			tar_put(bytes, &entry);
			memcpy(bytes + TAR_BLOCK, file->text, length);
		}
		length += TAR_BLOCK + tar_padding(length);
		rc = image_store_write(s->base.store, at, bytes, length, err);
		at += length;
	}
	return rc;
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
	char blob[DIGITS] = "", archive[DIGITS] = "", config[DIGITS],
	     manifest[DIGITS];

	int rc = end_hash(layer->blob, blob, err);
	if (rc == 0)
		rc = end_hash(layer->archive, archive, err);
	if (rc < 0)
		return rc;
	snprintf(
		layer->layout.files[LAYER].name, IMAGE_LAYOUT_NAME, BLOB, blob);
	struct image_layout_file *file = &layer->layout.files[CONFIG];
	int length = snprintf(file->text, IMAGE_LAYOUT_TEXT,
		layer->how->container
			? "{%s,\"config\":{},\"rootfs\":{\"type\":\"layers\","
			  "\"diff_ids\":[\"sha256:%s\"]}}"
			: "{}",
		layer->platform, archive);
	rc = set_blob(layer, file, length, config, err);
	if (rc == 0)
		rc = set_manifest(layer, config, blob, manifest, err);
	if (rc < 0)
		return rc;
	set_index(layer, manifest);
	return layer->how->archive ? put_archive(s, err) : 0;
}
