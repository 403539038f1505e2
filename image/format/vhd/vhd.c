/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and checks VHDs. In the order of control: the footer, the header of a
 * dynamic disk, its table and its bitmaps, the source, the check, the format.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "format/formats.h"
#include "format/slices.h"
#include "format/source.h"
#include "format/vhd/vhd.h"
#include "memory.h"

/* An entry of the table without a block. */
#define VHD_UNUSED UINT32_MAX
/* Bytes of the table, as of the L1 table of qcow2. */
#define VHD_MAX_TABLE ((uint64_t)32 << 20)
/* Bytes of the disk that one sector of a bitmap describes. */
#define VHD_PIECE ((uint64_t)VHD_SECTOR * 8 * VHD_SECTOR)

struct vhd_footer {
	enum vhd_type type;
	/* of the header; not used for a fixed disk */
	uint64_t header_offset;
	uint64_t current_size;
	/* seconds since 2000-01-01 */
	uint32_t timestamp;
	uint16_t cylinders;
	uint8_t heads;
	uint8_t sectors;
	unsigned char creator[4];
	unsigned char uuid[16];
	/* bytes of the disk */
	uint64_t size;
	/* size is current_size, not that of the geometry */
	bool by_current_size;
	/* the size by the other field */
	uint64_t other_size;
	/* the two sizes differ, and readers disagree about them */
	bool unsure;
	/* of the user */
	enum image_vhd_size choice;
};

struct vhd_source {
	struct image_source base;
	struct vhd_footer footer;
	/* of the header of a dynamic disk */
	uint64_t table_offset;
	uint32_t table_entries;
	/* bytes, a power of two */
	uint32_t block_size;
	/* of the blocks that the disk has, in host order; NULL: fixed */
	uint32_t *table;
	uint64_t n_blocks;
	/* blocks with a place */
	uint64_t n_used;
	/* bytes of the bitmap of a block */
	uint64_t bitmap_bytes;
	/* the end of the last block in the file */
	uint64_t blocks_end;
	/* vhd_check() follows a visit of a stream */
	bool untrusted;
	/* the disk has this size at least, whatever its reader */
	uint64_t sure_size;
	/* the footer at the end of the file was read */
	bool has_end;
	/* for image_source.doubt */
	char doubt[192];
	/* sectors of bitmaps */
	struct image_slices *cache;
};

static struct vhd_source *
vhd_source(struct image_source *source)
{
	return (struct vhd_source *)source;
}

/* A range of the disk inside one sector of a bitmap. */
struct vhd_run {
	uint64_t length;
	/* of the first byte, or IMAGE_NO_HOST */
	uint64_t host;
	/* offset in the file of the sector of the bitmap */
	uint64_t bitmap;
	/* of the first byte, from that which the first bit describes */
	uint64_t skip;
	/* the range reaches the last sector of the bitmap */
	bool last;
};

static bool
vhd_bit(const unsigned char *bits, unsigned sector)
{
	return bits[sector / 8] >> (7 - sector % 8) & 1;
}

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
 * of QEMU 10, the program that wrote the image decides, except for Virtual
 * Server: QEMU 10 takes the current size there.
 *
 * QEMU before release 10 uses the geometry unless it knows the creator. So only
 * the disks of these have the same size in every release; "wa" is Azure, and
 * disk2vhd writes "d2v" with a blank or a NUL.
 */
static const char by_geometry[][5] = {"vpc ", "vs  ", "qemu"};
static const char by_current_size[][5] = {
	"win ", "qem2", "d2v ", "d2v\0", "tap\0", "CTXS", "wa\0\0"};

static bool
is_one_of(const char list[][5], size_t n, const unsigned char *creator)
{
	while (n-- > 0)
		if (memcmp(creator, list[n], 4) == 0)
			return true;
	return false;
}

