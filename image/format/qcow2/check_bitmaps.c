/* SPDX-License-Identifier: BSD-3-Clause */
/* The bitmaps extension: its directory, tables and clusters. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "format/qcow2/check.h"

/* The extension with its head. */
#define EXTENSION_BYTES 24

/* QEMU refuses more. */
#define MAX_BITMAPS 65535
#define MAX_NAME 1023
#define MAX_DIRECTORY_BYTES ((uint64_t)64 << 20)

/* The fixed part of an entry of the directory. */
#define ENTRY_BYTES 24

/* in_use, auto, extra_data_compatible */
#define KNOWN_FLAGS 7u
#define DIRTY_TRACKING 1
#define MIN_GRANULARITY_BITS 9
#define MAX_GRANULARITY_BITS 31

#define OFFSET UINT64_C(0x00fffffffffffe00)
/* an entry without an offset, for bits that are all set */
#define ALL_ONES UINT64_C(1)

static int
visit_table(struct qcow2_check *k, void *opaque, uint64_t index,
	uint64_t *words, size_t n, struct image_error *err)
{
	uint64_t unit = k->q.base.unit;

	(void)opaque;
	for (size_t i = 0; i < n; i++) {
		uint64_t offset = words[i] & OFFSET;
		if (words[i] == 0 || words[i] == ALL_ONES)
			continue;
		if (words[i] != offset || offset % unit != 0 ||
			offset >> k->q.header.cluster_bits >=
				k->refs.clusters) {
			qcow2_fault(k, QCOW2_TEST_BITMAPS,
				"bitmap table entry %" PRIu64 ", 0x%016" PRIx64
				", is not the offset of a cluster of the file",
				index + i, words[i]);
			continue;
		}
		int rc = qcow2_check_use(
			k, QCOW2_USE_BITMAP, offset, unit, 1, false, NULL, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Note a fault of the fixed part. Returns true if there is none. */
static bool
parse_entry(struct qcow2_check *k, uint32_t index, const unsigned char *raw)
{
	const char *field;
	uint64_t value;

	if (image_be32(raw + 12) & ~KNOWN_FLAGS) {
		field = "flags";
		value = image_be32(raw + 12);
	} else if (raw[16] != DIRTY_TRACKING) {
		field = "type";
		value = raw[16];
	} else if (raw[17] < MIN_GRANULARITY_BITS ||
		   raw[17] > MAX_GRANULARITY_BITS) {
		field = "granularity_bits";
		value = raw[17];
	} else if (image_be16(raw + 18) == 0 ||
		   image_be16(raw + 18) > MAX_NAME) {
		field = "name_size";
		value = image_be16(raw + 18);
	} else {
		return true;
	}
	qcow2_fault(k, QCOW2_TEST_BITMAPS,
		"bitmap directory entry %" PRIu32 " has %s %" PRIu64
		", which is not valid",
		index, field, value);
	return false;
}

static int
check_entry(struct qcow2_check *k, uint32_t index, const unsigned char *raw,
	struct image_error *err)
{
	uint64_t offset = image_be64(raw);
	uint64_t entries = image_be32(raw + 8);
	bool clash = false;

	if (!parse_entry(k, index, raw))
		return 0;
	int rc = qcow2_check_table(k->q.base.store, &k->q.header,
		"bitmap table", offset, entries * 8, err);
	if (rc < 0)
		return qcow2_note(k, QCOW2_TEST_BITMAPS, rc, err);
	rc = qcow2_check_use(k, QCOW2_USE_BITMAP_TABLE, offset, entries * 8, 1,
		false, &clash, err);
	if (rc == 0 && !clash)
		rc = qcow2_check_words(
			k, offset, entries, visit_table, NULL, err);
	return rc;
}

static int
check_directory(struct qcow2_check *k, const unsigned char *raw,
	struct image_error *err)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;
	uint64_t at = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		uint64_t left = b->directory_bytes - at;
		uint64_t length = ENTRY_BYTES;
		if (left >= ENTRY_BYTES)
			length += (uint64_t)image_be32(raw + at + 20) +
				  image_be16(raw + at + 18);
		length = (length + 7) & ~UINT64_C(7);
		if (length > left) {
			qcow2_fault(k, QCOW2_TEST_BITMAPS,
				"bitmap directory entry %" PRIu32
				" extends past the end of the directory, which "
				"has "
				"%" PRIu64 " %s",
				i, b->directory_bytes,
				image_plural(
					b->directory_bytes, "byte", "bytes"));
			return 0;
		}
		int rc = check_entry(k, i, raw + at, err);
		if (rc < 0)
			return rc;
		at += length;
	}
	if (at != b->directory_bytes)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bitmap directory has %" PRIu64 " bytes, but its "
			"%" PRIu32 " %s %" PRIu64,
			b->directory_bytes, b->count,
			image_plural(b->count, "entry has", "entries have"),
			at);
	return 0;
}

/* Note a fault of the extension. Returns true if there is none. */
static bool
parse_extension(struct qcow2_check *k)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;

	if (b->extensions == 0)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bit 0 of autoclear_features is set (bitmaps), but "
			"there is no bitmaps extension");
	else if (b->extensions > 1)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"header has %" PRIu32 " bitmaps extensions, but 1 is "
			"allowed",
			b->extensions);
	else if (b->length != EXTENSION_BYTES)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bitmaps extension has %" PRIu32 " %s, which is not 24",
			b->length, image_plural(b->length, "byte", "bytes"));
	else if (b->count == 0 || b->count > MAX_BITMAPS)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"nb_bitmaps %" PRIu32 " is not from 1 to 65535",
			b->count);
	else if (b->directory_bytes > MAX_DIRECTORY_BYTES)
		qcow2_fault(k, QCOW2_TEST_BITMAPS,
			"bitmap_directory_size %" PRIu64 " is more than 64 MiB",
			b->directory_bytes);
	else
		return true;
	return false;
}

int
qcow2_check_bitmaps(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_bitmaps *b = &k->q.header.bitmaps;
	struct image_store *store = k->q.base.store;

	/* By the specification, bitmaps without the bit are inconsistent. */
	if (!(k->q.header.autoclear & QCOW2_BITMAPS) || !parse_extension(k))
		return 0;
	int rc = qcow2_check_table(store, &k->q.header, "bitmap directory",
		b->directory_offset, b->directory_bytes, err);
	if (rc < 0)
		return qcow2_note(k, QCOW2_TEST_BITMAPS, rc, err);
	rc = qcow2_check_use(k, QCOW2_USE_DIRECTORY, b->directory_offset,
		b->directory_bytes, 1, false, NULL, err);
	if (rc < 0)
		return rc;
	unsigned char *raw = malloc((size_t)b->directory_bytes + 1);
	if (!raw)
		return image_no_memory(err);
	rc = image_store_read(store, b->directory_offset, raw,
		(size_t)b->directory_bytes, err);
	if (rc == 0)
		rc = check_directory(k, raw, err);
	free(raw);
	return rc;
}
