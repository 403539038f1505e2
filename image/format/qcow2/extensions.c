/* SPDX-License-Identifier: BSD-3-Clause */
/* Header extensions, and the name of the backing file. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "format/qcow2/header.h"

#define END 0x00000000u
#define BACKING_FORMAT 0xe2792acau
#define FEATURE_NAMES 0x6803f857u
#define BITMAPS 0x23852875u
#define ENCRYPTION 0x0537be77u
#define DATA_FILE 0x44415441u

/* Bytes of an extension's type and length, and of a row of feature names. */
#define HEAD 8
#define FEATURE_ROW 48

/* Bytes of the extensions that have a fixed length. */
#define BITMAPS_BYTES 24
#define ENCRYPTION_BYTES 16

struct extension {
	uint32_t type;
	uint32_t length;
	const unsigned char *data;
};

/* Set *out to a copy of a name that is 1 to `limit` bytes long. */
static int
parse_name(const unsigned char *at, uint32_t length, uint32_t limit,
	const char *field, const char *name, char **out,
	struct image_error *err)
{
	if (*out)
		return image_damaged(err, name, -EINVAL,
			"header has two extensions: %s", field);
	if (length == 0 || length > limit)
		return image_damaged(err, name, -EINVAL,
			"%s has %" PRIu32 " bytes, which is not from 1 to "
			"%" PRIu32,
			field, length, limit);
	if (memchr(at, 0, length))
		return image_damaged(
			err, name, -EINVAL, "%s contains a zero byte", field);
	*out = strndup((const char *)at, length);
	return *out ? 0 : image_no_memory(err);
}

static int
parse_feature_names(const struct extension *e, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	if (h->features)
		return image_damaged(err, name, -EINVAL,
			"header has two extensions: feature name table");
	if (e->length % FEATURE_ROW != 0)
		return image_damaged(err, name, -EINVAL,
			"feature name table has %" PRIu32 " %s, which is "
			"not a multiple of 48",
			e->length, image_plural(e->length, "byte", "bytes"));
	h->features = calloc(64, sizeof(*h->features));
	if (!h->features)
		return image_no_memory(err);
	for (uint32_t at = 0; at < e->length; at += FEATURE_ROW) {
		const unsigned char *row = e->data + at;
		/* type 0: incompatible features; other unknown features are
		 * ignored */
		if (row[0] == 0 && row[1] < 64)
			memcpy(h->features[row[1]], row + 2,
				QCOW2_FEATURE_NAME);
	}
	return 0;
}

static int
parse_encryption(const struct extension *e, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	if (h->encryption_header)
		return image_damaged(err, name, -EINVAL,
			"header has two extensions: encryption header");
	if (e->length != ENCRYPTION_BYTES)
		return image_damaged(err, name, -EINVAL,
			"pointer to the encryption header has %" PRIu32
			" %s, which is not 16",
			e->length, image_plural(e->length, "byte", "bytes"));
	h->encryption_header = true;
	h->encryption_offset = image_be64(e->data);
	h->encryption_bytes = image_be64(e->data + 8);
	return 0;
}

/* Bitmaps are not part of the disk: check reports their faults. */
static void
parse_bitmaps(const struct extension *e, struct qcow2_header *h)
{
	if (++h->bitmaps.extensions > 1)
		return;
	h->bitmaps.length = e->length;
	if (e->length == BITMAPS_BYTES) {
		h->bitmaps.count = image_be32(e->data);
		h->bitmaps.directory_bytes = image_be64(e->data + 8);
		h->bitmaps.directory_offset = image_be64(e->data + 16);
	}
}

static int
parse_extension(const struct extension *e, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	switch (e->type) {
	case BACKING_FORMAT:
		return parse_name(e->data, e->length, QCOW2_MAX_FORMAT_NAME,
			"backing file format", name, &h->backing_format, err);
	case DATA_FILE:
		return parse_name(e->data, e->length, QCOW2_MAX_NAME,
			"external data file name", name, &h->data_file, err);
	case FEATURE_NAMES:
		return parse_feature_names(e, name, h, err);
	case ENCRYPTION:
		return parse_encryption(e, name, h, err);
	case BITMAPS:
		parse_bitmaps(e, h);
		return 0;
	default:
		/* By the specification, other extensions may be ignored. */
		return 0;
	}
}

/* Walk the extensions from the end of the header to `end`. */
static int
parse_area(const unsigned char *raw, size_t end, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	size_t at = h->length;

	while (at <= end && end - at >= HEAD) {
		struct extension e = {image_be32(raw + at),
			image_be32(raw + at + 4), raw + at + HEAD};
		if (e.length > end - at - HEAD)
			return image_damaged(err, name, -EINVAL,
				"header extension 0x%08" PRIx32 " at 0x%zx has "
				"%" PRIu32
				" %s and extends past the end of the "
				"header at 0x%zx",
				e.type, at, e.length,
				image_plural(e.length, "byte", "bytes"), end);
		if (e.type == END)
			break;
		int rc = parse_extension(&e, name, h, err);
		if (rc < 0)
			return rc;
		at += HEAD + (((size_t)e.length + 7) & ~(size_t)7);
	}
	return 0;
}

int
qcow2_parse_extensions(const unsigned char *raw, size_t length,
	const char *name, struct qcow2_header *h, struct image_error *err)
{
	uint64_t backing = image_be64(raw + 8);
	uint32_t size = image_be32(raw + 16);

	if (backing == 0)
		return parse_area(raw, length, name, h, err);
	if (backing < h->length || backing > length)
		return image_damaged(err, name, -EINVAL,
			"backing_file_offset 0x%" PRIx64
			" is not from 0x%" PRIx32 " to 0x%zx",
			backing, h->length, length);
	/* Nothing of the first cluster follows the name. */
	size_t room = length - (size_t)backing;
	int rc = parse_name(raw + backing, size,
		room < QCOW2_MAX_NAME ? (uint32_t)room : QCOW2_MAX_NAME,
		"backing file name", name, &h->backing_file, err);
	if (rc == 0)
		rc = parse_area(raw, (size_t)backing, name, h, err);
	return rc;
}