static void
choose_size(const struct image_store *store, uint64_t geometry,
	struct vhd_footer *f)
{
	bool most = geometry == VHD_MAX_GEOMETRY;
	/* A fixed file is as long as its disk and the footer. */
	bool proven = f->type == VHD_FIXED &&
		      store->size == f->current_size + VHD_FOOTER &&
		      f->current_size != geometry * VHD_SECTOR;

	f->by_current_size =
		most || proven || !is_one_of(by_geometry, 3, f->creator);
	if (f->choice)
		f->by_current_size = f->choice == IMAGE_VHD_CURRENT_SIZE;
	f->size = geometry * VHD_SECTOR;
	f->other_size = f->current_size;
	if (f->by_current_size) {
		f->other_size = f->size;
		f->size = f->current_size;
	}
	f->unsure = !f->choice && !most && f->size != f->other_size &&
		    !is_one_of(by_current_size, 7, f->creator);
}

/* Check a footer of the store. `where` is for the message: "footer". */
static int
vhd_parse_footer(const unsigned char *raw, const char *where,
	const struct image_store *store, enum image_vhd_size choice,
	struct vhd_footer *f, struct image_error *err)
{
	const char *name = store->name;
	uint32_t sum = vhd_checksum(raw, VHD_FOOTER, 64);
	uint32_t version = image_be32(raw + 12), type = image_be32(raw + 60);

	*f = (struct vhd_footer){
		.type = (enum vhd_type)type,
		.header_offset = image_be64(raw + 16),
		.current_size = image_be64(raw + 48),
		.timestamp = image_be32(raw + 24),
		.cylinders = image_be16(raw + 56),
		.heads = raw[58],
		.sectors = raw[59],
		.choice = choice,
	};
	memcpy(f->creator, raw + 28, sizeof(f->creator));
	memcpy(f->uuid, raw + 68, sizeof(f->uuid));
	if (!vhd_has_cookie(raw, VHD_FOOTER))
		return image_damaged(err, name, -EINVAL,
			"%s of a VHD is missing: it does not begin with "
			"'" VHD_COOKIE "'",
			where);
	if (image_be32(raw + 64) != sum)
		return image_damaged(err, name, -EINVAL,
			"%s: checksum 0x%08x is not 0x%08x, the checksum of "
			"its bytes",
			where, image_be32(raw + 64), sum);
	if (version >> 16 != 1)
		return image_fail(err, name, -EINVAL,
			"%s: version 0x%08x of VHD is not 1.x", where, version);
	if (type < VHD_FIXED || type > VHD_DIFFERENCING)
		return image_damaged(err, name, -EINVAL,
			"%s: disk type %u is neither 2 (fixed), 3 (dynamic) "
			"nor 4 (differencing)",
			where, type);
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
vhd_parse_header(
	struct vhd_source *v, const unsigned char *raw, struct image_error *err)
{
	const char *name = v->base.store->name;
	uint64_t size = v->base.size;
	uint32_t sum = vhd_checksum(raw, VHD_HEADER, 36);
	uint32_t version = image_be32(raw + 24);

