/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a VHD as a source, and reads it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "format/formats.h"
#include "format/source.h"
#include "format/vhd/vhd.h"

/* Bytes of a step to the end of a stream. */
#define STEP ((size_t)1 << 20)

/* Extend a hole by the blocks without a place that follow. */
static void
extend_hole(const struct vhd_source *v, struct image_extent *extent,
	uint64_t length)
{
	struct vhd_run run;

	while (extent->length < length) {
		vhd_find(v, extent->offset + extent->length,
			length - extent->length, &run);
		if (run.host != IMAGE_NO_HOST)
			return;
		extent->length += run.length;
	}
}

/* Cut the extent where the bits of the sectors change. */
static int
split_by_bits(struct vhd_source *v, const struct vhd_run *run,
	struct image_extent *extent, struct image_error *err)
{
	unsigned char bits[VHD_SECTOR];
	unsigned first = (unsigned)(run->skip / VHD_SECTOR);
	unsigned end = (unsigned)((run->skip + run->length + VHD_SECTOR - 1) /
				  VHD_SECTOR);
	unsigned at = first + 1;

	int rc = vhd_read_bits(v, run->bitmap, bits, err);
	if (rc < 0)
		return rc;
	while (at < end && vhd_bit(bits, at) == vhd_bit(bits, first))
		at++;
	if (at < end)
		extent->length = (uint64_t)at * VHD_SECTOR - run->skip;
	if (!vhd_bit(bits, first)) {
		extent->kind = IMAGE_HOLE;
		extent->host = IMAGE_NO_HOST;
	}
	return 0;
}

static int
dynamic_extent(struct vhd_source *v, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	struct vhd_run run;

	vhd_find(v, offset, length, &run);
	*extent = (struct image_extent){.offset = offset,
		.length = run.length,
		.kind = run.host == IMAGE_NO_HOST ? IMAGE_HOLE : IMAGE_DATA,
		.host = run.host};
	if (run.host == IMAGE_NO_HOST) {
		extend_hole(v, extent, length);
		return 0;
	}
	/* A bitmap of a stream is read together with its sectors. */
	return v->base.store->forward ? 0 : split_by_bits(v, &run, extent, err);
}

static int
vhd_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	struct vhd_source *v = vhd_source(source);

	int rc = image_source_refused(source, err);
	if (rc < 0)
		return rc;
	return v->table
		       ? dynamic_extent(v, offset, length, extent, err)
		       : image_flat_extent(source, offset, length, extent, err);
}

/*
 * Sectors whose bits are clear may have any bytes in the file. Returns whether
 * one has bytes that are not zero.
 */
static bool
clear_sectors(
	const unsigned char *bits, const struct vhd_run *run, unsigned char *to)
{
	bool cleared = false;

	for (uint64_t at = 0; at < run->length;) {
		uint64_t in = run->skip + at;
		uint64_t n = VHD_SECTOR - in % VHD_SECTOR;
		if (n > run->length - at)
			n = run->length - at;
		if (!vhd_bit(bits, (unsigned)(in / VHD_SECTOR)) &&
			!hone_buffer_is_zero(to + at, (size_t)n)) {
			cleared = true;
			memset(to + at, 0, (size_t)n);
		}
		at += n;
	}
	return cleared;
}

/*
 * vhd_check() follows a visit of a stream: it finds the sectors that were
 * cleared, and what lies behind the smaller one of two sizes.
 */
static void
release(struct vhd_source *v, const struct vhd_run *run, uint64_t guest,
	bool cleared)
{
	struct image_store *store = v->base.store;
	bool part = run->skip || !run->last;

	if (v->untrusted && (cleared || guest + run->length > v->sure_size))
		return;
	image_store_release(store, run->host, run->length);
	if (run->last && !(v->untrusted && part))
		image_store_release(store, run->bitmap, VHD_SECTOR);
}

