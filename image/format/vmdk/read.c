/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the grains of a range by the tables, and reads them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "format/source.h"
#include "format/vmdk/vmdk.h"

static bool
is_past_end(const struct image_store *store, uint64_t offset, uint64_t length)
{
	return offset > store->size || store->size - offset < length;
}

static int
compare_sectors(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Fail if two entries have the same grain table: a small file could describe a
 * huge disk full of data by them. */
static int
check_unique(const struct vmdk_extent *e, struct image_error *err)
{
	uint64_t n = 0;
	uint32_t *sorted = malloc(e->header.tables * sizeof(*sorted) + 1);

	if (!sorted)
		return image_no_memory(err);
	for (uint64_t i = 0; i < e->header.tables; i++)
		if (e->directory[i])
			sorted[n++] = e->directory[i];
	qsort(sorted, n, sizeof(*sorted), compare_sectors);
	uint64_t least = vmdk_table_bytes(&e->header) / VMDK_SECTOR;
	uint32_t twice = 0;
	for (uint64_t i = 1; i < n && !twice; i++)
		if (sorted[i] - sorted[i - 1] < (least ? least : 1))
			twice = sorted[i];
	free(sorted);
	if (twice)
		return image_damaged(err, e->store->name, -EINVAL,
			"two grain tables overlap at sector %" PRIu32, twice);
	return 0;
}

static int
parse_directory(const struct vmdk_extent *e, struct image_error *err)
{
	const struct image_store *store = e->store;

	for (uint64_t i = 0; i < e->header.tables; i++) {
		uint32_t sector = le32toh(e->directory[i]);
		e->directory[i] = sector;
		if (sector && is_past_end(store, (uint64_t)sector * VMDK_SECTOR,
				      vmdk_table_bytes(&e->header)))
			return image_damaged(err, store->name, -EINVAL,
				"entry %" PRIu64
				" of the grain directory has a grain table at "
				"sector %" PRIu32
				", past the end of the file (%" PRIu64
				" bytes)",
				i, sector, store->size);
	}
	return check_unique(e, err);
}

int
vmdk_load_directory(struct vmdk_extent *extent, struct image_error *err)
{
	const struct vmdk_header *h = &extent->header;
	struct image_store *store = extent->store;
	size_t bytes = (size_t)h->tables * sizeof(uint32_t);

	if (h->tables && is_past_end(store, h->directory, bytes))
		return image_damaged(err, store->name, -EINVAL,
			"grain directory at sector %" PRIu64
			" with %s lies past the end of the file (%" PRIu64
			" bytes)",
			h->directory / VMDK_SECTOR,
			IMAGE_COUNT(h->tables, "entry"), store->size);
	if (h->tables && h->directory < VMDK_SECTOR)
		return image_damaged(err, store->name, -EINVAL,
			"gdOffset 0 of its header lies on the header");
	extent->directory = malloc(bytes + 1);
	if (!extent->directory)
		return image_no_memory(err);
	int rc = image_store_read(
		store, h->directory, extent->directory, bytes, err);
	return rc == 0 ? parse_directory(extent, err) : rc;
}

/* Grain tables that are read at a time: 64 KiB, as a table of qcow2 has. */
#define ADJACENT 32

/* Grain tables of an extent that are adjacent in the file, in the cache. */
struct tables {
	const struct vmdk_extent *extent;
	const struct image_slice *slice;
	/* of the grain directory */
	uint64_t first;
	uint64_t count;
};

/* Find the tables that are read with that of an entry, which has one. An entry
 * is always in the same group, so that slices do not overlap. */
static struct tables
find_tables(const struct vmdk_extent *e, uint64_t index)
{
	uint64_t first = index - index % ADJACENT;
	uint64_t left = e->header.tables - first;
	uint64_t count = left < ADJACENT ? left : ADJACENT;
	uint64_t step = vmdk_table_bytes(&e->header) / VMDK_SECTOR;
	const uint32_t *sectors = e->directory + first;

	for (uint64_t i = 0; i < count; i++)
		if (!sectors[i] || sectors[i] != sectors[0] + i * step)
			return (struct tables){e, NULL, index, 1};
	return (struct tables){e, NULL, first, count};
}

/* grain: of the extent, in one of the tables. */
static uint32_t
entry_of(const struct tables *t, uint64_t grain)
{
	uint64_t index = grain - t->first * t->extent->header.entries;

	return image_le32((const unsigned char *)t->slice->words + 4 * index);
}

static enum vmdk_kind
kind_of(const struct vmdk_extent *e, uint32_t entry)
{
	if (entry == 0)
		return VMDK_HOLE;
	if (entry == 1 && (e->header.flags & VMDK_ZEROED_GRAINS))
		return VMDK_ZEROED;
	return e->header.flags & VMDK_COMPRESSED ? VMDK_PACKED : VMDK_PLAIN;
}

/* Check the entry of a grain that has data; `wanted` bytes of it are read. */
static int
parse_grain(const struct vmdk_extent *e, uint64_t guest, uint32_t entry,
	uint64_t wanted, struct image_error *err)
{
	uint64_t host = (uint64_t)entry * VMDK_SECTOR;

	/* overHead may count tables that are not there. */
	if (host < vmdk_begin(&e->header))
		return image_damaged(err, e->store->name, -EINVAL,
			"grain of guest offset 0x%" PRIx64 " at sector %" PRIu32
			" lies before sector %" PRIu64
			", the first that is free for grains",
			e->begin + guest, entry,
			vmdk_begin(&e->header) / VMDK_SECTOR);
	if (is_past_end(e->store, host, wanted))
		return image_damaged(err, e->store->name, -EINVAL,
			"grain of guest offset 0x%" PRIx64 " at sector %" PRIu32
			" lies past the end of the file (%" PRIu64 " bytes)",
			e->begin + guest, entry, e->store->size);
	return 0;
}

/* Describe a range of grain tables, from the byte `at` of the extent on. */
static int
describe(const struct tables *t, uint64_t at, uint64_t limit,
	struct vmdk_run *run, struct image_error *err)
{
	const struct vmdk_extent *e = t->extent;
	uint64_t grain = vmdk_grain(e);
	uint64_t index = at >> e->header.grain_bits;
	uint64_t end = (t->first + t->count) * e->header.entries;
	uint32_t first = entry_of(t, index);
	uint64_t step = grain / VMDK_SECTOR;

	run->kind = kind_of(e, first);
	run->host = (uint64_t)first * VMDK_SECTOR;
	run->length = 0;
	for (uint64_t i = index; i < end && run->length < limit; i++) {
		uint32_t entry = entry_of(t, i);
		uint64_t skip = i == index ? at & (grain - 1) : 0;
		uint64_t part = grain - skip;
		if (part > limit - run->length)
			part = limit - run->length;
		bool adjacent = run->kind != VMDK_PLAIN ||
				entry == first + (i - index) * step;
		if (i > index && (kind_of(e, entry) != run->kind ||
					 run->kind == VMDK_PACKED || !adjacent))
			break;
		bool plain = run->kind == VMDK_PLAIN;
		if (plain || run->kind == VMDK_PACKED) {
			int rc = parse_grain(e, i << e->header.grain_bits,
				entry,
				plain ? skip + part : VMDK_GRAIN_MARKER + 1,
				err);
			if (rc < 0)
				return rc;
		}
		run->length += part;
	}
	if (run->kind == VMDK_PLAIN)
		run->host += at & (grain - 1);
	return 0;
}

/* The range has no grain up to the grain table of entry `index`, or up to a
 * later one. */
static void
describe_gap(const struct vmdk_extent *e, uint64_t index, uint64_t at,
	uint64_t limit, struct vmdk_run *run)
{
	uint64_t covered = vmdk_grain(e) * e->header.entries;
	uint64_t end = at + limit;

	while (index < e->header.tables && !e->directory[index] &&
		index * covered < end)
		index++;
	run->kind = VMDK_HOLE;
	run->length = index * covered - at;
	if (run->length > limit)
		run->length = limit;
}

static int
lookup_sparse(struct vmdk_source *v, const struct vmdk_extent *e, uint64_t at,
	uint64_t limit, struct vmdk_run *run, struct image_error *err)
{
	uint64_t index = at / (vmdk_grain(e) * e->header.entries);
	struct image_slice *slice;

	if (v->walk)
		return vmdk_walk_lookup(v->walk, at, limit, run, err);
	if (!e->directory[index]) {
		describe_gap(e, index + 1, at, limit, run);
		return 0;
	}
	struct tables t = find_tables(e, index);
	int rc = image_slices_get(v->cache, e->store,
		(uint64_t)e->directory[t.first] * VMDK_SECTOR,
		(size_t)(t.count * vmdk_table_bytes(&e->header)), &slice, err);
	if (rc < 0)
		return rc;
	t.slice = slice;
	/* A sparse file may have millions of tables in holes. */
	if (slice->zero)
		describe_gap(e, t.first + t.count, at, limit, run);
	else
		rc = describe(&t, at, limit, run, err);
	image_slices_put(v->cache, slice);
	return rc;
}

static const struct vmdk_extent *
find_extent(const struct vmdk_source *v, uint64_t guest)
{
	size_t low = 0, high = v->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (v->extents[middle].begin <= guest)
			low = middle;
		else
			high = middle;
	}
	return &v->extents[low];
}

