/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a fixed VHD: the disk, then the footer. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "format/source.h"
#include "format/vhd/vhd.h"

/* Azure takes whole MiB only. */
#define ROUND ((uint64_t)1 << 20)

struct sink {
	struct image_sink base;
	bool exact;
	/* bytes of the source */
	uint64_t disk;
};

/*
 * The geometry of a disk, by the appendix "CHS Calculation" of the
 * specification: the fewest sectors of a track and heads with which less than
 * 1024 cylinders are enough.
 */
static void
put_geometry(unsigned char *to, uint64_t size)
{
	static const struct {
		unsigned sectors;
		unsigned heads;
	} rows[] = {{17, 0}, {31, 16}, {63, 16}};
	uint64_t total = size / VHD_SECTOR;
	uint64_t sectors = 255, heads = 16, tracks;

	total = total < VHD_MAX_GEOMETRY ? total : VHD_MAX_GEOMETRY;
	tracks = total / sectors;
	for (size_t i = 0; i < 3 && total < UINT64_C(65535) * 16 * 63; i++) {
		sectors = rows[i].sectors;
		tracks = total / sectors;
		heads = rows[i].heads ? rows[i].heads : (tracks + 1023) / 1024;
		heads = heads < 4 ? 4 : heads;
		if (heads <= 16 && tracks < heads * 1024)
			break;
	}
	uint64_t cylinders = tracks / heads;
	to[0] = (unsigned char)(cylinders >> 8);
	to[1] = (unsigned char)cylinders;
	to[2] = (unsigned char)heads;
	to[3] = (unsigned char)sectors;
}

/* FNV-1a of 64 bits, with another start for each half of the UUID. */
static uint64_t
mix(uint64_t hash, const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * The same disk gets the same UUID. So do disks of one size that differ in
 * other sectors than the first and the last, such as states of one disk. These
 * two have the identifiers of a partition table: the disk signature of an MBR,
 * the disk GUID of a GPT. stdout keeps no other bytes.
 */
static int
put_uuid(unsigned char *to, struct sink *s, struct image_error *err)
{
	size_t n = s->disk < VHD_SECTOR ? (size_t)s->disk : VHD_SECTOR;
	struct image_store *store = s->base.store;
	unsigned char bytes[2 * VHD_SECTOR + 8] = {0};

	int rc = image_store_read(store, 0, bytes, n, err);
	if (rc == 0)
		rc = image_store_read(
			store, s->disk - n, bytes + VHD_SECTOR, n, err);
	image_put_be64(bytes + sizeof(bytes) - 8, s->base.size);
	image_put_be64(
		to, mix(UINT64_C(0xcbf29ce484222325), bytes, sizeof(bytes)));
	image_put_be64(to + 8,
		mix(UINT64_C(0x84222325cbf29ce4), bytes, sizeof(bytes)));
	/* RFC 9562: version 8, whose bits the writer chooses, and the
	 * variant. */
	to[6] = (to[6] & 0x0f) | 0x80;
	to[8] = (to[8] & 0x3f) | 0x80;
	return rc;
}

static int
vhd_sink_resize(struct image_sink *sink, uint64_t size, struct image_error *err)
{
	struct sink *s = (struct sink *)sink;
	uint64_t unit = s->exact ? VHD_SECTOR : ROUND;
	struct image_store *store = sink->store;

	s->disk = size;
	if (size > VHD_MAX_SIZE)
		return image_fail(err, store->name, -EFBIG,
			"a VHD has at most 2040 GiB, and the image has %" PRIu64
			" bytes",
			size);
	/* A file with nothing but a footer begins as a dynamic disk. */
	sink->size = size ? (size + unit - 1) / unit * unit : unit;
	return store->ops->resize(store, sink->size + VHD_FOOTER, err);
}

/*
 * "qem2" is the creator whose disks have the current size in QEMU, Hyper-V and
 * Azure; QEMU 2.1 and later write "qem2", version 5.3, on "Wi2k" with -o
 * force_size=on. The time stamp is 0, that of 2000-01-01.
 */
static int
vhd_sink_finish(struct image_sink *sink, struct image_error *err)
{
	unsigned char raw[VHD_FOOTER] = VHD_COOKIE;
	uint64_t size = sink->size;

	image_put_be32(raw + 8, 2);
	image_put_be32(raw + 12, 0x00010000);
	image_put_be64(raw + 16, UINT64_MAX);
	image_put_be32(raw + 28, 0x71656d32); /* "qem2" */
	image_put_be32(raw + 32, 0x00050003);
	image_put_be32(raw + 36, 0x5769326b); /* "Wi2k" */
	image_put_be64(raw + 40, size);
	image_put_be64(raw + 48, size);
	put_geometry(raw + 56, size);
	image_put_be32(raw + 60, VHD_FIXED);
	int rc = put_uuid(raw + 68, (struct sink *)sink, err);
	image_put_be32(raw + 64, vhd_checksum(raw, VHD_FOOTER, 64));
	return rc < 0 ? rc
		      : image_store_write(
				sink->store, size, raw, sizeof(raw), err);
}

static const struct image_sink_ops vhd_sink_ops = {
	.reserve = image_flat_reserve,
	.resize = vhd_sink_resize,
	.finish = vhd_sink_finish,
};

int
vhd_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err)
{
	/* Readers look for the footer at the end of the device. */
	if (store->fixed)
		return image_fail(err, store->name, -ENOTSUP,
			"has a fixed size, and a VHD ends with its footer; "
			"write it to a file");
	struct sink *s = calloc(1, sizeof(*s));
	if (!s)
		return image_no_memory(err);
	s->base.ops = &vhd_sink_ops;
	s->base.format = &image_format_vhd;
	s->base.store = store;
	s->base.size = IMAGE_SIZE_UNKNOWN;
	s->exact = create->exact;
	/* First, so that a size that the file system refuses fails before the
	 * copy. */
	int rc = create->unsized ? 0
				 : vhd_sink_resize(&s->base, create->size, err);
	if (rc < 0) {
		free(s);
		return rc;
	}
	*out = &s->base;
	return 0;
}

enum { FORCE_SIZE, ROUNDING, SUBFORMAT, OPTIONS };

const struct image_option vhd_options[] = {
	[FORCE_SIZE] = {"force_size", IMAGE_OPTION_FLAG, NULL,
		"always on: the size is not that of a geometry"},
	[ROUNDING] = {"round", IMAGE_OPTION_WORD, "mib none",
		"round the size up to a MiB, for Azure (mib)"},
	[SUBFORMAT] = {"subformat", IMAGE_OPTION_WORD, "fixed dynamic",
		"always fixed"},
	[OPTIONS] = {0},
};

int
vhd_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err)
{
	switch (option - vhd_options) {
	case FORCE_SIZE:
		return value ? 0
			     : image_fail(err, NULL, -EINVAL,
				       "force_size can only be on: hone writes "
				       "every size as it is");
	case ROUNDING:
		create->exact = value;
		return 0;
	default:
		assert(option - vhd_options == SUBFORMAT);
		return value == 0
			       ? 0
			       : image_fail(err, NULL, -EINVAL,
					 "subformat can only be fixed: a fixed "
					 "disk is what Azure takes");
	}
}