	if (memcmp(raw, "cxsparse", 8) != 0)
		return image_damaged(err, name, -EINVAL,
			"header of the dynamic disk does not begin with "
			"'cxsparse'");
	if (image_be32(raw + 36) != sum)
		return image_damaged(err, name, -EINVAL,
			"header of the dynamic disk: checksum 0x%08x is not "
			"0x%08x, the checksum of its bytes",
			image_be32(raw + 36), sum);
	if (version >> 16 != 1)
		return image_fail(err, name, -EINVAL,
			"header version 0x%08x is not 1.x", version);
	v->table_offset = image_be64(raw + 16);
	v->table_entries = image_be32(raw + 28);
	v->block_size = image_be32(raw + 32);
	if (v->block_size < VHD_SECTOR || (v->block_size & (v->block_size - 1)))
		return image_damaged(err, name, -EINVAL,
			"block size %u is not a power of two from 512 on",
			v->block_size);
	uint64_t needed = size / v->block_size + (size % v->block_size != 0);
	if (v->table_entries < needed)
		return image_damaged(err, name, -EINVAL,
			"max table entries %u is less than the %s that a disk "
			"of %s needs",
			v->table_entries, IMAGE_COUNT(needed, "entry"),
			IMAGE_COUNT(size, "byte"));
	if (needed > VHD_MAX_TABLE / 4)
		return image_damaged(err, name, -EINVAL,
			"a disk of %" PRIu64 " bytes in blocks of %u needs a "
			"table of more than 32 MiB",
			size, v->block_size);
	return 0;
}

/* Bytes of a block in the file. */
static uint64_t
block_bytes(const struct vhd_source *v)
{
	return v->bitmap_bytes + v->block_size;
}

/* The last block may be shorter than the others: the disk ends in it. */
static uint64_t
used_bytes(const struct vhd_source *v, uint64_t index)
{
	uint64_t begin = index * v->block_size;
	uint64_t left = v->base.size - begin;

	return v->bitmap_bytes + (left < v->block_size ? left : v->block_size);
}

static int
check_entry(const struct vhd_source *v, uint64_t index, uint64_t end,
	struct image_error *err)
{
	const struct {
		const char *name;
		uint64_t offset;
		uint64_t bytes;
	} others[] = {
		{"copy of the footer", 0, VHD_FOOTER},
		{"header", v->footer.header_offset, VHD_HEADER},
		{"table", v->table_offset, (uint64_t)v->table_entries * 4},
	};
	uint64_t begin = (uint64_t)v->table[index] * VHD_SECTOR;
	uint64_t bytes = used_bytes(v, index);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (begin < others[i].offset + others[i].bytes &&
			others[i].offset < begin + block_bytes(v))
			return image_damaged(err, v->base.store->name, -EINVAL,
				"table entry %" PRIu64
				": the block at 0x%" PRIx64
				" overlaps the %s at 0x%" PRIx64,
				index, begin, others[i].name, others[i].offset);
	if (begin + bytes <= end)
		return 0;
	return image_damaged(err, v->base.store->name, -EINVAL,
		"table entry %" PRIu64 ": the block at 0x%" PRIx64
		" with %" PRIu64 " bytes lies past the end of the blocks "
		"(0x%" PRIx64 ")",
		index, begin, bytes, end);
}

static int
ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Fail if blocks overlap: a small file could describe a huge disk full of data
 * by them. */
static int
check_overlaps(const struct vhd_source *v, struct image_error *err)
{
	uint32_t *starts = calloc((size_t)v->n_used + 1, sizeof(*starts));
	uint64_t n = 0;
	int rc = 0;

	if (!starts)
		return image_no_memory(err);
	for (uint64_t i = 0; i < v->n_blocks && n < v->n_used; i++)
		if (v->table[i] != VHD_UNUSED)
			starts[n++] = v->table[i];
	qsort(starts, (size_t)n, sizeof(*starts), ascending);
	for (uint64_t i = 1; i < n && rc == 0; i++)
		if (((uint64_t)starts[i] - starts[i - 1]) * VHD_SECTOR <
			block_bytes(v))
			rc = image_damaged(err, v->base.store->name, -EINVAL,
				"the blocks at 0x%" PRIx64 " and 0x%" PRIx64
				" overlap: a block has %" PRIu64 " bytes",
				(uint64_t)starts[i - 1] * VHD_SECTOR,
				(uint64_t)starts[i] * VHD_SECTOR,
				block_bytes(v));
	free(starts);
	return rc;
}

static int
read_table(struct vhd_source *v, struct image_error *err)
{
	struct image_store *store = v->base.store;
	size_t bytes = (size_t)v->n_blocks * 4;
	uint64_t offset = v->table_offset, end;

	if (__builtin_add_overflow(
		    offset, (uint64_t)v->table_entries * 4, &end) ||
		end > store->size)
		return image_damaged(err, store->name, -EINVAL,
			"table at 0x%" PRIx64
			" with %s lies past the end of the file (%" PRIu64
			" bytes)",
			offset, IMAGE_COUNT(v->table_entries, "entry"),
			store->size);
	v->table = malloc(bytes ? bytes : 1);
	if (!v->table)
		return image_no_memory(err);
	return image_store_read(store, offset, v->table, bytes, err);
}

/* Load the table, and check each entry. `end`: no block is past it. */
static int
vhd_load_table(struct vhd_source *v, uint64_t end, struct image_error *err)
{
	uint32_t block_size = v->block_size;
	uint64_t size = v->base.size;

	assert(block_size > 0);
	v->n_blocks = size / block_size + (size % block_size != 0);
	/* a bit for each sector, in whole sectors */
	v->bitmap_bytes = block_size < VHD_PIECE
				  ? VHD_SECTOR
				  : block_size / VHD_PIECE * VHD_SECTOR;
	int rc = read_table(v, err);
	for (uint64_t i = 0; rc == 0 && i < v->n_blocks; i++) {
		unsigned char *raw = (unsigned char *)&v->table[i];
		v->table[i] = image_be32(raw);
		if (v->table[i] == VHD_UNUSED)
			continue;
		v->n_used++;
		rc = check_entry(v, i, end, err);
		uint64_t last =
			(uint64_t)v->table[i] * VHD_SECTOR + used_bytes(v, i);
		if (last > v->blocks_end)
			v->blocks_end = last;
	}
	return rc < 0 ? rc : check_overlaps(v, err);
}

/* Set *run to the place of at most length bytes of the disk. */
static void
vhd_find(const struct vhd_source *v, uint64_t offset, uint64_t length,
	struct vhd_run *run)
{
	uint32_t size = v->block_size;
	uint64_t piece = size < VHD_PIECE ? size : VHD_PIECE;
	uint64_t index = offset / size;
	uint64_t in_block = offset % size, in_piece = offset % piece;
	uint64_t left = piece - in_piece;