int
vmdk_lookup(struct vmdk_source *v, uint64_t guest, uint64_t limit,
	struct vmdk_run *run, struct image_error *err)
{
	const struct vmdk_extent *e = find_extent(v, guest);
	uint64_t at = guest - e->begin;

	if (limit > e->end - guest)
		limit = e->end - guest;
	*run = (struct vmdk_run){.extent = e, .length = limit};
	if (e->kind == VMDK_SPARSE)
		return lookup_sparse(v, e, at, limit, run, err);
	run->kind = e->kind == VMDK_ZERO ? VMDK_HOLE : VMDK_PLAIN;
	run->host = e->host + at;
	return 0;
}

/* Most bytes of a compressed grain with its marker; QEMU's limit. */
static size_t
most_stored(const struct vmdk_extent *e)
{
	return 2 * (size_t)vmdk_grain(e);
}

/* Check the marker in front of a compressed grain. Sets *stored. */
static int
parse_marker(const struct vmdk_extent *e, const struct image_unit *p,
	const unsigned char *raw, size_t *stored, struct image_error *err)
{
	uint64_t sector = image_le64(raw);
	uint32_t size = image_le32(raw + 8);

	if (sector != (p->guest - e->begin) / VMDK_SECTOR)
		return image_damaged(err, e->store->name, -EINVAL,
			"marker at sector %" PRIu64 " is of the grain at disk "
			"sector %" PRIu64 ", not %" PRIu64,
			p->host / VMDK_SECTOR, sector,
			(p->guest - e->begin) / VMDK_SECTOR);
	if (size == 0 || size > most_stored(e) - VMDK_GRAIN_MARKER)
		return image_damaged(err, e->store->name, -EINVAL,
			"marker at sector %" PRIu64 " has %" PRIu32
			" compressed bytes, and the limit is 1 to %zu",
			p->host / VMDK_SECTOR, size,
			most_stored(e) - VMDK_GRAIN_MARKER);
	*stored = size;
	return 0;
}

