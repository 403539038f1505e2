/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds ranges of the disk by the L2 tables, in the image and in its backing
 * chain, describes them, and reads them.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "format/qcow2/qcow2.h"
#include "format/source.h"

/* Longest slice: a larger L2 table is read in parts. */
#define SLICE_BYTES ((size_t)64 << 10)

/* In an L2 entry of version 3: the cluster reads as zeros. */
#define ZERO (UINT64_C(1) << 0)

/* Most entries of the L1 table that one call visits. */
#define MOST_L1_ENTRIES 4096

enum qcow2_kind {
	QCOW2_UNALLOCATED,
	QCOW2_ZERO,
	QCOW2_STANDARD,
	QCOW2_COMPRESSED
};

/* A range of the disk whose bytes are contiguous in the file. */
struct qcow2_run {
	enum qcow2_kind kind;
	uint64_t length;
	/* standard: offset in the data file of the first byte of the range;
	 * compressed: offset in the image of the whole cluster's bytes */
	uint64_t host;
	/* compressed: bytes from host on */
	uint32_t stored;
};

/* A range of the disk, looked up through the whole chain. */
struct qcow2_place {
	struct qcow2_run run;
	/* the image of the chain that describes the range; if its bytes are in
	 * a backing file of another format, that of the last qcow2 image */
	struct qcow2_source *layer;
	/* not NULL: read the range from this source; run.kind is not used */
	struct image_source *other;
	/* depth of the file with the bytes; 0 if no file has them */
	unsigned depth;
};

static bool
overlap(uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length)
{
	return a < b + b_length && b < a + a_length;
}

static int
bad_entry(const struct qcow2_source *q, uint64_t guest, uint64_t entry,
	const char *why, struct image_error *err)
{
	return image_damaged(err, q->base.store->name, -EINVAL,
		"L2 entry 0x%016" PRIx64 " of guest offset 0x%" PRIx64 " %s",
		entry, guest, why);
}

static int
past_the_end(const struct image_store *store, const char *kind, uint64_t guest,
	uint64_t host, uint64_t length, uint64_t size, struct image_error *err)
{
	return image_damaged(err, store->name, -EINVAL,
		"%s cluster of guest offset 0x%" PRIx64 " at 0x%" PRIx64
		" with %s lies past the end of the file (%" PRIu64 " bytes)",
		kind, guest, host, IMAGE_COUNT(length, "byte"), size);
}

/* The file may end inside the last sector, because QEMU does not fill it. */
static int
parse_compressed(const struct qcow2_source *q, uint64_t entry, uint64_t bitmap,
	uint64_t guest, struct qcow2_cluster *c, struct image_error *err)
{
	const struct image_store *store = q->base.store;
	/* x of the specification: bits of the offset, before those of the
	 * count */
	unsigned x = 70 - q->header.cluster_bits;
	uint64_t sectors = (entry & (QCOW2_ENTRY_COMPRESSED - 1)) >> x;
	uint64_t host = entry & ((UINT64_C(1) << x) - 1);
	uint64_t stored = (sectors + 1) * QCOW2_SECTOR - host % QCOW2_SECTOR;

	if (entry & QCOW2_ENTRY_COPIED)
		return bad_entry(q, guest, entry,
			"has bit 63 set, but the cluster is compressed", err);
	if (bitmap)
		return bad_entry(q, guest, entry,
			"has a subcluster bitmap, but the cluster is "
			"compressed",
			err);
	if (q->header.incompatible & QCOW2_DATA_FILE)
		return bad_entry(q, guest, entry,
			"is compressed, but the image has an external data "
			"file",
			err);
	/* Neither sum overflows: x is at most 61, stored below 2^23. */
	if (host >= store->size || host + stored >= store->size + QCOW2_SECTOR)
		return past_the_end(store, "compressed", guest, host, stored,
			store->size, err);
	if (host + stored > store->size)
		stored = store->size - host;
	*c = (struct qcow2_cluster){
		.compressed = true, .host = host, .stored = (uint32_t)stored};
	return 0;
}

static int
parse_bitmap(const struct qcow2_source *q, uint64_t entry, uint64_t bitmap,
	uint64_t guest, struct qcow2_cluster *c, struct image_error *err)
{
	c->allocated = (uint32_t)bitmap;
	c->zero = (uint32_t)(bitmap >> 32);
	if (c->allocated & c->zero)
		return image_damaged(err, q->base.store->name, -EINVAL,
			"subcluster bitmap 0x%016" PRIx64 " of guest offset "
			"0x%" PRIx64 " has subclusters both allocated and zero",
			bitmap, guest);
	if (c->allocated &&
		!(entry & (QCOW2_ENTRY_OFFSET | QCOW2_ENTRY_COPIED)))
		return image_damaged(err, q->base.store->name, -EINVAL,
			"subcluster bitmap 0x%016" PRIx64 " of guest offset "
			"0x%" PRIx64 " has subclusters allocated, but the "
			"cluster has no offset",
			bitmap, guest);
	return 0;
}