	assert(index < v->n_blocks);
	if (left > v->base.size - offset)
		left = v->base.size - offset;
	*run = (struct vhd_run){.length = length < left ? length : left,
		.host = IMAGE_NO_HOST,
		.skip = in_piece,
		.last = length >= left};
	if (v->table[index] == VHD_UNUSED)
		return;
	uint64_t begin = (uint64_t)v->table[index] * VHD_SECTOR;
	run->bitmap = begin + in_block / VHD_PIECE * VHD_SECTOR;
	run->host = begin + v->bitmap_bytes + in_block;
}

/* The sector of the bitmap is constant until image_slices_put(). */
static int
vhd_get_bits(struct vhd_source *v, const struct vhd_run *run,
	struct image_slice **slice, struct image_error *err)
{
	return image_slices_get(
		v->cache, v->base.store, run->bitmap, VHD_SECTOR, slice, err);
}

/* Seconds from 1970-01-01 to 2000-01-01. */
#define EPOCH UINT64_C(946684800)

/* As in the specification, with the bytes in their order. */
static void
put_uuid(const struct image_reporter *r, const unsigned char *uuid)
{
	char text[37];
	size_t n = 0;

	for (int i = 0; i < 16; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			uuid[i]);
	image_put_text(r, "uuid", text);
}

static void
vhd_info(const struct image_source *source, const struct image_reporter *r)
{
	static const char *const types[] = {[VHD_FIXED] = "fixed",
		[VHD_DYNAMIC] = "dynamic",
		[VHD_DIFFERENCING] = "differencing"};
	const struct vhd_source *v = (const struct vhd_source *)source;
	const struct vhd_footer *f = &v->footer;
	char text[32];

	image_put_text(r, "subformat", types[f->type]);
	snprintf(text, sizeof(text), "%.4s", (const char *)f->creator);
	image_put_text(r, "creator_app", text);
	snprintf(text, sizeof(text), "%u/%u/%u", f->cylinders, f->heads,
		f->sectors);
	image_put_text(r, "geometry", text);
	image_put_text(r, "size_from",
		f->by_current_size ? "current_size" : "geometry");
	if (v->block_size) {
		image_put_number(r, "cluster_size", v->block_size);
		image_put_number(r, "blocks", v->n_used);
	}
	put_uuid(r, f->uuid);
	image_put_number(r, "date", EPOCH + f->timestamp);
}

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
	struct image_slice *slice;
	unsigned first = (unsigned)(run->skip / VHD_SECTOR);
	unsigned end = (unsigned)((run->skip + run->length + VHD_SECTOR - 1) /
				  VHD_SECTOR);
	unsigned at = first + 1;

