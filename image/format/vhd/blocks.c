/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a dynamic VHD, and the bitmaps of its blocks. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "format/vhd/vhd.h"

/* Bytes of a block in the file. */
static uint64_t
block_bytes(const struct vhd_source *v)
{
	return v->bitmap_bytes + v->header.block_size;
}

static int
check_outside(const struct vhd_source *v, uint64_t index, uint64_t begin,
	const char *what, uint64_t offset, uint64_t bytes,
	struct image_error *err)
{
	if (begin >= offset + bytes || offset >= begin + block_bytes(v))
		return 0;
	return image_damaged(err, v->base.store->name, -EINVAL,
		"table entry %" PRIu64 ": the block at 0x%" PRIx64
		" overlaps the %s at 0x%" PRIx64,
		index, begin, what, offset);
}

/* The last block may be shorter than the others: the disk ends in it. */
static uint64_t
used_bytes(const struct vhd_source *v, uint64_t index)
{
	uint64_t begin = index * v->header.block_size;
	uint64_t left = v->base.size - begin;

	return v->bitmap_bytes +
	       (left < v->header.block_size ? left : v->header.block_size);
}

static int
check_entry(const struct vhd_source *v, uint64_t index, uint64_t end,
	struct image_error *err)
{
	uint64_t begin = (uint64_t)v->table[index] * VHD_SECTOR;
	uint64_t bytes = used_bytes(v, index);

	int rc = check_outside(
		v, index, begin, "copy of the footer", 0, VHD_FOOTER, err);
	if (rc == 0)
		rc = check_outside(v, index, begin, "header",
			v->footer.header_offset, VHD_HEADER, err);
	if (rc == 0)
		rc = check_outside(v, index, begin, "table",
			v->header.table_offset,
			(uint64_t)v->header.table_entries * 4, err);
	if (rc < 0 || begin + bytes <= end)
		return rc;
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

static int
overlap(const struct vhd_source *v, const uint32_t *starts,
	struct image_error *err)
{
	for (uint64_t i = 1; i < v->n_used; i++)
		if (((uint64_t)starts[i] - starts[i - 1]) * VHD_SECTOR <
			block_bytes(v))
			return image_damaged(err, v->base.store->name, -EINVAL,
				"the blocks at 0x%" PRIx64 " and 0x%" PRIx64
				" overlap: a block has %" PRIu64 " bytes",
				(uint64_t)starts[i - 1] * VHD_SECTOR,
				(uint64_t)starts[i] * VHD_SECTOR,
				block_bytes(v));
	return 0;
}

/* Fail if blocks overlap: a small file could describe a huge disk full of data
 * by them. */
static int
check_overlaps(struct vhd_source *v, struct image_error *err)
{
	uint32_t *starts;
	bool sorted = true;
	uint64_t n = 0;

	if (v->n_used < 2)
		return 0;
	starts = calloc((size_t)v->n_used, sizeof(*starts));
	if (!starts)
		return image_no_memory(err);
	for (uint64_t i = 0; i < v->n_blocks && n < v->n_used; i++) {
		if (v->table[i] == VHD_UNUSED)
			continue;
		sorted = sorted && (n == 0 || starts[n - 1] <= v->table[i]);
		starts[n++] = v->table[i];
	}
	if (!sorted)
		qsort(starts, (size_t)n, sizeof(*starts), ascending);
	int rc = overlap(v, starts, err);
	free(starts);
	return rc;
}

static int
read_table(struct vhd_source *v, struct image_error *err)
{
	struct image_store *store = v->base.store;
	size_t bytes = (size_t)v->n_blocks * 4;
	uint64_t offset = v->header.table_offset, end;

	if (__builtin_add_overflow(
		    offset, (uint64_t)v->header.table_entries * 4, &end) ||
		end > store->size)
		return image_damaged(err, store->name, -EINVAL,
			"table at 0x%" PRIx64 " with %" PRIu32
			" %s lies past the end of the file (%" PRIu64 " bytes)",
			offset, v->header.table_entries,
			image_plural(
				v->header.table_entries, "entry", "entries"),
			store->size);
	v->table = malloc(bytes ? bytes : 1);
	if (!v->table)
		return image_no_memory(err);
	return image_store_read(store, offset, v->table, bytes, err);
}

int
vhd_load_table(struct vhd_source *v, uint64_t end, struct image_error *err)
{
	uint32_t block_size = v->header.block_size;
	uint64_t size = v->base.size;

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

void
vhd_find(const struct vhd_source *v, uint64_t offset, uint64_t length,
	struct vhd_run *run)
{
	uint32_t size = v->header.block_size;
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

int
vhd_read_bits(struct vhd_source *v, uint64_t offset,
	unsigned char bits[VHD_SECTOR], struct image_error *err)
{
	/* Blocks that follow each other have other slots, whatever their
	 * size. */
	uint64_t hash = offset / VHD_SECTOR * UINT64_C(0x9e3779b97f4a7c15);
	struct vhd_slot *slot = &v->slots[hash >> 60];
	_Static_assert(VHD_SLOTS == 16, "the hash has four bits");

	pthread_mutex_lock(&v->lock);
	bool hit = slot->used && slot->offset == offset;
	if (hit)
		memcpy(bits, slot->bits, VHD_SECTOR);
	pthread_mutex_unlock(&v->lock);
	if (hit)
		return 0;
	int rc = image_store_read(v->base.store, offset, bits, VHD_SECTOR, err);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&v->lock);
	slot->used = true;
	slot->offset = offset;
	memcpy(slot->bits, bits, VHD_SECTOR);
	pthread_mutex_unlock(&v->lock);
	return 0;
}