/*
 * The file may end inside the cluster, after the end of the disk or of the last
 * allocated subcluster. QEMU writes such files.
 */
static int
check_standard(const struct qcow2_source *q, uint64_t guest,
	struct qcow2_cluster *c, struct image_error *err)
{
	uint64_t used = (uint64_t)(32 - __builtin_clz(c->allocated))
			<< q->subcluster_bits;
	uint64_t end;

	if (used > q->base.size - guest)
		used = q->base.size - guest;
	/* An external data file that is not open has an unknown length. */
	bool unknown = (q->header.incompatible & QCOW2_DATA_FILE) &&
		       q->base.data == q->base.store;
	c->stored = (uint32_t)used;
	if (unknown)
		return 0;
	if (__builtin_add_overflow(c->host, used, &end) ||
		end > q->base.data->size)
		return past_the_end(q->base.data, "data", guest, c->host, used,
			q->base.data->size, err);
	return 0;
}

static int
parse_standard(const struct qcow2_source *q, uint64_t entry, uint64_t bitmap,
	uint64_t guest, struct qcow2_cluster *c, struct image_error *err)
{
	bool external = q->header.incompatible & QCOW2_DATA_FILE;
	bool may_be_zero = q->header.version >= 3 && !q->extended;

	*c = (struct qcow2_cluster){.host = entry & QCOW2_ENTRY_OFFSET};
	if (entry & ~(QCOW2_ENTRY_COPIED | QCOW2_ENTRY_OFFSET |
			    (may_be_zero ? ZERO : 0)))
		return bad_entry(q, guest, entry, "has reserved bits set", err);
	if (c->host % (UINT64_C(1) << q->header.cluster_bits) != 0)
		return bad_entry(q, guest, entry,
			"has an offset that is not a multiple of the cluster "
			"size",
			err);
	if (c->host == 0 && (entry & QCOW2_ENTRY_COPIED) && !external)
		return bad_entry(
			q, guest, entry, "has bit 63 set but no offset", err);
	bool placed = c->host || (entry & QCOW2_ENTRY_COPIED);
	if (external && placed && c->host != guest)
		return bad_entry(q, guest, entry,
			"has an offset that differs from the guest offset, but "
			"the image has an external data file",
			err);
	if (q->extended) {
		int rc = parse_bitmap(q, entry, bitmap, guest, c, err);
		if (rc < 0)
			return rc;
	} else {
		c->zero = entry & ZERO;
		c->allocated = placed && !c->zero;
	}
	return c->allocated ? check_standard(q, guest, c, err) : 0;
}

int
qcow2_parse_cluster(const struct qcow2_source *q, uint64_t entry,
	uint64_t bitmap, uint64_t guest, struct qcow2_cluster *c,
	struct image_error *err)
{
	if (entry & QCOW2_ENTRY_COMPRESSED)
		return parse_compressed(q, entry, bitmap, guest, c, err);
	return parse_standard(q, entry, bitmap, guest, c, err);
}

static int
check_place(const struct qcow2_source *q, uint64_t guest,
	const struct qcow2_cluster *c, struct image_error *err)
{
	const struct qcow2_header *h = &q->header;
	uint64_t host = c->host, stored = c->stored;
	const char *table = NULL;

	if (stored == 0 || q->base.data != q->base.store)
		return 0;
	if (overlap(host, stored, 0, UINT64_C(1) << h->cluster_bits))
		table = "header";
	else if (overlap(host, stored, h->l1_offset,
			 (uint64_t)h->l1_entries * 8) ||
		 overlap(host, stored, q->l1_offset, q->l1_bytes))
		table = "L1 table";
	else if (overlap(host, stored, h->refcount_table_offset,
			 h->refcount_table_bytes))
		table = "refcount table";
	if (!table)
		return 0;
	return image_damaged(err, q->base.store->name, -EINVAL,
		"%s cluster of guest offset 0x%" PRIx64 " at 0x%" PRIx64
		" overlaps the %s",
		c->compressed ? "compressed" : "data", guest, host, table);
}