static int
read_run(struct vhd_source *v, const struct vhd_run *run, uint64_t guest,
	unsigned char *to, struct image_error *err)
{
	struct image_store *store = v->base.store;
	unsigned char bits[VHD_SECTOR];
	int rc;

	if (run->host == IMAGE_NO_HOST) {
		memset(to, 0, (size_t)run->length);
		return 0;
	}
	rc = vhd_read_bits(v, run->bitmap, bits, err);
	if (rc == 0)
		rc = image_store_read(
			store, run->host, to, (size_t)run->length, err);
	if (rc < 0)
		return rc;
	release(v, run, guest, clear_sectors(bits, run, to));
	return 0;
}

static int
read_fixed(struct vhd_source *v, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	struct image_store *store = v->base.store;
	int rc = image_store_read(store, offset, buf, length, err);

	/* As release(). */
	if (rc == 0 && !(v->untrusted && offset + length > v->sure_size))
		image_store_release(store, offset, length);
	return rc;
}

static int
vhd_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	struct vhd_source *v = vhd_source(source);
	unsigned char *to = buf;

	int rc = image_source_refused(source, err);
	if (rc == 0 && !v->table)
		return read_fixed(v, offset, buf, length, err);
	(void)scratch;
	while (rc == 0 && length) {
		struct vhd_run run;
		vhd_find(v, offset, length, &run);
		rc = read_run(v, &run, offset, to, err);
		offset += run.length;
		to += run.length;
		length -= (size_t)run.length;
	}
	return rc;
}

void
vhd_free(struct image_source *source)
{
	struct vhd_source *v = vhd_source(source);

	pthread_mutex_destroy(&v->lock);
	free(v->table);
	free(v);
}

static void
vhd_close(struct image_source *source)
{
	image_store_close(source->store);
	vhd_free(source);
}

static int check_end(struct vhd_source *v, struct image_error *err);

/* The footer at the end of a stream of a dynamic disk came after the data. */
static int
vhd_ended(struct image_source *source, struct image_error *err)
{
	struct vhd_source *v = vhd_source(source);

	return v->has_end || source->refused ? 0 : check_end(v, err);
}

static const struct image_source_ops source_ops = {
	.extent = vhd_extent,
	.read = vhd_read,
	.ended = vhd_ended,
	.unchanged = image_single_unchanged,
	.info = vhd_info,
	.any = image_single_any,
	.close = vhd_close,
};

/* Compare the two footers of a dynamic disk. */
static int
compare_footers(const char *name, const struct vhd_footer *end,
	const struct vhd_footer *copy, struct image_error *err)
{
	/* The bytes of a fixed disk are those of a guest. */
	if (end->type != copy->type)
		return image_damaged(err, name, -EINVAL,
			"footer: disk type %d contradicts the copy of the "
			"footer, which has %d",
			(int)end->type, (int)copy->type);
	if (end->size != copy->size ||
		end->header_offset != copy->header_offset)
		return image_damaged(err, name, -EINVAL,
			"footer: size %" PRIu64 " and data offset 0x%" PRIx64
			" contradict the copy of the footer, which has "
			"%" PRIu64 " and 0x%" PRIx64,
			end->size, end->header_offset, copy->size,
			copy->header_offset);
	return 0;
}

/*
 * Parse the copy of the footer at the beginning. A stream ends with another
 * footer, which vhd_ended() compares.
 */
static int
check_copy(struct vhd_source *v, const struct image_open *how,
	const unsigned char *head, struct image_error *err)
{
	const char *name = v->base.store->name;
	struct vhd_footer end = v->footer, *copy = &v->footer;

	int rc = vhd_parse_footer(head, "copy of the footer", v->base.store,
		how->vhd_size, copy, err);
	if (rc < 0)
		return rc;
	if (copy->type == VHD_FIXED)
		return image_damaged(err, name, -EINVAL,
			"copy of the footer: disk type 2 (fixed): a fixed disk "
			"has no copy");
	return v->has_end ? compare_footers(name, &end, copy, err) : 0;
}

