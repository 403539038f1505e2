/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the header and the footer of a sparse extent. */
#include <errno.h>
#include <inttypes.h>
#include <hone/zero.h>
#include "format/vmdk/vmdk.h"

const char *
vmdk_other_kind(const unsigned char *head, size_t length)
{
	/* seSparse: constMagic 0xcafebabe, a number of 64 bits */
	if (length >= 8 && memcmp(head, "\xbe\xba\xfe\xca\0\0\0", 8) == 0)
		return "seSparse";
	return length >= 4 && memcmp(head, "COWD", 4) == 0 ? "COWD" : NULL;
}

static int
parse_kind(const unsigned char *raw, const char *name, struct vmdk_header *h,
	struct image_error *err)
{
	uint32_t compression = image_le16(raw + 77);

	if (memcmp(raw, VMDK_MAGIC, 4) != 0)
		return image_fail(err, name, -EINVAL,
			"is not a VMDK image (first bytes %02x %02x %02x %02x)",
			raw[0], raw[1], raw[2], raw[3]);
	h->version = image_le32(raw + 4);
	if (h->version < 1 || h->version > 3)
		return image_fail(err, name, -EINVAL,
			"version %" PRIu32 " of VMDK is not 1, 2 or 3",
			h->version);
	h->flags = image_le32(raw + 8);
	if (h->flags & ~VMDK_KNOWN_FLAGS)
		return image_fail(err, name, -ENOTSUP,
			"flags 0x%08" PRIx32 " of VMDK have unknown bits",
			h->flags);
	if (memcmp(raw + 73, "\n \r\n", 4) != 0)
		return image_damaged(err, name, -EINVAL,
			"its line ends at offset 73 were changed, as by a "
			"transfer as text");
	if (compression > VMDK_DEFLATE)
		return image_fail(err, name, -ENOTSUP,
			"compressAlgorithm %" PRIu32 " is neither 0 nor 1",
			compression);
	bool packed = h->flags & VMDK_COMPRESSED;
	if (packed != (compression == VMDK_DEFLATE) ||
		packed != !!(h->flags & VMDK_MARKERS))
		return image_fail(err, name, -ENOTSUP,
			"flags 0x%08" PRIx32 " and compressAlgorithm %" PRIu32
			" contradict each other: compressed grains have "
			"markers",
			h->flags, compression);
	return 0;
}

static int
parse_geometry(const unsigned char *raw, const char *name,
	struct vmdk_header *h, struct image_error *err)
{
	uint64_t grain = image_le64(raw + 20);

	h->capacity = image_le64(raw + 12);
	if (h->capacity > INT64_MAX / VMDK_SECTOR)
		return image_damaged(err, name, -EINVAL,
			"capacity %" PRIu64 " in sectors is too large",
			h->capacity);
	if (grain < VMDK_MIN_GRAIN || grain > VMDK_MAX_GRAIN ||
		(grain & (grain - 1)) != 0)
		return image_fail(err, name, -ENOTSUP,
			"grainSize %" PRIu64
			" is not a power of two from 8 to 4096",
			grain);
	h->grain_bits = (unsigned)__builtin_ctzll(grain * VMDK_SECTOR);
	h->entries = image_le32(raw + 44);
	if (h->entries < 2 || h->entries > VMDK_TABLE_ENTRIES ||
		(h->entries & (h->entries - 1)) != 0)
		return image_fail(err, name, -ENOTSUP,
			"numGTEsPerGT %" PRIu32
			" is not a power of two from 2 to 512",
			h->entries);
	uint64_t covered = grain * h->entries;
	h->tables = h->capacity / covered + (h->capacity % covered != 0);
	if (h->tables > VMDK_MAX_DIRECTORY)
		return image_fail(err, name, -EFBIG,
			"capacity %" PRIu64 " in sectors needs a grain "
			"directory of %" PRIu64 " entries, more than %" PRIu64,
			h->capacity, h->tables, VMDK_MAX_DIRECTORY);
	return 0;
}

