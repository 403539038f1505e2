/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The small files of an OCI layout, as of "OCI Image Format Specification" 1.1:
 *
 *	index.json --> manifest --> config (the digest of what is packed)
 *	                       \--> layer
 *
 * Nothing in them has a time: the same disk gives the same bytes.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "format/packed/packed.h"
#include "store/oci/oci.h"

#define OCI "application/vnd.oci."
#define MANIFEST_TYPE OCI "image.manifest.v1+json"
#define DISK "application/vnd.kubevirt.disk.raw+zstd"
#define DESCRIPTOR                                                             \
	"{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":%" PRIu64
#define DIGITS 65

enum { LAYER, CONFIG, MANIFEST, INDEX, VERSION };

static void
name_blob(struct image_layout_file *file, const char *digits)
{
	snprintf(file->name, IMAGE_LAYOUT_NAME, "blobs/sha256/%s", digits);
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
		name_blob(file, image_hash_text(digest, 32, digits));
	return rc;
}

/* Copy a word of a platform. Returns what is behind it, or NULL if it is not
 * one. */
static const char *
take_word(const char *text, char *word)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-");

	if (length == 0 || length >= PACKED_WORD ||
		(text[length] && text[length] != '/'))
		return NULL;
	snprintf(word, PACKED_WORD, "%.*s", (int)length, text);
	return text + length + (text[length] == '/');
}

int
packed_layout_platform(
	struct packed_layer *layer, const char *name, struct image_error *err)
{
	const char *platform = layer->how->platform ? layer->how->platform
						    : oci_this_platform();

	const char *rest = take_word(platform, layer->os);
	if (rest)
		rest = take_word(rest, layer->architecture);
	if (rest && *rest)
		rest = take_word(rest, layer->variant);
	if (rest && !*rest)
		return 0;
	return image_fail(err, name, -EINVAL,
		"cannot have the platform '%.100s'", platform);
}

static int
set_config(struct packed_layer *layer, const char *archive, char *digits,
	struct image_error *err)
{
	struct image_layout_file *file = &layer->layout.files[CONFIG];
	bool has_variant = layer->variant[0];

	if (!layer->how->container)
		return set_blob(layer, file,
			snprintf(file->text, IMAGE_LAYOUT_TEXT, "{}"), digits,
			err);
	int length = snprintf(file->text, IMAGE_LAYOUT_TEXT,
		"{\"architecture\":\"%s\",\"os\":\"%s\",%s%s%s\"config\":{},"
		"\"rootfs\":{\"type\":\"layers\","
		"\"diff_ids\":[\"sha256:%s\"]}}",
		oci_docker_name(layer->architecture), layer->os,
		has_variant ? "\"variant\":\"" : "", layer->variant,
		has_variant ? "\"," : "", archive);
	return set_blob(layer, file, length, digits, err);
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

int
packed_layout_fill(struct packed_layer *layer, const char *blob,
	const char *archive, struct image_error *err)
{
	char config[DIGITS], manifest[DIGITS];

	name_blob(&layer->layout.files[LAYER], blob);
	int rc = set_config(layer, archive, config, err);
	if (rc == 0)
		rc = set_manifest(layer, config, blob, manifest, err);
	if (rc == 0)
		set_index(layer, manifest);
	return rc;
}

int
packed_layout_archive(const struct packed_sink *s, struct image_error *err)
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