static int
unpack(const struct image_batch *b, const struct image_unit *p,
	const unsigned char *bytes, uint64_t end, unsigned char *to,
	struct image_error *err)
{
	const struct vmdk_extent *e = b->owner;
	size_t stored = 0, made = 0;

	if (p->host + VMDK_GRAIN_MARKER >= end)
		return image_fail(err, e->store->name, -EIO,
			"has no data at offset %" PRIu64, p->host);
	int rc = parse_marker(e, p, bytes, &stored, err);
	if (rc < 0)
		return rc;
	if (stored > end - p->host - VMDK_GRAIN_MARKER)
		return image_damaged(err, e->store->name, -EINVAL,
			"compressed grain of guest offset 0x%" PRIx64
			" at sector %" PRIu64 " with %zu bytes lies past the "
			"end of the file",
			p->guest, p->host / VMDK_SECTOR, stored);
	rc = image_unzlib(b->scratch, bytes + VMDK_GRAIN_MARKER, stored, to,
		b->unit, &made);
	if (rc == -ENOMEM)
		return image_no_memory(err);
	/* The last grain may end with the disk. */
	uint64_t left = e->end - p->guest;
	if (rc < 0 || made < (left < b->unit ? left : b->unit))
		return image_damaged(err, e->store->name, -EINVAL,
			"compressed grain of guest offset 0x%" PRIx64
			" at sector %" PRIu64 " with %s is damaged",
			p->guest, p->host / VMDK_SECTOR,
			IMAGE_COUNT(stored, "byte"));
	image_store_release(
		e->store, p->host, vmdk_align(VMDK_GRAIN_MARKER + stored));
	return 0;
}

/* Of a stream, no bytes of other grains are read, which come once: the unit has
 * the length that its marker states. */
static int
add_packed(struct image_batch *b, const struct vmdk_run *run, uint64_t guest,
	unsigned char *to, struct image_error *err)
{
	const struct vmdk_extent *e = run->extent;
	uint64_t skip = (guest - e->begin) & (vmdk_grain(e) - 1);
	struct image_unit unit = {
		.guest = guest - skip,
		.host = run->host,
		.stored = most_stored(e),
		.skip = (size_t)skip,
		.length = (size_t)run->length,
		.to = to,
	};
	unsigned char marker[VMDK_GRAIN_MARKER];
	size_t stored = 0;
	int rc = 0;

	if (e->store->forward) {
		rc = image_store_read(
			e->store, unit.host, marker, sizeof(marker), err);
		if (rc == 0)
			rc = parse_marker(e, &unit, marker, &stored, err);
		unit.stored = vmdk_align(sizeof(marker) + stored);
	}
	return rc < 0 ? rc
		      : image_batch_add(b, e, e->store, (size_t)vmdk_grain(e),
				&unit, err);
}

int
vmdk_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	struct vmdk_source *v = vmdk_source(source);
	struct image_batch batch;
	unsigned char *to = buf;

	int rc = image_source_refused(source, err);
	batch.n = 0;
	batch.scratch = scratch;
	batch.unpack = unpack;
	while (rc == 0 && length) {
		struct vmdk_run run;
		rc = vmdk_lookup(v, offset, length, &run, err);
		if (rc < 0)
			break;
		size_t n = (size_t)run.length;
		struct image_store *store = run.extent->store;
		if (run.kind == VMDK_PACKED)
			rc = add_packed(&batch, &run, offset, to, err);
		else if (run.kind == VMDK_PLAIN)
			rc = image_store_read(store, run.host, to, n, err);
		else
			memset(to, 0, n);
		if (rc == 0 && run.kind == VMDK_PLAIN)
			image_store_release(store, run.host, n);
		offset += n;
		to += n;
		length -= n;
	}
	return rc == 0 ? image_batch_read(&batch, err) : rc;
}