static int
parse_places(const unsigned char *raw, const char *name, struct vmdk_header *h,
	struct image_error *err)
{
	h->at_end = image_le64(raw + 56) == VMDK_AT_END;
	const struct {
		const char *name;
		size_t at;
		uint64_t *bytes;
		bool used;
	} fields[] = {
		{"descriptorOffset", 28, &h->descriptor, true},
		{"descriptorSize", 36, &h->descriptor_bytes, true},
		{"rgdOffset", 48, &h->redundant,
			(h->flags & VMDK_REDUNDANT) && !h->at_end},
		{"gdOffset", 56, &h->directory, !h->at_end},
		{"overHead", 64, &h->overhead, true},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint64_t sectors =
			fields[i].used ? image_le64(raw + fields[i].at) : 0;
		if (sectors > INT64_MAX / VMDK_SECTOR)
			return image_damaged(err, name, -EINVAL,
				"%s %" PRIu64 " in sectors is too large",
				fields[i].name, sectors);
		*fields[i].bytes = sectors * VMDK_SECTOR;
	}
	return 0;
}

static int
parse_header(const unsigned char *raw, const char *name,
	struct vmdk_header *header, struct image_error *err)
{
	*header = (struct vmdk_header){.version = 0};
	int rc = parse_kind(raw, name, header, err);
	if (rc == 0)
		rc = parse_geometry(raw, name, header, err);
	return rc == 0 ? parse_places(raw, name, header, err) : rc;
}

/*
 * A marker without data: the sectors that follow, 0, and the type. The rest of
 * the sector is zero, as OpenStack's inspector requires.
 */
static bool
is_marker(const unsigned char *raw, uint64_t sectors, uint32_t type)
{
	return image_le64(raw) == sectors && image_le32(raw + 8) == 0 &&
	       image_le32(raw + 12) == type &&
	       hone_buffer_is_zero(raw + 16, VMDK_SECTOR - 16);
}

static bool
same_disk(const struct vmdk_header *a, const struct vmdk_header *b)
{
	return a->version == b->version && a->flags == b->flags &&
	       a->capacity == b->capacity && a->grain_bits == b->grain_bits &&
	       a->entries == b->entries && a->descriptor == b->descriptor &&
	       a->descriptor_bytes == b->descriptor_bytes &&
	       a->overhead == b->overhead;
}

int
vmdk_parse_footer(const unsigned char *raw, const char *name,
	struct vmdk_header *header, struct image_error *err)
{
	struct vmdk_header footer;

	/* Xen Orchestra counts no sector. */
	if ((!is_marker(raw, 1, VMDK_FOOTER) &&
		    !is_marker(raw, 0, VMDK_FOOTER)) ||
		!is_marker(
			raw + 2 * (size_t)VMDK_SECTOR, 0, VMDK_END_OF_STREAM) ||
		memcmp(raw + VMDK_SECTOR, VMDK_MAGIC, 4) != 0)
		return image_damaged(err, name, -EINVAL,
			"has no footer, and gdOffset of its header refers to "
			"one: the file may be cut off");
	int rc = parse_header(raw + VMDK_SECTOR, name, &footer, err);
	if (rc < 0) {
		/* The header is one that this release can read. */
		err->damaged = true;
		return rc;
	}
	if (footer.at_end)
		return image_damaged(err, name, -EINVAL,
			"gdOffset of its footer refers to a footer");
	/* A program that does not read the footer would see another disk. */
	if (!same_disk(header, &footer))
		return image_damaged(err, name, -EINVAL,
			"its header and its footer describe different disks");
	header->directory = footer.directory;
	header->redundant = footer.redundant;
	header->at_end = false;
	header->has_footer = true;
	return 0;
}

int
vmdk_read_header(struct image_store *store, bool whole,
	struct vmdk_header *header, struct image_error *err)
{
	unsigned char raw[3 * VMDK_SECTOR] = {0};
	uint64_t reached;

	int rc = image_store_reach(store, 0, VMDK_SECTOR, &reached, err);
	if (rc == 0 && reached < VMDK_SECTOR)
		rc = image_fail(err, store->name, -EINVAL,
			"has %s, too few for a VMDK header",
			IMAGE_COUNT(reached, "byte"));
	if (rc == 0)
		rc = image_store_read(store, 0, raw, VMDK_SECTOR, err);
	if (rc == 0)
		rc = parse_header(raw, store->name, header, err);
	if (rc < 0 || !header->at_end || !whole)
		return rc;
	if (store->size < 4 * (uint64_t)VMDK_SECTOR)
		return image_damaged(err, store->name, -EINVAL,
			"has %" PRIu64 " bytes, too few for a VMDK footer",
			store->size);
	/* The last three sectors; what follows the last sector is ignored, as
	 * QEMU does. */
	uint64_t sectors = store->size / VMDK_SECTOR;
	rc = image_store_read(
		store, (sectors - 3) * VMDK_SECTOR, raw, sizeof(raw), err);
	return rc == 0 ? vmdk_parse_footer(raw, store->name, header, err) : rc;
}