/* Describe the cluster at offset guest, for at most limit bytes. */
static void
part_of(const struct qcow2_source *q, const struct qcow2_cluster *c,
	uint64_t guest, uint64_t limit, struct qcow2_run *run)
{
	uint64_t mask = (UINT64_C(1) << q->header.cluster_bits) - 1;
	uint64_t end = (guest | mask) + 1;
	unsigned first = (unsigned)((guest & mask) >> q->subcluster_bits);

	*run = (struct qcow2_run){.length = end - guest};
	if (c->compressed) {
		run->kind = QCOW2_COMPRESSED;
		run->host = c->host;
		run->stored = c->stored;
	} else {
		bool zero = c->zero >> first & 1;
		bool allocated = c->allocated >> first & 1;
		/* the next subcluster that differs */
		uint32_t differs =
			(c->zero ^ (zero ? UINT32_MAX : 0)) |
			(c->allocated ^ (allocated ? UINT32_MAX : 0));
		differs = differs >> first << first;
		if (q->extended && differs)
			run->length = ((guest & ~mask) |
					      ((uint64_t)__builtin_ctz(differs)
						      << q->subcluster_bits)) -
				      guest;
		run->kind = zero        ? QCOW2_ZERO
			    : allocated ? QCOW2_STANDARD
					: QCOW2_UNALLOCATED;
		run->host = allocated ? c->host + (guest & mask) : 0;
	}
	if (run->length > limit)
		run->length = limit;
}

/* Append `next` to the run before it. Returns false if the two differ. */
static bool
join(struct qcow2_run *run, const struct qcow2_run *next)
{
	if (next->kind != run->kind || run->kind == QCOW2_COMPRESSED)
		return false;
	if (run->kind == QCOW2_STANDARD &&
		next->host != run->host + run->length)
		return false;
	run->length += next->length;
	return true;
}

/* Describe the first run at offset guest by the n entries of one slice. */
static int
lookup_slice(const struct qcow2_source *q, const uint64_t *words, size_t n,
	uint64_t guest, uint64_t limit, struct qcow2_run *run,
	struct image_error *err)
{
	unsigned bits = q->header.cluster_bits;
	uint64_t end = ((guest >> bits | (n - 1)) + 1) << bits;
	struct qcow2_cluster c = {0};

	*run = (struct qcow2_run){0};
	if (limit > end - guest)
		limit = end - guest;
	while (run->length < limit) {
		uint64_t at = guest + run->length, start = at >> bits << bits;
		size_t index = (size_t)(at >> bits) & (n - 1);
		struct qcow2_run part;

		if (run->length == 0 || at == start) {
			uint64_t entry =
				be64toh(words[q->extended ? 2 * index : index]);
			uint64_t bitmap =
				q->extended ? be64toh(words[2 * index + 1]) : 0;
			int rc = qcow2_parse_cluster(
				q, entry, bitmap, start, &c, err);
			if (rc == 0)
				rc = check_place(q, start, &c, err);
			if (rc < 0)
				return rc;
		}
		part_of(q, &c, at, limit - run->length, &part);
		if (run->length == 0)
			*run = part;
		else if (!join(run, &part))
			break;
		if (run->kind == QCOW2_COMPRESSED)
			break;
	}
	return 0;
}

/*
 * Returns the length of the range without L2 tables, about `limit` bytes. The
 * number of entries for one call is limited: the caller repeats the call for
 * each part of the range in a lower file of the chain.
 */
static uint64_t
no_tables(const struct qcow2_source *q, uint64_t index, uint64_t guest,
	uint64_t limit)
{
	unsigned bits = q->header.cluster_bits + q->l2_bits;
	uint64_t last = (guest + limit - 1) >> bits;

	if (last - index > MOST_L1_ENTRIES)
		last = index + MOST_L1_ENTRIES;
	while (index <= last && q->l1[index] == 0)
		index++;
	/* The last table may describe more than the disk. */
	return index == q->l1_entries ? q->base.size - guest
				      : (index << bits) - guest;
}

/*
 * Describe the image itself, without its backing file, at offset `guest` for at
 * most `limit` bytes, which is at least 1. A compressed run is in one cluster;
 * other runs end at the latest with their slice. Any thread.
 */
static int
qcow2_lookup(struct qcow2_source *q, uint64_t guest, uint64_t limit,
	struct qcow2_run *run, struct image_error *err)
{
	unsigned bits = q->header.cluster_bits;
	uint64_t l1_index = guest >> (bits + q->l2_bits);
	unsigned entry_bytes = q->extended ? 16 : 8;
	struct image_slice *slice;

