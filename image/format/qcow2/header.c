/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the header of a qcow2 image, and checks every field once. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/qcow2/qcow2.h"

/* Header extensions, and the name of the backing file. */

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
			"feature name table has %s, which is not a multiple of "
			"48",
			IMAGE_COUNT(e->length, "byte"));
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
parse_encryption_header(const struct extension *e, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	if (h->encryption_header)
		return image_damaged(err, name, -EINVAL,
			"header has two extensions: encryption header");
	if (e->length != ENCRYPTION_BYTES)
		return image_damaged(err, name, -EINVAL,
			"pointer to the encryption header has %s, which is not "
			"16",
			IMAGE_COUNT(e->length, "byte"));
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
		return parse_encryption_header(e, name, h, err);
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
				"header extension 0x%08" PRIx32
				" at 0x%zx has %s and extends past the end of "
				"the header at 0x%zx",
				e.type, at, IMAGE_COUNT(e.length, "byte"), end);
		if (e.type == END)
			break;
		int rc = parse_extension(&e, name, h, err);
		if (rc < 0)
			return rc;
		at += HEAD + (((size_t)e.length + 7) & ~(size_t)7);
	}
	return 0;
}

/*
 * Read the header's extensions and the name of the backing file from the first
 * `length` bytes of the file, at most one cluster.
 */
static int
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

/* Bytes of the header of version 2, and the least of version 3. */
#define LENGTH_2 72
#define LENGTH_3 104

static int
parse_cluster_bits(const unsigned char *raw, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	if (image_be32(raw) != QCOW2_MAGIC)
		return image_fail(err, name, -EINVAL,
			"is not a qcow2 image (first bytes %02x %02x %02x "
			"%02x)",
			raw[0], raw[1], raw[2], raw[3]);
	h->version = image_be32(raw + 4);
	if (h->version != 2 && h->version != 3)
		return image_fail(err, name, -EINVAL,
			"version %" PRIu32 " of qcow2 is neither 2 nor 3",
			h->version);
	h->cluster_bits = image_be32(raw + 20);
	if (h->cluster_bits < QCOW2_MIN_CLUSTER_BITS ||
		h->cluster_bits > QCOW2_MAX_CLUSTER_BITS)
		return image_damaged(err, name, -EINVAL,
			"cluster_bits %u is not from 9 to 21", h->cluster_bits);
	return 0;
}

/* The fields that version 3 added. Length: bytes at raw. */
static int
parse_version_3(const unsigned char *raw, size_t length, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	if (length < LENGTH_3)
		return image_damaged(err, name, -EINVAL,
			"has %zu bytes, too few for a qcow2 header", length);
	h->incompatible = image_be64(raw + 72);
	h->compatible = image_be64(raw + 80);
	h->autoclear = image_be64(raw + 88);
	h->refcount_order = image_be32(raw + 96);
	h->length = image_be32(raw + 100);
	if (h->length < LENGTH_3 || h->length % 8 != 0 || h->length > length)
		return image_damaged(err, name, -EINVAL,
			"header_length %" PRIu32 " is not a multiple of 8 from "
			"104 to %zu",
			h->length, length);
	if (h->refcount_order > 6)
		return image_damaged(err, name, -EINVAL,
			"refcount_order %u is not from 0 to 6",
			h->refcount_order);
	return 0;
}