static int
load_fixed(struct vhd_source *v, struct image_error *err)
{
	const struct image_store *store = v->base.store;

	if (v->footer.type != VHD_FIXED)
		return image_damaged(err, store->name, -EINVAL,
			"footer: disk type %d, but the copy of the footer is "
			"missing at the beginning of the file",
			(int)v->footer.type);
	if (v->footer.size > store->size - VHD_FOOTER)
		return image_damaged(err, store->name, -EINVAL,
			"footer: size %" PRIu64 " is more than the %" PRIu64
			" %s before the footer",
			v->footer.size, store->size - VHD_FOOTER,
			image_plural(
				store->size - VHD_FOOTER, "byte", "bytes"));
	return 0;
}

static int
load_dynamic(struct vhd_source *v, struct image_error *err)
{
	struct image_store *store = v->base.store;
	uint64_t offset = v->footer.header_offset, end;
	unsigned char raw[VHD_HEADER];

	if (v->footer.type == VHD_DIFFERENCING)
		return image_fail(err, store->name, -ENOTSUP,
			"is a differencing disk, and this release cannot read "
			"its parent; merge them with the program that made "
			"them");
	if (__builtin_add_overflow(offset, (uint64_t)VHD_HEADER, &end) ||
		end > store->size)
		return image_damaged(err, store->name, -EINVAL,
			"data offset 0x%" PRIx64 " lies past the end of the "
			"file (%" PRIu64 " bytes)",
			offset, store->size);
	int rc = image_store_read(store, offset, raw, sizeof(raw), err);
	if (rc == 0)
		rc = vhd_parse_header(
			raw, v->base.size, store->name, &v->header, err);
	if (rc < 0)
		return rc;
	/* Blocks are read as a whole from a stream. */
	if (store->forward)
		v->base.unit = v->header.block_size < VHD_PIECE
				       ? v->header.block_size
				       : VHD_PIECE;
	end = store->size;
	if (end != IMAGE_SIZE_UNKNOWN)
		end -= VHD_FOOTER;
	return vhd_load_table(v, end, err);
}

static int
too_short(
	const struct image_store *store, uint64_t size, struct image_error *err)
{
	return image_fail(err, store->name, -EINVAL,
		"has %" PRIu64 " %s, too few for the footer of a VHD", size,
		image_plural(size, "byte", "bytes"));
}

/*
 * The size of a fixed disk is in the last bytes: read a stream up to them.
 * visited: what comes before them is not needed any more.
 */
static int
find_end(struct image_store *store, uint64_t from, bool visited,
	struct image_error *err)
{
	uint64_t at = from, reached;
	int rc;

	do {
		rc = image_store_reach(store, at, STEP, &reached, err);
		if (rc == 0 && visited && at - from >= STEP)
			image_store_release(store, at - STEP, STEP);
		at += reached;
	} while (rc == 0 && reached == STEP);
	store->size = at;
	return rc;
}

/* Read the footer at the end of the file. */
static int
read_footer(struct vhd_source *v, const struct image_open *how, bool dynamic,
	struct vhd_footer *footer, struct image_error *err)
{
	struct image_store *store = v->base.store;
	unsigned char raw[VHD_FOOTER];
	int rc = 0;

	if (store->size == IMAGE_SIZE_UNKNOWN)
		rc = find_end(store, 0, false, err);
	if (rc == 0)
		rc = image_store_read(
			store, store->size - VHD_FOOTER, raw, sizeof(raw), err);
	v->has_end = rc == 0;
	if (rc < 0)
		return rc;
	if (vhd_has_cookie(raw, sizeof(raw)))
		return vhd_parse_footer(
			raw, "footer", store, how->vhd_size, footer, err);
	/* The copy of the footer shows that it was a VHD. */
	if (dynamic)
		return image_damaged(err, store->name, -EINVAL,
			"footer of a VHD is missing in its last 512 bytes: "
			"the file is not complete");
	/* Without -f, the name of the file chose the format. */
	return image_fail(err, store->name, -EINVAL,
		"footer of a VHD is missing in its last 512 bytes%s",
		how->format ? "" : "; " RAW_HINT);
}