	assert(limit > 0 && limit <= q->base.size - guest);
	if (q->l1[l1_index] == 0) {
		uint64_t length = no_tables(q, l1_index, guest, limit);
		*run = (struct qcow2_run){
			.length = length < limit ? length : limit};
		return 0;
	}
	size_t bytes = (size_t)1 << bits;
	if (bytes > SLICE_BYTES)
		bytes = SLICE_BYTES;
	uint64_t l2_index = (guest >> bits) & ((UINT64_C(1) << q->l2_bits) - 1);
	uint64_t at = l2_index * entry_bytes / bytes * bytes;
	int rc = image_slices_get(q->cache, q->base.store, q->l1[l1_index] + at,
		bytes, &slice, err);
	if (rc < 0)
		return rc;
	size_t n = bytes / entry_bytes;
	if (slice->zero) {
		uint64_t end = ((guest >> bits | (n - 1)) + 1) << bits;
		*run = (struct qcow2_run){
			.length = end - guest < limit ? end - guest : limit};
	} else {
		rc = lookup_slice(q, slice->words, n, guest, limit, run, err);
	}
	image_slices_put(q->cache, slice);
	return rc;
}

/*
 * As qcow2_lookup(), including backing files. A loop follows the chain, so that
 * a long chain needs no stack. One slice is in use at a time.
 */
static int
qcow2_find(struct qcow2_source *q, uint64_t guest, uint64_t limit,
	struct qcow2_place *place, struct image_error *err)
{
	*place = (struct qcow2_place){.layer = q};
	for (;;) {
		struct qcow2_source *layer = place->layer;
		int rc = qcow2_lookup(layer, guest, limit, &place->run, err);
		if (rc < 0)
			return rc;
		if (place->run.kind != QCOW2_UNALLOCATED)
			return 0;
		limit = place->run.length;
		/* A backing file reads as zeros past its end. */
		if (!layer->backing || guest >= layer->backing->size) {
			place->depth = 0;
			return 0;
		}
		if (limit > layer->backing->size - guest)
			limit = layer->backing->size - guest;
		place->depth++;
		if (layer->backing->format != layer->base.format) {
			place->run.length = limit;
			place->other = layer->backing;
			return 0;
		}
		place->layer = qcow2_source(layer->backing);
	}
}

/* Extend an extent of one compressed cluster by those of the layer after it. */
static int
join_compressed(struct qcow2_source *q, const struct qcow2_place *first,
	uint64_t limit, struct image_extent *extent, struct image_error *err)
{
	uint64_t offset = extent->offset;
	/* at most to the end of the range of the cluster's L2 table */
	unsigned bits =
		first->layer->header.cluster_bits + first->layer->l2_bits;
	uint64_t table_end = ((offset >> bits) + 1) << bits;
	uint64_t end = limit < table_end ? limit : table_end;

	while (offset + extent->length < end) {
		struct qcow2_place next;
		uint64_t at = offset + extent->length;
		int rc = qcow2_find(q, at, end - at, &next, err);
		if (rc < 0)
			return rc;
		if (next.layer != first->layer || next.other ||
			next.run.kind != QCOW2_COMPRESSED)
			break;
		extent->length += next.run.length;
	}
	return 0;
}

/*
 * Shorten an extent of standard clusters to one hole or one range of data of
 * the file. Preallocated and discarded clusters are holes, which need not be
 * read.
 */
static int
look_for_holes(struct qcow2_source *layer, struct image_extent *extent,
	struct image_error *err)
{
	struct image_store *store = layer->base.data;
	uint64_t length;
	bool hole;

	int rc = image_store_extent(store, extent->host,
		store->size - extent->host, &length, &hole, err);
	if (rc < 0)
		return rc;
	if (extent->length > length)
		extent->length = length;
	if (hole) {
		extent->kind = IMAGE_HOLE;
		extent->host = IMAGE_NO_HOST;
	}
	return 0;
}

int
qcow2_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	struct qcow2_source *q = qcow2_source(source);
	struct qcow2_place place;

	int rc = image_source_refused(source, err);
	if (rc < 0)
		return rc;
	rc = qcow2_find(q, offset, length, &place, err);
	if (rc < 0)
		return rc;
	if (place.other) {
		rc = place.other->ops->extent(
			place.other, offset, place.run.length, extent, err);
		if (rc == 0)
			extent->depth = place.depth;
		return rc;
	}
	*extent = (struct image_extent){
		.offset = offset,
		.length = place.run.length,
		.kind = IMAGE_HOLE,
		.zero_cluster = place.run.kind == QCOW2_ZERO,
		.depth = place.depth,
		.host = IMAGE_NO_HOST,
	};
	if (place.run.kind != QCOW2_STANDARD &&
		place.run.kind != QCOW2_COMPRESSED)
		return 0;
	extent->kind = IMAGE_DATA;
	extent->compressed = place.run.kind == QCOW2_COMPRESSED;
	if (extent->compressed)
		return join_compressed(q, &place, offset + length, extent, err);
	extent->host = place.run.host;
	return look_for_holes(place.layer, extent, err);
}

