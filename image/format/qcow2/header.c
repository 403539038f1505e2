/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the header of a qcow2 image, and checks every field once. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/qcow2/qcow2.h"

/* Header extensions. */
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

/* Bytes of the header of version 2, and the least of version 3. */
#define LENGTH_2 72
#define LENGTH_3 104

/* The header that is being parsed, from the first `length` bytes of the file,
 * at most one cluster. */
struct parser {
	const unsigned char *raw;
	size_t length;
	const char *name;
	struct qcow2_header *h;
	struct image_error *err;
};

#define BAD(p, ...) image_damaged((p)->err, (p)->name, -EINVAL, __VA_ARGS__)

struct extension {
	uint32_t type;
	uint32_t length;
	const unsigned char *data;
};

/* Set *out to a copy of a name that is 1 to `limit` bytes long. */
static int
parse_name(struct parser *p, const struct extension *e, size_t limit,
	const char *field, char **out)
{
	if (*out)
		return BAD(p, "header has two extensions: %s", field);
	if (e->length == 0 || e->length > limit)
		return BAD(p, "%s has %u bytes, which is not from 1 to %zu",
			field, e->length, limit);
	if (memchr(e->data, 0, e->length))
		return BAD(p, "%s contains a zero byte", field);
	*out = strndup((const char *)e->data, e->length);
	return *out ? 0 : image_no_memory(p->err);
}

