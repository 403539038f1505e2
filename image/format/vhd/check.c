/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tests of a VHD: can it be opened, and do other programs see the same
 * disk. QEMU does not look at the bitmaps, uses no bitmap for small blocks, and
 * takes another one of two sizes, depending on its release.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <hone/zero.h>
#include "format/verdict.h"
#include "format/vhd/vhd.h"

/* QEMU has no bit for fewer sectors. */
#define MIN_BLOCK 4096

/* Bytes that are compared with zeros at a time. */
#define PART ((size_t)64 << 10)

struct check {
	struct vhd_source *v;
	struct image_verdict *verdict;
	/* PART bytes */
	unsigned char *buffer;
};

/* Set *dirty to whether a range of the file has bytes that are not zero. */
static int
find_bytes(struct check *k, uint64_t begin, uint64_t end, bool *dirty,
	struct image_error *err)
{
	struct image_store *store = k->v->base.store;
	uint64_t data = end - begin > PART ? begin : end;
	int rc = 0;

	*dirty = false;
	while (rc == 0 && begin < end && !*dirty) {
		bool hole = false;
		uint64_t length = data - begin;
		if (length == 0) {
			rc = image_store_extent(
				store, begin, end - begin, &length, &hole, err);
			data = begin + length;
		}
		if (!hole && length > PART)
			length = PART;
		if (rc == 0 && !hole) {
			rc = image_store_read(
				store, begin, k->buffer, (size_t)length, err);
			*dirty = rc == 0 && !hone_buffer_is_zero(
						    k->buffer, (size_t)length);
		}
		begin += length;
	}
	return rc;
}

/* Look at the sectors of a run whose bits are clear. */
static int
check_run(struct check *k, const struct vhd_run *run, uint64_t *sector,
	bool *dirty, struct image_error *err)
{
	uint64_t end = (run->length + VHD_SECTOR - 1) / VHD_SECTOR;
	unsigned first = (unsigned)(run->skip / VHD_SECTOR);
	unsigned char bits[VHD_SECTOR];

	int rc = vhd_read_bits(k->v, run->bitmap, bits, err);
	for (uint64_t at = 0, n = 0; rc == 0 && at < end && !*dirty; at += n) {
		bool set = vhd_bit(bits, first + (unsigned)at);
		uint64_t begin = run->host + at * VHD_SECTOR;
		for (n = 1; at + n < end; n++)
			if (vhd_bit(bits, first + (unsigned)(at + n)) != set)
				break;
		*sector = at;
		if (!set)
			rc = find_bytes(
				k, begin, begin + n * VHD_SECTOR, dirty, err);
	}
	/* A visit of a stream keeps what has such sectors, and only that. */
	return rc == -ESPIPE && k->v->base.store->forward ? 0 : rc;
}

static int
check_bitmaps(struct check *k, struct image_error *err)
{
	const struct vhd_source *v = k->v;
	struct vhd_run run;
	uint64_t sector = 0;
	bool dirty = false;

	for (uint64_t at = 0; at < v->base.size; at += run.length) {
		vhd_find(v, at, v->base.size - at, &run);
		if (run.host == IMAGE_NO_HOST)
			continue;
		int rc = check_run(k, &run, &sector, &dirty, err);
		if (rc < 0)
			return rc;
		if (!dirty)
			continue;
		image_verdict_add(k->verdict, "bitmaps", 1,
			"disk offset 0x%" PRIx64 ", from 0x%" PRIx64
			" of the file on: bits of the bitmap at 0x%" PRIx64
			" are clear, and the sectors are not zero, which QEMU "
			"reads",
			at + sector * VHD_SECTOR,
			run.host + sector * VHD_SECTOR, run.bitmap);
		return 0;
	}
	image_verdict_add(k->verdict, "bitmaps", 0, "%s",
		"sectors whose bits are clear are zero");
	return 0;
}

static void
check_block_size(struct check *k)
{
	uint32_t size = k->v->header.block_size;

	image_verdict_add(k->verdict, "block_size", size < MIN_BLOCK,
		size < MIN_BLOCK
			? "block size %" PRIu32 " of the header is less than "
			  "4096, and QEMU reads such blocks without a bitmap"
			: "%" PRIu32,
		size);
}