	int rc = vhd_get_bits(v, run, &slice, err);
	if (rc < 0)
		return rc;
	const unsigned char *bits = (const unsigned char *)slice->words;
	while (at < end && vhd_bit(bits, at) == vhd_bit(bits, first))
		at++;
	if (at < end)
		extent->length = (uint64_t)at * VHD_SECTOR - run->skip;
	if (!vhd_bit(bits, first)) {
		extent->kind = IMAGE_HOLE;
		extent->host = IMAGE_NO_HOST;
	}
	image_slices_put(v->cache, slice);
	return 0;
}

static int
vhd_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	struct vhd_source *v = vhd_source(source);
	struct vhd_run run;

	int rc = image_source_refused(source, err);
	if (rc < 0)
		return rc;
	if (!v->table)
		return image_flat_extent(source, offset, length, extent, err);
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

/*
 * Sectors whose bits are clear may have any bytes in the file. Returns where
 * the first one begins that has bytes that are not zero, or run->length.
 */
static uint64_t
clear_sectors(
	const unsigned char *bits, const struct vhd_run *run, unsigned char *to)
{
	uint64_t first = run->length;

	for (uint64_t at = 0; at < run->length;) {
		uint64_t in = run->skip + at;
		uint64_t n = VHD_SECTOR - in % VHD_SECTOR;
		if (n > run->length - at)
			n = run->length - at;
		if (!vhd_bit(bits, (unsigned)(in / VHD_SECTOR)) &&
			!hone_buffer_is_zero(to + at, (size_t)n)) {
			first = first < at ? first : at;
			memset(to + at, 0, (size_t)n);
		}
		at += n;
	}
	return first;
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
	struct image_slice *slice;

	if (run->host == IMAGE_NO_HOST) {
		memset(to, 0, (size_t)run->length);
		return 0;
	}
	int rc = vhd_get_bits(v, run, &slice, err);
	if (rc < 0)
		return rc;
	rc = image_store_read(store, run->host, to, (size_t)run->length, err);
	if (rc == 0)
		release(v, run, guest,
			clear_sectors((unsigned char *)slice->words, run, to) <
				run->length);
	image_slices_put(v->cache, slice);
	return rc;
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

static void
vhd_close(struct image_source *source)
{
	struct vhd_source *v = vhd_source(source);

	image_slices_destroy(v->cache);
	free(v->table);
	free(v);
}

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
		rc = vhd_parse_header(v, raw, err);
	if (rc < 0)
		return rc;
	/* Blocks are read as a whole from a stream. */
	if (store->forward)
		v->base.unit =
			v->block_size < VHD_PIECE ? v->block_size : VHD_PIECE;
	end = store->size;
	if (end != IMAGE_SIZE_UNKNOWN)
		end -= VHD_FOOTER;
	return vhd_load_table(v, end, err);
}

static int
read_footer(struct vhd_source *v, const struct image_open *how, bool dynamic,
	struct vhd_footer *footer, struct image_error *err)
{
	struct image_store *store = v->base.store;
	unsigned char raw[VHD_FOOTER];
	int rc = 0;