/* Standard clusters for one read; length 0: none. */
struct pending {
	struct image_store *store;
	uint64_t host;
	unsigned char *to;
	size_t length;
};

static int
read_pending(struct pending *pending, struct image_error *err)
{
	size_t length = pending->length;

	pending->length = 0;
	if (length == 0)
		return 0;
	int rc = image_store_read(
		pending->store, pending->host, pending->to, length, err);
	if (rc == 0)
		image_store_release(pending->store, pending->host, length);
	return rc;
}

static int
add_standard(struct pending *pending, const struct qcow2_place *place,
	unsigned char *to, struct image_error *err)
{
	struct image_store *store = place->layer->base.data;

	if (pending->length && pending->store == store &&
		pending->host + pending->length == place->run.host &&
		pending->to + pending->length == to) {
		pending->length += (size_t)place->run.length;
		return 0;
	}
	int rc = read_pending(pending, err);
	*pending = (struct pending){
		store, place->run.host, to, (size_t)place->run.length};
	return rc;
}

/* The size of the file may not have been known when the cluster was found. */
static int
unpack(const struct image_batch *batch, const struct image_unit *unit,
	const unsigned char *bytes, uint64_t end, unsigned char *to,
	struct image_error *err)
{
	const struct qcow2_source *q = batch->owner;
	uint64_t stored = unit->stored;

	if (unit->host >= end || end + IMAGE_SECTOR <= unit->host + stored)
		return past_the_end(batch->store, "compressed", unit->guest,
			unit->host, stored, end, err);
	if (stored > end - unit->host)
		stored = end - unit->host;
	int rc = image_decompress(q->header.codec, batch->scratch, bytes,
		(size_t)stored, to, batch->unit);
	image_store_release(batch->store, unit->host, stored);
	if (rc == -ENOMEM)
		return image_no_memory(err);
	if (rc < 0)
		return image_damaged(err, batch->store->name, -EINVAL,
			"compressed cluster of guest offset 0x%" PRIx64
			" at 0x%" PRIx64 " (%s) does not decompress to exactly "
			"one cluster of %zu bytes",
			unit->guest, unit->host, IMAGE_COUNT(stored, "byte"),
			batch->unit);
	return 0;
}

static int
add_compressed(struct image_batch *batch, const struct qcow2_place *place,
	uint64_t guest, unsigned char *to, struct image_error *err)
{
	const struct image_source *layer = &place->layer->base;
	uint64_t skip = guest & (layer->unit - 1);
	const struct image_unit unit = {
		.guest = guest - skip,
		.host = place->run.host,
		.stored = place->run.stored,
		.skip = (size_t)skip,
		.length = (size_t)place->run.length,
		.to = to,
	};

	return image_batch_add(batch, place->layer, layer->store,
		(size_t)layer->unit, &unit, err);
}

/* Read the bytes of one place, or add them to a later read. */
static int
add(struct pending *pending, struct image_batch *batch,
	const struct qcow2_place *place, uint64_t guest, unsigned char *to,
	struct image_error *err)
{
	size_t length = (size_t)place->run.length;

	if (place->other)
		return place->other->ops->read(
			place->other, batch->scratch, guest, to, length, err);
	switch (place->run.kind) {
	case QCOW2_STANDARD:
		return add_standard(pending, place, to, err);
	case QCOW2_COMPRESSED:
		return add_compressed(batch, place, guest, to, err);
	default:
		memset(to, 0, length);
		return 0;
	}
}

int
qcow2_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	struct qcow2_source *q = qcow2_source(source);
	struct pending pending = {0};
	struct image_batch batch;
	unsigned char *to = buf;

	int rc = image_source_refused(source, err);
	batch.n = 0;
	batch.scratch = scratch;
	batch.unpack = unpack;
	while (rc == 0 && length) {
		struct qcow2_place place;
		rc = qcow2_find(q, offset, length, &place, err);
		if (rc == 0)
			rc = add(&pending, &batch, &place, offset, to, err);
		if (rc == 0) {
			offset += place.run.length;
			to += place.run.length;
			length -= (size_t)place.run.length;
		}
	}
	if (rc == 0)
		rc = read_pending(&pending, err);
	if (rc == 0)
		rc = image_batch_read(&batch, err);
	return rc;
}
