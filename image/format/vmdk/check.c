/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of a VMDK image: its descriptor names no other file, tables and
 * grains do not overlap, and both copies of the tables are equal. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "format/format.h"
#include "format/vmdk/vmdk.h"

/* Sectors whose use is known at once, in 64 MiB of memory: 256 GiB of a file.
 * In a larger one, the tables with grains in a window are walked once for each.
 */
#define WINDOW (UINT64_C(1) << 29)

struct check {
	struct vmdk_source *v;
	const struct vmdk_extent *extent;
	/* a bit for each sector of the window that is used */
	uint64_t *used;
	/* the window, in sectors */
	uint64_t begin;
	uint64_t end;
	/* of each grain table: a bit for each window with one of its grains,
	 * known after the first window */
	uint16_t *windows;
	uint64_t tables;
	uint64_t grains;
	uint64_t overlaps;
	/* a sector with two uses */
	uint64_t overlap;
};

/* Mark the sectors of a range as used, as far as they are in the window. */
static void
use(struct check *k, uint64_t offset, uint64_t bytes)
{
	uint64_t at = offset / VMDK_SECTOR;
	uint64_t end = at + (bytes + VMDK_SECTOR - 1) / VMDK_SECTOR;
	bool twice = false;

	at = at > k->begin ? at : k->begin;
	end = end < k->end ? end : k->end;
	while (at < end) {
		unsigned shift = at % 64;
		uint64_t n = 64 - shift < end - at ? 64 - shift : end - at;
		uint64_t bits = UINT64_MAX >> (64 - n) << shift;
		uint64_t *word = &k->used[(at - k->begin) / 64];
		if (*word & bits && !twice) {
			twice = true;
			if (k->overlaps++ == 0)
				k->overlap =
					at - shift +
					(uint64_t)__builtin_ctzll(*word & bits);
		}
		*word |= bits;
		at += n;
	}
}

/*
 * Set *inside to whether a grain table lies in a hole of the file: a sparse
 * file may have millions of tables there.
 */
static int
find_hole(const struct vmdk_extent *e, uint32_t sector, bool *inside,
	struct image_error *err)
{
	uint64_t offset = (uint64_t)sector * VMDK_SECTOR, length = 0;
	bool hole = false;
	int rc = 0;

	if (!e->store->forward)
		rc = image_store_extent(e->store, offset,
			e->store->size - offset, &length, &hole, err);
	*inside = hole && length >= vmdk_table_bytes(&e->header);
	return rc;
}

static int
compare_tables(struct check *k, uint64_t index, uint32_t redundant,
	struct image_error *err)
{
	const struct vmdk_extent *e = k->extent;
	unsigned char tables[2][VMDK_TABLE_ENTRIES * 4];
	size_t bytes = vmdk_table_bytes(&e->header);
	uint64_t offset = (uint64_t)redundant * VMDK_SECTOR;
	bool inside = false, copy_inside = false;

	/* The directory was checked. */
	if (offset > e->store->size || e->store->size - offset < bytes)
		return image_damaged(err, e->store->name, -EINVAL,
			"redundant grain table %" PRIu64 " at sector %" PRIu32
			" lies past the end of the file",
			index, redundant);
	int rc = find_hole(e, e->directory[index], &inside, err);
	if (rc == 0)
		rc = find_hole(e, redundant, &copy_inside, err);
	if (inside && copy_inside)
		return rc;
	if (rc == 0)
		rc = image_store_read(e->store,
			(uint64_t)e->directory[index] * VMDK_SECTOR, tables[0],
			bytes, err);
	if (rc == 0)
		rc = image_store_read(e->store, offset, tables[1], bytes, err);
	if (rc == 0 && memcmp(tables[0], tables[1], bytes) != 0)
		rc = image_damaged(err, e->store->name, -EINVAL,
			"grain table %" PRIu64 " differs from its redundant "
			"copy at sector %" PRIu32,
			index, redundant);
	return rc;
}

static int
check_redundant(struct check *k, struct image_error *err)
{
	const struct vmdk_extent *e = k->extent;
	const struct vmdk_header *h = &e->header;
	uint32_t entries[1024];
	int rc = 0;

	if (!h->redundant)
		return 0;
	if (h->redundant > e->store->size ||
		e->store->size - h->redundant < h->tables * sizeof(uint32_t))
		return image_damaged(err, e->store->name, -EINVAL,
			"redundant grain directory at sector %" PRIu64
			" with %s lies past the end of the file",
			h->redundant / VMDK_SECTOR,
			IMAGE_COUNT(h->tables, "entry"));
	use(k, h->redundant, h->tables * sizeof(uint32_t));
	for (uint64_t i = 0; rc == 0 && i < h->tables; i++) {
		uint64_t left = h->tables - i;
		if (i % 1024 == 0)
			rc = image_store_read(e->store, h->redundant + i * 4,
				entries, (left < 1024 ? left : 1024) * 4, err);
		if (rc < 0)
			break;
		uint32_t entry = le32toh(entries[i % 1024]);
		if (!entry != !e->directory[i])
			return image_damaged(err, e->store->name, -EINVAL,
				"entry %" PRIu64 " of the redundant grain "
				"directory is %" PRIu32 ", and that of the "
				"directory %" PRIu32,
				i, entry, e->directory[i]);
		if (!entry)
			continue;
		use(k, (uint64_t)entry * VMDK_SECTOR, vmdk_table_bytes(h));
		if (k->begin == 0)
			rc = compare_tables(k, i, entry, err);
	}
	return rc;
}