/* Fields whose meaning depends on bits of the incompatible features. */
static int
parse_features(const unsigned char *raw, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	unsigned type = h->length > LENGTH_3 ? raw[LENGTH_3] : 0;
	bool flagged = h->incompatible & QCOW2_COMPRESSION_TYPE;

	if (flagged != (type != 0))
		return image_damaged(err, name, -EINVAL,
			"compression_type %u contradicts bit 3 of "
			"incompatible_features, which is %d",
			type, flagged);
	if (type > 1)
		return image_fail(err, name, -EINVAL,
			"compression_type %u is neither 0 (zlib) nor 1 (zstd)",
			type);
	h->codec = type ? IMAGE_CODEC_ZSTD : IMAGE_CODEC_ZLIB;
	if ((h->autoclear & QCOW2_DATA_FILE_RAW) &&
		!(h->incompatible & QCOW2_DATA_FILE))
		return image_damaged(err, name, -EINVAL,
			"bit 1 of autoclear_features is set (raw external data "
			"file), but the image has no external data file");
	if ((h->incompatible & QCOW2_EXTENDED_L2) && h->cluster_bits < 14)
		return image_damaged(err, name, -EINVAL,
			"cluster_bits %u is less than 14, which extended L2 "
			"entries need",
			h->cluster_bits);
	return 0;
}

static int
parse_encryption(const unsigned char *raw, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	h->crypt_method = image_be32(raw + 32);
	if (h->crypt_method > 2)
		return image_fail(err, name, -EINVAL,
			"crypt_method %" PRIu32 " is not from 0 to 2",
			h->crypt_method);
	if (h->encryption_header != (h->crypt_method == 2))
		return image_damaged(err, name, -EINVAL,
			"crypt_method %" PRIu32 " contradicts the encryption "
			"header, which is %s",
			h->crypt_method,
			h->encryption_header ? "present" : "absent");
	return 0;
}

uint64_t
qcow2_l1_entries(const struct qcow2_header *h, uint64_t size)
{
	/* an L2 table is one cluster of entries of 8 or 16 bytes */
	unsigned l2_bits =
		h->cluster_bits - (h->incompatible & QCOW2_EXTENDED_L2 ? 4 : 3);
	unsigned bits = h->cluster_bits + l2_bits;
	return (size >> bits) + ((size & ((UINT64_C(1) << bits) - 1)) != 0);
}

static int
parse_l1(const unsigned char *raw, const char *name, struct qcow2_header *h,
	struct image_error *err)
{
	h->l1_entries = image_be32(raw + 36);
	h->l1_offset = image_be64(raw + 40);
	if (h->l1_entries > QCOW2_MAX_L1_BYTES / 8)
		return image_damaged(err, name, -EINVAL,
			"l1_size %" PRIu32 " needs more than 32 MiB",
			h->l1_entries);

	uint64_t needed = qcow2_l1_entries(h, h->size);
	if (h->l1_entries < needed)
		return image_damaged(err, name, -EINVAL,
			"l1_size %" PRIu32
			" is less than the %s that a disk of %s needs",
			h->l1_entries, IMAGE_COUNT(needed, "entry"),
			IMAGE_COUNT(h->size, "byte"));
	return 0;
}

static int
parse_refcount_table(const unsigned char *raw, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	uint32_t clusters = image_be32(raw + 56);

	h->refcount_table_offset = image_be64(raw + 48);
	h->refcount_table_bytes = (uint64_t)clusters << h->cluster_bits;
	if (clusters == 0)
		return image_damaged(
			err, name, -EINVAL, "refcount_table_clusters is 0");
	if (h->refcount_table_bytes > QCOW2_MAX_REFCOUNT_TABLE_BYTES)
		return image_damaged(err, name, -EINVAL,
			"refcount_table_clusters %" PRIu32 " needs more than "
			"8 MiB",
			clusters);
	return 0;
}

static int
parse_snapshot_table(const unsigned char *raw, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	h->n_snapshots = image_be32(raw + 60);
	h->snapshots_offset = image_be64(raw + 64);
	if (h->n_snapshots > QCOW2_MAX_SNAPSHOTS)
		return image_damaged(err, name, -EINVAL,
			"nb_snapshots %" PRIu32 " is more than 65536",
			h->n_snapshots);
	return 0;
}

