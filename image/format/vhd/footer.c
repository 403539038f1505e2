/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the footer of a VHD, and checks every field once. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "format/vhd/vhd.h"

/* The largest geometry. A disk with this geometry has the current size. */
#define MAX_GEOMETRY ((uint64_t)65535 * 16 * 255)

uint32_t
vhd_checksum(const unsigned char *raw, size_t length, size_t skip)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < length; i++)
		if (i < skip || i >= skip + 4)
			sum += raw[i];
	return ~sum;
}

/*
 * Virtual PC and early QEMU use the geometry, and others the current size.
 * Neither field tells which. The rule is that of vpc_open() of QEMU: the
 * program that wrote the image decides. "wa" is Azure.
 */
static bool
means_current_size(const unsigned char *creator)
{
	static const char known[][5] = {
		"win ", "qem2", "d2v ", "tap\0", "CTXS", "wa\0\0"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (memcmp(creator, known[i], 4) == 0)
			return true;
	return false;
}

static int
parse_size(const char *where, const char *name, struct vhd_footer *f,
	struct image_error *err)
{
	uint64_t geometry = (uint64_t)f->cylinders * f->heads * f->sectors;

	f->by_current_size =
		geometry == MAX_GEOMETRY || means_current_size(f->creator);
	f->size = f->by_current_size ? f->current_size : geometry * VHD_SECTOR;
	if (f->size % VHD_SECTOR)
		return image_damaged(err, name, -EINVAL,
			"%s: current size %" PRIu64 " is not a multiple of 512",
			where, f->size);
	if (f->size > VHD_MAX_SIZE)
		return image_damaged(err, name, -EINVAL,
			"%s: %s %" PRIu64 " is more than 2040 GiB", where,
			f->by_current_size ? "current size"
					   : "size of the geometry",
			f->size);
	return 0;
}

static int
parse_type(const unsigned char *raw, const char *where, const char *name,
	struct vhd_footer *f, struct image_error *err)
{
	uint32_t type = image_be32(raw + 60);

	if (type < VHD_FIXED || type > VHD_DIFFERENCING)
		return image_damaged(err, name, -EINVAL,
			"%s: disk type %" PRIu32 " is neither 2 (fixed), 3 "
			"(dynamic) nor 4 (differencing)",
			where, type);
	f->type = (enum vhd_type)type;
	return 0;
}

int
vhd_parse_footer(const unsigned char *raw, const char *where, const char *name,
	struct vhd_footer *f, struct image_error *err)
{
	uint32_t sum = vhd_checksum(raw, VHD_FOOTER, 64);
	uint32_t version = image_be32(raw + 12);

	*f = (struct vhd_footer){0};
	if (!vhd_has_cookie(raw, VHD_FOOTER))
		return image_damaged(err, name, -EINVAL,
			"%s of a VHD is missing: it does not begin with "
			"'" VHD_COOKIE "'",
			where);
	if (image_be32(raw + 64) != sum)
		return image_damaged(err, name, -EINVAL,
			"%s: checksum 0x%08" PRIx32 " is not 0x%08" PRIx32
			", the checksum of its bytes",
			where, image_be32(raw + 64), sum);
	if (version >> 16 != 1)
		return image_fail(err, name, -EINVAL,
			"%s: version 0x%08" PRIx32 " of VHD is not 1.x", where,
			version);
	f->header_offset = image_be64(raw + 16);
	f->timestamp = image_be32(raw + 24);
	memcpy(f->creator, raw + 28, sizeof(f->creator));
	f->current_size = image_be64(raw + 48);
	f->cylinders = (uint16_t)(raw[56] << 8 | raw[57]);
	f->heads = raw[58];
	f->sectors = raw[59];
	memcpy(f->uuid, raw + 68, sizeof(f->uuid));
	int rc = parse_type(raw, where, name, f, err);
	return rc < 0 ? rc : parse_size(where, name, f, err);
}