	if (store->size == IMAGE_SIZE_UNKNOWN)
		rc = image_store_find_end(store, 0, UINT64_MAX, err);
	if (rc == 0)
		rc = image_store_read(
			store, store->size - VHD_FOOTER, raw, sizeof(raw), err);
	v->has_end = rc == 0;
	if (!v->has_end)
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
vhd_ended(struct image_source *source, struct image_error *err)
{
	struct vhd_source *v = vhd_source(source);
	const struct image_open how = {
		.format = &image_format_vhd, .vhd_size = v->footer.choice};
	struct image_store *store = source->store;
	struct vhd_footer end = {.size = 0};
	/* Whoever checks the stream reads the table and the bitmaps again. */
	uint64_t from = v->table_offset + (uint64_t)v->table_entries * 4;
	int rc = 0;

	if (v->has_end || source->refused)
		return 0;
	if (from < v->blocks_end)
		from = v->blocks_end;
	if (store->size == IMAGE_SIZE_UNKNOWN)
		rc = image_store_find_end(store, from, from, err);
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

static const struct image_source_ops source_ops = {
	.extent = vhd_extent,
	.read = vhd_read,
	.ended = vhd_ended,
	.info = vhd_info,
	.close = vhd_close,
};

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

/* Read the footer and, of a dynamic disk, its copy at the beginning. A stream
 * ends with another footer, which vhd_ended() compares. */
static int
load_footers(struct vhd_source *v, const struct image_open *how, bool whole,
	bool *dynamic, struct image_error *err)
{
	struct image_store *store = v->base.store;
	struct vhd_footer *f = &v->footer;
	int rc = 0;

	if (store->head_length < VHD_FOOTER)
		return image_fail(err, store->name, -EINVAL,
			"has %s, too few for the footer of a VHD",
			IMAGE_COUNT(store->head_length, "byte"));
	*dynamic = vhd_has_cookie(store->head, store->head_length);
	if (!*dynamic || whole)
		rc = read_footer(v, how, *dynamic, f, err);
	if (rc < 0 || !*dynamic)
		return rc;
	struct vhd_footer end = *f;
	rc = vhd_parse_footer(store->head, "copy of the footer", store,
		how->vhd_size, f, err);
	if (rc == 0 && f->type == VHD_FIXED)
		rc = image_damaged(err, store->name, -EINVAL,
			"copy of the footer: disk type 2 (fixed): a fixed disk "
			"has no copy");
	return rc < 0 || !v->has_end
		       ? rc
		       : compare_footers(store->name, &end, f, err);
}

static int
load(struct vhd_source *v, const struct image_open *how, bool whole,
	struct image_error *err)
{
	struct image_store *store = v->base.store;
	struct vhd_footer *f = &v->footer;
	bool dynamic = false;

	int rc = image_store_head(store, err);
	if (rc == 0)
		rc = load_footers(v, how, whole, &dynamic, err);
	if (rc < 0)
		return rc;
	v->base.size = f->size;
	describe_sizes(v);
	if (dynamic)
		rc = load_dynamic(v, err);
	else if (f->type != VHD_FIXED)
		rc = image_damaged(err, store->name, -EINVAL,
			"footer: disk type %d, but the copy of the footer is "
			"missing at the beginning of the file",
			(int)f->type);
	else if (f->size > store->size - VHD_FOOTER)
		rc = image_damaged(err, store->name, -EINVAL,
			"footer: size %" PRIu64
			" is more than the %s before the footer",
			f->size, IMAGE_COUNT(store->size - VHD_FOOTER, "byte"));
	if (rc < 0 && rc != -ENOTSUP)
		v->base.fault = &v->base.refusal;
	return image_source_inspected(&v->base, how, rc, err);
}

/*
 * As image_format.open. whole: a stream has come to its end, which can be read,
 * too.
 */
static int
vhd_open_source(struct image_store *store, const struct image_open *how,
	bool whole, struct image_source **out, struct image_error *err)
{
	struct vhd_source *v = calloc(1, sizeof(*v));

	if (!v)
		return image_no_memory(err);
	v->base.ops = &source_ops;
	v->base.format = &image_format_vhd;
	v->base.store = v->base.data = store;
	v->untrusted = how->untrusted;
	v->cache = image_slices_create(image_memory(how->memory).tables);
	int rc = v->cache ? load(v, how, whole || !store->forward, err)
			  : image_no_memory(err);
	if (rc < 0) {
		vhd_close(&v->base);
		return rc;
	}
	*out = &v->base;
	return 0;
}

/*
 * The tests of a VHD: can it be opened, and do other programs see the same
 * disk. QEMU does not look at the bitmaps, uses no bitmap for small blocks, and
 * takes another one of two sizes, depending on its release.
 */

/* QEMU has no bit for fewer sectors. */
#define MIN_BLOCK 4096

/* Bytes that are compared with zeros at a time. A visit of a stream releases
 * multiples of them. */
#define PART ((uint64_t)64 << 10)

static bool
has_clear_bit(const unsigned char *bits, const struct vhd_run *run)
{
	uint64_t at = run->skip / VHD_SECTOR;
	uint64_t end = (run->skip + run->length) / VHD_SECTOR;

	while (at < end && vhd_bit(bits, (unsigned)at))
		at++;
	return at < end;
}

/*
 * Set *at to the first sector of a run, which begins at the first bit, whose
 * bit is clear and that is not zero, or to run->length. buffer: PART bytes.
 */
static int
find_dirty(struct vhd_source *v, const struct vhd_run *run,
	unsigned char *buffer, uint64_t *at, struct image_error *err)
{
	struct image_store *store = v->base.store;
	struct image_slice *slice;
	uint64_t length;

	int rc = vhd_get_bits(v, run, &slice, err);
	if (rc < 0)
		return rc;
	const unsigned char *bits = (const unsigned char *)slice->words;
	for (*at = 0; rc == 0 && *at < run->length; *at += length) {
		uint64_t left = run->length - *at, most = PART - *at % PART;
		struct vhd_run part = {
			.length = left < most ? left : most, .skip = *at};
		bool hole;
		length = part.length;
		if (!has_clear_bit(bits, &part))
			continue;
		rc = image_store_extent(
			store, run->host + *at, left, &length, &hole, err);
		if (rc < 0)
			break;
		length -= length % VHD_SECTOR;
		if (hole && length)
			continue;
		length = part.length;
		rc = image_store_read(
			store, run->host + *at, buffer, (size_t)length, err);
		uint64_t first =
			rc == 0 ? clear_sectors(bits, &part, buffer) : length;
		if (first < length) {
			*at += first;
			break;
		}
		/* A visit of a stream keeps what has such sectors, and only
		 * that. */
		if (rc == -ESPIPE && store->forward)
			rc = 0;
	}
	image_slices_put(v->cache, slice);
	return rc;
}

/* Report a sector whose bit is clear and that is not zero. */
static int
check_bitmaps(struct vhd_source *v, struct image_verdict *verdict,
	struct image_error *err)
{
	unsigned char *buffer = malloc(PART);
	struct vhd_run run = {.length = 0};
	uint64_t at, in_run = 0;
	int rc = 0;

	if (!buffer)
		return image_no_memory(err);
	for (at = 0; rc == 0 && at < v->base.size; at += run.length) {
		vhd_find(v, at, v->base.size - at, &run);
		if (run.host == IMAGE_NO_HOST)
			continue;
		rc = find_dirty(v, &run, buffer, &in_run, err);
		/* The bitmap was released with its sectors. */
		if (rc == -ESPIPE && v->base.store->forward)
			rc = 0;
		else if (in_run < run.length)
			break;
	}
	free(buffer);
	if (rc < 0)
		return rc;
	if (at < v->base.size)
		image_verdict_add(verdict, "bitmaps", 1,
			"disk offset 0x%" PRIx64 ", from 0x%" PRIx64
			" of the file on: bits of the bitmap at 0x%" PRIx64
			" are clear, and the sectors are not zero, which QEMU "
			"reads",
			at + in_run, run.host + in_run, run.bitmap);
	else
		image_verdict_add(verdict, "bitmaps", 0, "%s",
			"sectors whose bits are clear are zero");
	return 0;
}

/*
 * Set *dirty to whether there is data behind the smaller one of two sizes. The
 * disk with the larger size may lack room in the table or in the file.
 */
static int
find_between(struct vhd_source *v, bool *dirty, struct image_error *err)
{
	const struct vhd_footer *f = &v->footer;
	bool larger = f->other_size > f->size;
	uint64_t begin = larger ? f->size : f->other_size;
	uint64_t end = larger ? f->other_size : f->size, data;
	struct image_source *other = &v->base;
	struct image_store *store = other->store;
	int rc = 0;

	if (f->type == VHD_FIXED && end > store->size - VHD_FOOTER)
		end = store->size - VHD_FOOTER;
	if (f->type != VHD_FIXED && larger) {
		const struct image_open how = {.format = &image_format_vhd,
			.untrusted = true,
			.vhd_size = f->by_current_size
					    ? IMAGE_VHD_GEOMETRY
					    : IMAGE_VHD_CURRENT_SIZE};
		rc = vhd_open_source(store, &how, true, &other, err);
		if (rc < 0)
			return rc == -EINVAL ? 0 : rc;
	}
	rc = image_source_find_data(other, begin, end, &data, err);
	*dirty = rc == 0 && data < end;
	if (other != &v->base)
		vhd_close(other);
	return rc;
}

static int
check_sizes(struct vhd_source *v, struct image_verdict *verdict,
	struct image_error *err)
{
	const struct vhd_footer *f = &v->footer;
	const char *field = f->by_current_size ? "current size" : "geometry";
	bool dirty = false;

	int rc = f->unsure ? find_between(v, &dirty, err) : 0;
	if (rc < 0)
		return rc;
	if (dirty)
		image_verdict_add(verdict, "sizes", 1,
			"%s, and there is data behind the smaller size",
			v->doubt);
	else
		image_verdict_add(verdict, "sizes", 0,
			"%" PRIu64 " bytes by its %s", f->size, field);
	return 0;
}

static int
check_disk(struct vhd_source *v, struct image_verdict *verdict,
	struct image_error *err)
{
	uint32_t size = v->block_size;

	image_verdict_add(verdict, "well_formed", 0, "%s",
		v->table ? IMAGE_COUNT(v->n_used, "block") : "fixed");
	image_verdict_add(verdict, "parent", 0, "%s", "none");
	int rc = check_sizes(v, verdict, err);
	if (rc < 0 || !v->table)
		return rc;
	if (size >= MIN_BLOCK) {
		image_verdict_add(verdict, "block_size", 0, "%u", size);
		return check_bitmaps(v, verdict, err);
	}
	image_verdict_add(verdict, "block_size", 1,
		"block size %u of the header is less than 4096, and QEMU reads "
		"such blocks without a bitmap",
		size);
	return 0;
}

/*
 * A VHD names no other file except as the parent of a differencing disk, which
 * is refused.
 */
static int
vhd_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err)
{
	const struct image_open how = {.format = &image_format_vhd,
		.untrusted = true,
		.vhd_size = verdict->vhd_size};
	struct image_source *source = NULL;

	int rc = vhd_open_source(store, &how, true, &source, err);
	if (rc == -ENOTSUP || rc == -EINVAL) {
		image_verdict_add(verdict,
			rc == -ENOTSUP ? "parent" : "well_formed", 1, "%s",
			err->text);
		return 0;
	}
	if (rc < 0)
		return rc;
	assert(source);
	rc = check_disk(vhd_source(source), verdict, err);
	vhd_close(source);
	return rc;
}

static int
vhd_open(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	return vhd_open_source(store, how, false, out, err);
}

const struct image_format image_format_vhd = {
	.name = "vhd",
	.alias = "vpc",
	.suffixes = ".vhd .vpc",
	.footer = true,
	.streams = true,
	.probe = vhd_has_cookie,
	.open = vhd_open,
	.check = vhd_check,
	.options = vhd_options,
	.set = vhd_set,
	.create = vhd_create,
};