static int
parse_feature_names(struct parser *p, const struct extension *e)
{
	struct qcow2_header *h = p->h;

	if (h->features)
		return BAD(p, "header has two extensions: feature name table");
	if (e->length % FEATURE_ROW != 0)
		return BAD(p,
			"feature name table has %s, which is not a multiple of "
			"48",
			IMAGE_COUNT(e->length, "byte"));
	h->features = calloc(64, sizeof(*h->features));
	if (!h->features)
		return image_no_memory(p->err);
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
parse_encryption_header(struct parser *p, const struct extension *e)
{
	if (p->h->encryption_header)
		return BAD(p, "header has two extensions: encryption header");
	if (e->length != ENCRYPTION_BYTES)
		return BAD(p,
			"pointer to the encryption header has %s, which is not "
			"16",
			IMAGE_COUNT(e->length, "byte"));
	p->h->encryption_header = true;
	p->h->encryption_offset = image_be64(e->data);
	p->h->encryption_bytes = image_be64(e->data + 8);
	return 0;
}

/* Bitmaps are not part of the disk: check reports their faults. */
static void
parse_bitmaps(const struct extension *e, struct qcow2_bitmaps *bitmaps)
{
	if (++bitmaps->extensions > 1)
		return;
	bitmaps->length = e->length;
	if (e->length == BITMAPS_BYTES) {
		bitmaps->count = image_be32(e->data);
		bitmaps->directory_bytes = image_be64(e->data + 8);
		bitmaps->directory_offset = image_be64(e->data + 16);
	}
}

static int
parse_extension(struct parser *p, const struct extension *e)
{
	switch (e->type) {
	case BACKING_FORMAT:
		return parse_name(p, e, QCOW2_MAX_FORMAT_NAME,
			"backing file format", &p->h->backing_format);
	case DATA_FILE:
		return parse_name(p, e, QCOW2_MAX_NAME,
			"external data file name", &p->h->data_file);
	case FEATURE_NAMES:
		return parse_feature_names(p, e);
	case ENCRYPTION:
		return parse_encryption_header(p, e);
	case BITMAPS:
		parse_bitmaps(e, &p->h->bitmaps);
		return 0;
	default:
		/* By the specification, other extensions may be ignored. */
		return 0;
	}
}

/* Parse the name of the backing file, and the extensions, which end before it.
 */
static int
parse_extensions(struct parser *p)
{
	size_t at = p->h->length, end = p->length;
	uint64_t backing = image_be64(p->raw + 8);

	if (backing) {
		if (backing < at || backing > end)
			return BAD(p,
				"backing_file_offset 0x%" PRIx64
				" is not from 0x%zx to 0x%zx",
				backing, at, end);
		/* Nothing of the first cluster follows the name. */
		size_t room = end - (size_t)backing;
		struct extension e = {.length = image_be32(p->raw + 16),
			.data = p->raw + backing};
		int rc = parse_name(p, &e,
			room < QCOW2_MAX_NAME ? room : QCOW2_MAX_NAME,
			"backing file name", &p->h->backing_file);
		if (rc < 0)
			return rc;
		end = (size_t)backing;
	}
	while (at <= end && end - at >= HEAD) {
		struct extension e = {image_be32(p->raw + at),
			image_be32(p->raw + at + 4), p->raw + at + HEAD};
		if (e.length > end - at - HEAD)
			return BAD(p,
				"header extension 0x%08x at 0x%zx has %s and "
				"extends past the end of the header at 0x%zx",
				e.type, at, IMAGE_COUNT(e.length, "byte"), end);
		if (e.type == END)
			break;
		int rc = parse_extension(p, &e);
		if (rc < 0)
			return rc;
		at += HEAD + (((size_t)e.length + 7) & ~(size_t)7);
	}
	return 0;
}

static int
parse_version_3(struct parser *p)
{
	struct qcow2_header *h = p->h;

	if (p->length < LENGTH_3)
		return BAD(p, "has %zu bytes, too few for a qcow2 header",
			p->length);
	h->incompatible = image_be64(p->raw + 72);
	h->compatible = image_be64(p->raw + 80);
	h->autoclear = image_be64(p->raw + 88);
	h->refcount_order = image_be32(p->raw + 96);
	h->length = image_be32(p->raw + 100);
	if (h->length < LENGTH_3 || h->length % 8 != 0 || h->length > p->length)
		return BAD(p,
			"header_length %u is not a multiple of 8 from 104 to "
			"%zu",
			h->length, p->length);
	if (h->refcount_order > 6)
		return BAD(p, "refcount_order %u is not from 0 to 6",
			h->refcount_order);
	return 0;
}

/* Fields whose meaning depends on bits of the incompatible features. */
static int
parse_features(struct parser *p)
{
	struct qcow2_header *h = p->h;
	unsigned type = h->length > LENGTH_3 ? p->raw[LENGTH_3] : 0;
	bool flagged = h->incompatible & QCOW2_COMPRESSION_TYPE;

	if (flagged != (type != 0))
		return BAD(p,
			"compression_type %u contradicts bit 3 of "
			"incompatible_features, which is %d",
			type, flagged);
	if (type > 1)
		return image_fail(p->err, p->name, -EINVAL,
			"compression_type %u is neither 0 (zlib) nor 1 (zstd)",
			type);
	h->codec = type ? IMAGE_CODEC_ZSTD : IMAGE_CODEC_ZLIB;
	if ((h->autoclear & QCOW2_DATA_FILE_RAW) &&
		!(h->incompatible & QCOW2_DATA_FILE))
		return BAD(p,
			"bit 1 of autoclear_features is set (raw external data "
			"file), but the image has no external data file");
	if ((h->incompatible & QCOW2_EXTENDED_L2) && h->cluster_bits < 14)
		return BAD(p,
			"cluster_bits %u is less than 14, which extended L2 "
			"entries need",
			h->cluster_bits);
	h->crypt_method = image_be32(p->raw + 32);
	if (h->crypt_method > 2)
		return image_fail(p->err, p->name, -EINVAL,
			"crypt_method %u is not from 0 to 2", h->crypt_method);
	if (h->encryption_header != (h->crypt_method == 2))
		return BAD(p,
			"crypt_method %u contradicts the encryption header, "
			"which is %s",
			h->crypt_method,
			h->encryption_header ? "present" : "absent");
	return 0;
}

static int
parse_tables(struct parser *p)
{
	struct qcow2_header *h = p->h;
	uint32_t clusters = image_be32(p->raw + 56);
	uint64_t needed = qcow2_l1_entries(
		h->size, h->cluster_bits, h->incompatible & QCOW2_EXTENDED_L2);

	h->l1_entries = image_be32(p->raw + 36);
	h->l1_offset = image_be64(p->raw + 40);
	if (h->l1_entries > QCOW2_MAX_L1_BYTES / 8)
		return BAD(
			p, "l1_size %u needs more than 32 MiB", h->l1_entries);
	if (h->l1_entries < needed)
		return BAD(p,
			"l1_size %u is less than the %s that a disk of %s "
			"needs",
			h->l1_entries, IMAGE_COUNT(needed, "entry"),
			IMAGE_COUNT(h->size, "byte"));
	h->refcount_table_offset = image_be64(p->raw + 48);
	h->refcount_table_bytes = (uint64_t)clusters << h->cluster_bits;
	if (clusters == 0)
		return BAD(p, "refcount_table_clusters is 0");
	if (h->refcount_table_bytes > QCOW2_MAX_REFCOUNT_TABLE_BYTES)
		return BAD(p,
			"refcount_table_clusters %u needs more than 8 MiB",
			clusters);
	h->n_snapshots = image_be32(p->raw + 60);
	h->snapshots_offset = image_be64(p->raw + 64);
	if (h->n_snapshots > QCOW2_MAX_SNAPSHOTS)
		return BAD(p, "nb_snapshots %u is more than 65536",
			h->n_snapshots);
	return 0;
}

static int
parse_header(struct parser *p)
{
	struct qcow2_header *h = p->h;

	h->length = LENGTH_2;
	h->refcount_order = 4;
	int rc = h->version == 3 ? parse_version_3(p) : 0;
	if (rc == 0)
		rc = parse_extensions(p);
	if (rc < 0)
		return rc;
	h->size = image_be64(p->raw + 24);
	if (h->size > INT64_MAX)
		return BAD(
			p, "size %" PRIu64 " is larger than any file", h->size);
	/* Unknown features may change the meaning of the fields below. */
	if (h->incompatible & ~QCOW2_KNOWN_INCOMPATIBLE)
		return 0;
	rc = parse_features(p);
	return rc == 0 ? parse_tables(p) : rc;
}

/* The fields that tell how many bytes are read. */
static int
parse_head(struct parser *p)
{
	struct qcow2_header *h = p->h;

	if (p->length < LENGTH_2)
		return image_fail(p->err, p->name, -EINVAL,
			"has %s, too few for a qcow2 header",
			IMAGE_COUNT(p->length, "byte"));
	if (image_be32(p->raw) != QCOW2_MAGIC)
		return image_fail(p->err, p->name, -EINVAL,
			"is not a qcow2 image (first bytes %02x %02x %02x "
			"%02x)",
			p->raw[0], p->raw[1], p->raw[2], p->raw[3]);
	h->version = image_be32(p->raw + 4);
	if (h->version != 2 && h->version != 3)
		return image_fail(p->err, p->name, -EINVAL,
			"version %u of qcow2 is neither 2 nor 3", h->version);
	h->cluster_bits = image_be32(p->raw + 20);
	if (h->cluster_bits < QCOW2_MIN_CLUSTER_BITS ||
		h->cluster_bits > QCOW2_MAX_CLUSTER_BITS)
		return BAD(p, "cluster_bits %u is not from 9 to 21",
			h->cluster_bits);
	return 0;
}

int
qcow2_header_read(struct image_store *store, struct qcow2_header *h,
	struct image_error *err)
{
	struct parser p = {store->head, 0, store->name, h, err};

	*h = (struct qcow2_header){0};
	int rc = image_store_head(store, err);
	p.length = store->head_length;
	if (rc == 0)
		rc = parse_head(&p);
	if (rc < 0)
		return rc;
	p.length = (size_t)1 << h->cluster_bits;
	if (p.length > store->size)
		p.length = (size_t)store->size;
	unsigned char *raw = malloc(p.length);
	if (!raw)
		return image_no_memory(err);
	p.raw = raw;
	rc = image_store_read(store, 0, raw, p.length, err);
	if (rc == 0)
		rc = parse_header(&p);
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