/* Set *dirty to whether the disk has bytes that are not zero in a range. */
static int
find_disk_bytes(struct check *k, struct image_source *source, uint64_t at,
	uint64_t end, bool *dirty, struct image_error *err)
{
	struct image_scratch scratch = {0};
	struct image_extent extent = {.length = 0};
	int rc = 0;

	for (; rc == 0 && at < end && !*dirty; at += extent.length) {
		rc = source->ops->extent(source, at, end - at, &extent, err);
		if (rc < 0 || extent.kind == IMAGE_HOLE)
			continue;
		if (extent.length > PART)
			extent.length = PART;
		rc = source->ops->read(source, &scratch, at, k->buffer,
			(size_t)extent.length, err);
		*dirty = rc == 0 &&
			 !hone_buffer_is_zero(k->buffer, (size_t)extent.length);
	}
	image_scratch_destroy(&scratch);
	return rc;
}

/* The disk with the larger size may lack room in the table or in the file. */
static int
find_between(struct check *k, bool *dirty, struct image_error *err)
{
	const struct vhd_footer *f = &k->v->footer;
	bool larger = f->other_size > f->size;
	const struct image_open how = {.format = &image_format_vhd,
		.untrusted = true,
		.vhd_size = f->by_current_size == larger
				    ? IMAGE_VHD_GEOMETRY
				    : IMAGE_VHD_CURRENT_SIZE};
	struct image_source *other = &k->v->base;
	struct image_store *store = other->store;

	if (f->type == VHD_FIXED) {
		uint64_t begin = larger ? f->size : f->other_size;
		uint64_t end = larger ? f->other_size : f->size;
		uint64_t most = store->size - VHD_FOOTER;
		return find_bytes(
			k, begin, end < most ? end : most, dirty, err);
	}
	int rc = larger ? vhd_open_source(store, &how, true, &other, err) : 0;
	if (rc < 0)
		return rc == -EINVAL ? 0 : rc;
	rc = find_disk_bytes(k, other, larger ? f->size : f->other_size,
		other->size, dirty, err);
	if (larger)
		vhd_free(other);
	return rc;
}

static int
check_sizes(struct check *k, struct image_error *err)
{
	const struct vhd_footer *f = &k->v->footer;
	const char *field = f->by_current_size ? "current size" : "geometry";
	bool dirty = false;

	int rc = f->unsure ? find_between(k, &dirty, err) : 0;
	if (rc < 0)
		return rc;
	if (dirty)
		image_verdict_add(k->verdict, "sizes", 1,
			"%s, and there is data behind the smaller size",
			k->v->doubt);
	else
		image_verdict_add(k->verdict, "sizes", 0,
			"%" PRIu64 " bytes by its %s", f->size, field);
	return 0;
}

/* The tests of a disk that can be opened. */
static int
check_disk(struct check *k, struct image_error *err)
{
	const struct vhd_source *v = k->v;

	if (v->table)
		image_verdict_add(k->verdict, "well_formed", 0,
			"%" PRIu64 " %s", v->n_used,
			image_plural(v->n_used, "block", "blocks"));
	else
		image_verdict_add(k->verdict, "well_formed", 0, "%s", "fixed");
	image_verdict_add(k->verdict, "parent", 0, "%s", "none");
	k->buffer = malloc(PART);
	if (!k->buffer)
		return image_no_memory(err);
	int rc = check_sizes(k, err);
	if (rc == 0 && v->table) {
		check_block_size(k);
		if (v->header.block_size >= MIN_BLOCK)
			rc = check_bitmaps(k, err);
	}
	free(k->buffer);
	return rc;
}

/*
 * A VHD names no other file except as the parent of a differencing disk, which
 * is refused.
 */
int
vhd_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err)
{
	const struct image_open how = {.format = &image_format_vhd,
		.untrusted = true,
		.vhd_size = verdict->vhd_size};
	struct image_source *source;

	int rc = vhd_open_source(store, &how, true, &source, err);
	if (rc == -ENOTSUP || rc == -EINVAL) {
		image_verdict_add(verdict,
			rc == -ENOTSUP ? "parent" : "well_formed", 1, "%s",
			err->text);
		return 0;
	}
	if (rc < 0)
		return rc;
	struct check k = {.v = vhd_source(source), .verdict = verdict};
	rc = check_disk(&k, err);
	vhd_free(source);
	return rc;
}