/* A stream has come to its end: compare the footer there with the copy. */
static int
check_end(struct vhd_source *v, struct image_error *err)
{
	const struct image_open how = {
		.format = &image_format_vhd, .vhd_size = v->footer.choice};
	struct image_store *store = v->base.store;
	struct vhd_footer end = {.size = 0};
	/* Whoever checks the stream reads the table and the bitmaps again. */
	uint64_t tables =
		v->header.table_offset + (uint64_t)v->header.table_entries * 4;
	int rc = 0;

	if (store->size == IMAGE_SIZE_UNKNOWN)
		rc = find_end(store,
			v->blocks_end > tables ? v->blocks_end : tables, true,
			err);
	if (rc == 0 && v->blocks_end > store->size - VHD_FOOTER)
		rc = image_damaged(err, store->name, -EINVAL,
			"its last block, up to 0x%" PRIx64
			", lies past the end of the blocks (0x%" PRIx64 ")",
			v->blocks_end, store->size - VHD_FOOTER);
	if (rc == 0)
		rc = read_footer(v, &how, true, &end, err);
	return rc < 0 ? rc
		      : compare_footers(store->name, &end, &v->footer, err);
}

/* Two sizes of which readers take one or the other. */
static void
describe_sizes(struct vhd_source *v)
{
	const struct vhd_footer *f = &v->footer;
	const char *const names[] = {"geometry", "current size"};

	v->base.vhd_size = f->choice;
	v->sure_size = f->unsure && f->other_size < f->size ? f->other_size
							    : UINT64_MAX;
	if (!f->unsure)
		return;
	snprintf(v->doubt, sizeof(v->doubt),
		"has %" PRIu64 " bytes by its %s and %" PRIu64
		" by its %s; the first is used",
		f->size, names[f->by_current_size], f->other_size,
		names[!f->by_current_size]);
	v->base.doubt = v->doubt;
}

static int
load(struct vhd_source *v, const struct image_open *how, bool whole,
	struct image_error *err)
{
	struct image_store *store = v->base.store;
	unsigned char head[VHD_FOOTER];
	uint64_t reached;

	int rc = image_store_reach(store, 0, sizeof(head), &reached, err);
	if (rc == 0 && reached < VHD_FOOTER)
		return too_short(store, reached, err);
	if (rc == 0)
		rc = image_store_read(store, 0, head, sizeof(head), err);
	bool dynamic = rc == 0 && vhd_has_cookie(head, sizeof(head));
	if (rc == 0 && (!dynamic || whole))
		rc = read_footer(v, how, dynamic, &v->footer, err);
	if (rc == 0 && dynamic)
		rc = check_copy(v, how, head, err);
	if (rc < 0)
		return rc;
	v->base.size = v->footer.size;
	describe_sizes(v);
	rc = dynamic ? load_dynamic(v, err) : load_fixed(v, err);
	if (rc < 0 && rc != -ENOTSUP)
		v->base.fault = &v->base.refusal;
	return image_source_inspected(&v->base, how, rc, err);
}

int
vhd_open_source(struct image_store *store, const struct image_open *how,
	bool whole, struct image_source **out, struct image_error *err)
{
	struct vhd_source *v = calloc(1, sizeof(*v));

	if (!v)
		return image_no_memory(err);
	pthread_mutex_init(&v->lock, NULL);
	v->base.ops = &source_ops;
	v->base.format = &image_format_vhd;
	v->base.store = v->base.data = store;
	v->untrusted = how->untrusted;
	int rc = load(v, how, whole || !store->forward, err);
	if (rc < 0) {
		vhd_free(&v->base);
		return rc;
	}
	*out = &v->base;
	return 0;
}
