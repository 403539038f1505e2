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
 * Virtual PC, Virtual Server and early QEMU use the geometry, and all others
 * the current size. Neither field tells which. The rule is that of vpc_open()
 * of QEMU 10: the program that wrote the image decides.
 */
static bool
means_geometry(const unsigned char *creator)
{
	return memcmp(creator, "vpc ", 4) == 0 ||
	       memcmp(creator, "vs  ", 4) == 0 ||
	       memcmp(creator, "qemu", 4) == 0;
}

/*
 * QEMU before release 10 uses the geometry unless it knows the creator. So only
 * the disks of these have the same size in every release; "wa" is Azure, and
 * disk2vhd writes "d2v" with a blank or a NUL.
 */
static bool
means_current_size(const unsigned char *creator)
{
	static const char known[][5] = {
		"win ", "qem2", "d2v ", "d2v\0", "tap\0", "CTXS", "wa\0\0"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (memcmp(creator, known[i], 4) == 0)
			return true;
	return false;
}

/* Choose between the two sizes of the footer. */
static void
choose_size(const struct image_store *store, uint64_t geometry,
	struct vhd_footer *f)
{
	bool most = geometry == MAX_GEOMETRY;
	/* A fixed file is as long as its disk and the footer. */
	bool proven = f->type == VHD_FIXED &&
		      store->size == f->current_size + VHD_FOOTER &&
		      f->current_size != geometry * VHD_SECTOR;

	f->by_current_size = most || proven || !means_geometry(f->creator);
	if (f->choice)
		f->by_current_size = f->choice == IMAGE_VHD_CURRENT_SIZE;
	f->size = geometry * VHD_SECTOR;
	f->other_size = f->current_size;
	if (f->by_current_size) {
		f->other_size = f->size;
		f->size = f->current_size;
	}
	f->unsure = !f->choice && !most && f->size != f->other_size &&
		    !means_current_size(f->creator);
}

static int
parse_size(const char *where, const struct image_store *store,
	struct vhd_footer *f, struct image_error *err)
{
	const char *name = store->name;

	choose_size(store, (uint64_t)f->cylinders * f->heads * f->sectors, f);
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
vhd_parse_footer(const unsigned char *raw, const char *where,
	const struct image_store *store, enum image_vhd_size choice,
	struct vhd_footer *f, struct image_error *err)
{
	const char *name = store->name;
	uint32_t sum = vhd_checksum(raw, VHD_FOOTER, 64);
	uint32_t version = image_be32(raw + 12);

	*f = (struct vhd_footer){.choice = choice};
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
	return rc < 0 ? rc : parse_size(where, store, f, err);
}