static int
parse_header(const unsigned char *raw, size_t length, const char *name,
	struct qcow2_header *h, struct image_error *err)
{
	h->length = LENGTH_2;
	h->refcount_order = 4;
	int rc = 0;
	if (h->version == 3)
		rc = parse_version_3(raw, length, name, h, err);
	if (rc == 0)
		rc = qcow2_parse_extensions(raw, length, name, h, err);
	if (rc < 0)
		return rc;
	h->size = image_be64(raw + 24);
	if (h->size > INT64_MAX)
		return image_damaged(err, name, -EINVAL,
			"size %" PRIu64 " is larger than any file", h->size);
	/* Unknown features may change the meaning of the fields below. */
	if (h->incompatible & ~QCOW2_KNOWN_INCOMPATIBLE)
		return 0;
	rc = parse_features(raw, name, h, err);
	if (rc == 0)
		rc = parse_encryption(raw, name, h, err);
	if (rc == 0)
		rc = parse_l1(raw, name, h, err);
	if (rc == 0)
		rc = parse_refcount_table(raw, name, h, err);
	if (rc == 0)
		rc = parse_snapshot_table(raw, name, h, err);
	return rc;
}

int
qcow2_header_read(struct image_store *store, struct qcow2_header *h,
	struct image_error *err)
{
	*h = (struct qcow2_header){0};
	int rc = image_store_head(store, err);
	if (rc < 0)
		return rc;
	if (store->head_length < LENGTH_2)
		return image_fail(err, store->name, -EINVAL,
			"has %s, too few for a qcow2 header",
			IMAGE_COUNT(store->head_length, "byte"));
	rc = parse_cluster_bits(store->head, store->name, h, err);
	if (rc < 0)
		return rc;

	size_t length = (size_t)1 << h->cluster_bits;
	if (length > store->size)
		length = (size_t)store->size;
	unsigned char *raw = malloc(length);
	if (!raw)
		return image_no_memory(err);
	rc = image_store_read(store, 0, raw, length, err);
	if (rc == 0)
		rc = parse_header(raw, length, store->name, h, err);
	free(raw);
	return rc;
}

void
qcow2_header_destroy(struct qcow2_header *h)
{
	free(h->backing_file);
	free(h->backing_format);
	free(h->data_file);
	free(h->features);
}

void
qcow2_feature_name(
	const struct qcow2_header *h, unsigned bit, char *text, size_t size)
{
	if (h->features && h->features[bit][0])
		snprintf(text, size, "'%s' (bit %u)", h->features[bit], bit);
	else
		snprintf(text, size, "bit %u", bit);
}

int
qcow2_header_supported(
	const struct qcow2_header *h, const char *name, struct image_error *err)
{
	uint64_t unknown = h->incompatible & ~QCOW2_KNOWN_INCOMPATIBLE;
	char feature[QCOW2_FEATURE_NAME + 32];

	if (unknown) {
		qcow2_feature_name(h, (unsigned)__builtin_ctzll(unknown),
			feature, sizeof(feature));
		return image_fail(err, name, -ENOTSUP,
			"uses the incompatible feature %s, which this release "
			"does not support",
			feature);
	}
	if (h->incompatible & QCOW2_CORRUPT)
		return image_damaged(err, name, -ENOTSUP,
			"is marked corrupt (bit 1 of incompatible_features); "
			"\"qemu-img check -r all\" may repair the image");
	if (h->crypt_method) {
		/* The message has a command that serves the image decrypted. */
		const char *method = h->crypt_method == 1 ? "aes" : "luks";

		return image_fail(err, name, -ENOTSUP,
			"is encrypted (%s); \"qemu-nbd --read-only -c "
			"/dev/nbd0 --object secret,id=key,file=PASSPHRASE "
			"--image-opts "
			"driver=qcow2,encrypt.format=%s,encrypt.key-secret=key,"
			"file.filename=IMAGE\" serves it decrypted as "
			"/dev/nbd0",
			method, method);
	}
	return 0;
}