static void
use_grains(struct check *k, uint64_t index, const struct vmdk_run *run)
{
	unsigned bits = k->extent->header.grain_bits;
	/* The length of a packed grain is in its marker, which is checked when
	 * the grain is read. */
	uint64_t bytes = run->kind == VMDK_PLAIN ? run->length : 1;
	uint64_t first = run->host / VMDK_SECTOR / WINDOW;
	uint64_t last = (run->host + bytes - 1) / VMDK_SECTOR / WINDOW;

	use(k, run->host, bytes);
	if (k->begin == 0)
		k->grains += (run->length + vmdk_grain(k->extent) - 1) >> bits;
	k->windows[index] |= (uint16_t)(1u << first | 1u << last);
}

static int
check_grains(struct check *k, uint64_t index, struct image_error *err)
{
	const struct vmdk_extent *e = k->extent;
	uint64_t covered = vmdk_grain(e) * e->header.entries;
	uint64_t at = index * covered;
	uint64_t end = e->end - at < covered ? e->end : at + covered;

	while (at < end) {
		struct vmdk_run run;
		int rc = vmdk_lookup(k->v, at, end - at, &run, err);
		if (rc < 0)
			return rc;
		at += run.length;
		if (run.kind == VMDK_PLAIN || run.kind == VMDK_PACKED)
			use_grains(k, index, &run);
	}
	return 0;
}

static int
check_window(struct check *k, struct image_error *err)
{
	const struct vmdk_extent *e = k->extent;
	const struct vmdk_header *h = &e->header;
	uint16_t window = (uint16_t)(1u << k->begin / WINDOW);

	use(k, 0, VMDK_SECTOR);
	use(k, h->descriptor, h->descriptor_bytes);
	use(k, h->directory, h->tables * sizeof(uint32_t));
	for (uint64_t i = 0; i < h->tables; i++)
		if (e->directory[i])
			use(k, (uint64_t)e->directory[i] * VMDK_SECTOR,
				vmdk_table_bytes(h));
	int rc = check_redundant(k, err);
	for (uint64_t i = 0; rc == 0 && i < h->tables; i++) {
		if (!e->directory[i])
			continue;
		k->tables += k->begin == 0;
		if (k->begin != 0 && !(k->windows[i] & window))
			continue;
		bool inside = false;
		rc = find_hole(e, e->directory[i], &inside, err);
		if (rc == 0 && !inside)
			rc = check_grains(k, i, err);
	}
	return rc;
}

static int
walk(struct check *k, struct image_error *err)
{
	uint64_t sectors = k->extent->store->size / VMDK_SECTOR + 1;
	int rc = 0;

	_Static_assert((UINT64_C(1) << 32) / WINDOW < 16, "bits of windows[]");
	if (sectors > (UINT64_C(1) << 32) + VMDK_MAX_GRAIN)
		sectors = (UINT64_C(1) << 32) + VMDK_MAX_GRAIN;
	k->windows = calloc(
		(size_t)k->extent->header.tables + 1, sizeof(*k->windows));
	if (!k->windows)
		return image_no_memory(err);
	for (uint64_t at = 0; rc == 0 && at < sectors; at += WINDOW) {
		k->begin = at;
		k->end = sectors - at < WINDOW ? sectors : at + WINDOW;
		/* Pages without a bit take no memory. */
		free(k->used);
		k->used = calloc(
			(size_t)((k->end - at) / 64 + 1), sizeof(*k->used));
		if (!k->used)
			return image_no_memory(err);
		rc = check_window(k, err);
	}
	return rc;
}

static void
report(struct image_verdict *verdict, const struct check *k)
{
	image_verdict_add(verdict, "well_formed", 0, "%s, %s",
		IMAGE_COUNT(k->tables, "grain table"),
		IMAGE_COUNT(k->grains, "grain"));
	image_verdict_add(verdict, "descriptor", 0, "%s",
		"it names the file itself and no other");
	if (k->overlaps)
		image_verdict_add(verdict, "overlaps", k->overlaps,
			"sector %" PRIu64 " of the file is used twice",
			k->overlap);
	else
		image_verdict_add(verdict, "overlaps", 0, "%s", "none");
}

int
vmdk_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err)
{
	const struct image_open how = {
		.format = &image_format_vmdk, .untrusted = true};
	struct image_source *source;
	struct check k = {.used = NULL};

	int rc = vmdk_open_source(store, &how, true, &source, err);
	if (rc == 0) {
		k.v = vmdk_source(source);
		k.extent = k.v->extents;
		/* Extents of zeros alone name no file. */
		bool sparse = k.v->count && k.extent->kind == VMDK_SPARSE;
		rc = sparse ? walk(&k, err) : vmdk_check_subformat(k.v, err);
		if (rc == 0 && sparse)
			rc = vmdk_check_markers(k.v, k.grains, err);
		vmdk_close(&k.v->base);
	}
	free(k.used);
	free(k.windows);
	if (rc == 0)
		report(verdict, &k);
	else if (rc == -EPERM)
		image_verdict_add(verdict, "descriptor", 1, "%s", err->text);
	else if (rc == -EINVAL || rc == -EFBIG || rc == -ENOTSUP)
		image_verdict_add(verdict, "well_formed", 1, "%s", err->text);
	else
		return rc;
	return 0;
}
