/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks L2 entries, and joins adjacent entries of one kind to runs. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include "format/qcow2/source.h"

/* Longest slice: a larger L2 table is read in parts. */
#define SLICE_BYTES ((size_t)64 << 10)

/* Bits of an L2 entry. */
#define COPIED (UINT64_C(1) << 63)
#define COMPRESSED (UINT64_C(1) << 62)
#define ZERO (UINT64_C(1) << 0)
#define OFFSET UINT64_C(0x00fffffffffffe00)

/* Sizes of compressed clusters are counted in sectors. */
#define SECTOR 512

/* Most entries of the L1 table that one call visits. */
#define MOST_L1_ENTRIES 4096

static bool
overlap(uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length)
{
	return a < b + b_length && b < a + a_length;
}

/* Returns the name of the table that the range overlaps, or NULL. */
static const char *
table_at(const struct qcow2_source *q, uint64_t host, uint64_t length)
{
	const struct qcow2_header *h = &q->header;

	if (overlap(host, length, 0, UINT64_C(1) << h->cluster_bits))
		return "header";
	if (overlap(host, length, h->l1_offset, (uint64_t)h->l1_entries * 8) ||
		overlap(host, length, q->l1_offset, q->l1_bytes))
		return "L1 table";
	if (overlap(host, length, h->refcount_table_offset,
		    h->refcount_table_bytes))
		return "refcount table";
	return NULL;
}

/* Fail with a message about the entry of the cluster at offset guest. */
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
	uint64_t host, uint64_t length, struct image_error *err)
{
	return image_damaged(err, store->name, -EINVAL,
		"%s cluster of guest offset 0x%" PRIx64 " at 0x%" PRIx64
		" with %" PRIu64 " %s lies past the end of the file "
		"(%" PRIu64 " bytes)",
		kind, guest, host, length,
		image_plural(length, "byte", "bytes"), store->size);
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
	uint64_t sectors = (entry & (COMPRESSED - 1)) >> x;
	uint64_t host = entry & ((UINT64_C(1) << x) - 1);
	uint64_t stored = (sectors + 1) * SECTOR - host % SECTOR;

	if (entry & COPIED)
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
	if (host >= store->size || host + stored >= store->size + SECTOR)
		return past_the_end(
			store, "compressed", guest, host, stored, err);
	if (host + stored > store->size)
		stored = store->size - host;
	*c = (struct qcow2_cluster){
		.compressed = true, .host = host, .stored = (uint32_t)stored};
	return 0;
}

/* Check the bitmap of the subclusters of a cluster. */
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
	if (c->allocated && !(entry & (OFFSET | COPIED)))
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
		return past_the_end(
			q->base.data, "data", guest, c->host, used, err);
	return 0;
}

static int
parse_standard(const struct qcow2_source *q, uint64_t entry, uint64_t bitmap,
	uint64_t guest, struct qcow2_cluster *c, struct image_error *err)
{
	bool external = q->header.incompatible & QCOW2_DATA_FILE;
	bool may_be_zero = q->header.version >= 3 && !q->extended;

	*c = (struct qcow2_cluster){.host = entry & OFFSET};
	if (entry & ~(COPIED | OFFSET | (may_be_zero ? ZERO : 0)))
		return bad_entry(q, guest, entry, "has reserved bits set", err);
	if (c->host % (UINT64_C(1) << q->header.cluster_bits) != 0)
		return bad_entry(q, guest, entry,
			"has an offset that is not a multiple of the cluster "
			"size",
			err);
	if (c->host == 0 && (entry & COPIED) && !external)
		return bad_entry(
			q, guest, entry, "has bit 63 set but no offset", err);
	bool placed = c->host || (entry & COPIED);
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
	if (entry & COMPRESSED)
		return parse_compressed(q, entry, bitmap, guest, c, err);
	return parse_standard(q, entry, bitmap, guest, c, err);
}

/* Fail if the bytes of the cluster overlap a table of the image. */
static int
check_place(const struct qcow2_source *q, uint64_t guest,
	const struct qcow2_cluster *c, struct image_error *err)
{
	if (c->stored == 0 || q->base.data != q->base.store)
		return 0;
	const char *table = table_at(q, c->host, c->stored);
	if (!table)
		return 0;
	return image_damaged(err, q->base.store->name, -EINVAL,
		"%s cluster of guest offset 0x%" PRIx64 " at 0x%" PRIx64
		" overlaps the %s",
		c->compressed ? "compressed" : "data", guest, c->host, table);
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

/* Describe the first run at offset guest by the entries of one slice. */
static int
lookup_slice(const struct qcow2_source *q, const uint64_t *words, size_t n,
	uint64_t guest, uint64_t limit, struct qcow2_run *run,
	struct image_error *err)
{
	unsigned bits = q->header.cluster_bits;
	size_t index = (size_t)(guest >> bits) & (n - 1);

	*run = (struct qcow2_run){0};
	for (; index < n && run->length < limit; index++) {
		uint64_t at = guest + run->length;
		uint64_t start = at >> bits << bits;
		uint64_t entry =
			be64toh(words[q->extended ? 2 * index : index]);
		uint64_t bitmap =
			q->extended ? be64toh(words[2 * index + 1]) : 0;
		struct qcow2_cluster c = {0};
		struct qcow2_run part;

		int rc = qcow2_parse_cluster(q, entry, bitmap, start, &c, err);
		if (rc == 0)
			rc = check_place(q, start, &c, err);
		if (rc < 0)
			return rc;
		for (;;) {
			at = guest + run->length;
			part_of(q, &c, at, limit - run->length, &part);
			if (run->length == 0)
				*run = part;
			else if (!join(run, &part))
				return 0;
			if (run->kind == QCOW2_COMPRESSED)
				return 0;
			/* another subcluster of the same cluster */
			if (run->length >= limit ||
				(guest + run->length) >> bits << bits != start)
				break;
		}
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

int
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
