/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new image. Data is appended in the order of the guest's disk, so that
 * adjacent clusters of the disk are adjacent in the file. Tables have their
 * places in front of the data that they describe. The layout depends only on
 * the order of the calls, not on the time of the writes.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "format/qcow2/sink.h"

/* Options with the names of qemu-img create -o. */
enum {
	COMPAT,
	CLUSTER_SIZE,
	COMPRESSION_TYPE,
	EXTENDED_L2,
	LAZY_REFCOUNTS,
	PREALLOCATION,
	REFCOUNT_BITS,
	OPTIONS
};

const struct image_option qcow2_options[] = {
	[COMPAT] = {"compat", IMAGE_OPTION_WORD, "0.10 1.1 v2 v3",
		"version of the format (1.1)"},
	[CLUSTER_SIZE] = {"cluster_size", IMAGE_OPTION_SIZE, NULL,
		"bytes of a cluster, 512 to 2M (64k)"},
	[COMPRESSION_TYPE] = {"compression_type", IMAGE_OPTION_WORD,
		"zlib zstd", "codec of compressed clusters (zlib)"},
	[EXTENDED_L2] = {"extended_l2", IMAGE_OPTION_FLAG, NULL,
		"allocate subclusters, 1/32 of a cluster (off)"},
	[LAZY_REFCOUNTS] = {"lazy_refcounts", IMAGE_OPTION_FLAG, NULL,
		"always off"},
	[PREALLOCATION] = {"preallocation", IMAGE_OPTION_WORD, "off metadata",
		"allocate every cluster in the file (off)"},
	[REFCOUNT_BITS] = {"refcount_bits", IMAGE_OPTION_NUMBER, NULL,
		"width of a reference count, 1 to 64 (16)"},
	[OPTIONS] = {0},
};

static bool
power_of_two(uint64_t value, uint64_t least, uint64_t most)
{
	return value >= least && value <= most && (value & (value - 1)) == 0;
}

int
qcow2_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err)
{
	switch (option - qcow2_options) {
	case COMPAT:
		create->version = value % 2 ? 3 : 2;
		return 0;
	case CLUSTER_SIZE:
		if (!power_of_two(value, 1u << QCOW2_MIN_CLUSTER_BITS,
			    1u << QCOW2_MAX_CLUSTER_BITS))
			return image_fail(err, NULL, -EINVAL,
				"cluster_size %" PRIu64
				" is not a power of two from 512 to 2M",
				value);
		create->cluster_size = value;
		return 0;
	case COMPRESSION_TYPE:
		create->codec = value ? IMAGE_CODEC_ZSTD : IMAGE_CODEC_ZLIB;
		return 0;
	case EXTENDED_L2:
		create->extended_l2 = value;
		return 0;
	case LAZY_REFCOUNTS:
		if (value)
			return image_fail(err, NULL, -EINVAL,
				"lazy_refcounts can only be off: the reference "
				"counts of a new image are complete");
		return 0;
	case PREALLOCATION:
		create->preallocate = value;
		return 0;
	default:
		assert(option - qcow2_options == REFCOUNT_BITS);
		if (!power_of_two(value, 1, 64))
			return image_fail(err, NULL, -EINVAL,
				"refcount_bits %" PRIu64
				" is not a power of two from 1 to 64",
				value);
		create->refcount_bits = (unsigned)value;
		return 0;
	}
}

static int
check_create(const struct image_create *create, const char *name,
	struct image_error *err)
{
	const char *newer = NULL;

	if (create->codec == IMAGE_CODEC_ZSTD)
		newer = "compression_type=zstd";
	else if (create->extended_l2)
		newer = "extended_l2=on";
	else if (create->refcount_bits != 16)
		newer = "refcount_bits other than 16";
	if (create->version == 2 && newer)
		return image_fail(err, name, -EINVAL,
			"%s is not possible with compat=0.10", newer);
	if (create->extended_l2 && create->cluster_size &&
		create->cluster_size < 1u << QCOW2_MIN_EXTENDED_BITS)
		return image_fail(err, name, -EINVAL,
			"extended_l2=on needs a cluster_size of 16k or more, "
			"not %" PRIu64,
			create->cluster_size);
	if (create->compress && create->preallocate)
		return image_fail(err, name, -EINVAL,
			"preallocation=metadata is not possible with "
			"compression: compressed clusters have no fixed place");
	return 0;
}

/* last_guest if no cluster has a place yet */
#define NONE UINT64_MAX

struct sink {
	struct image_sink base;
	struct qcow2_geometry geometry;
	struct qcow2_space space;
	struct image_create create;
	/* the standard guest cluster that was placed last, and its place */
	uint64_t last_guest;
	uint64_t last_host;
	/* the first guest cluster that has not been passed */
	uint64_t next_guest;
	/* offset of the next compressed cluster, and bytes that its host
	 * cluster has left; 0 if a new host cluster is needed */
	uint64_t packed;
	uint64_t packed_room;
};

static uint64_t
cluster_size(const struct sink *s)
{
	return UINT64_C(1) << s->geometry.cluster_bits;
}

/* Allocate the clusters up to `end` without writing them. */
static int
preallocate(struct sink *s, uint64_t end, struct image_error *err)
{
	unsigned bits = s->geometry.cluster_bits;

	while (s->next_guest < end) {
		uint64_t table = s->next_guest >> s->geometry.l2_bits;
		uint64_t stop = (table + 1) << s->geometry.l2_bits;
		uint64_t cluster = 0;

		if (stop > end)
			stop = end;
		int rc = qcow2_space_open_table(&s->space, s->next_guest, err);
		if (rc == 0)
			rc = qcow2_space_take(
				&s->space, stop - s->next_guest, &cluster, err);
		if (rc < 0)
			return rc;
		for (; s->next_guest < stop; s->next_guest++, cluster++)
			*qcow2_space_entry(&s->space, s->next_guest) =
				htobe64(cluster << bits | QCOW2_ENTRY_COPIED);
	}
	return 0;
}

static int
pass_to(struct sink *s, uint64_t guest, struct image_error *err)
{
	int rc = 0;

	assert(guest >= s->next_guest);
	if (s->create.preallocate)
		rc = preallocate(s, guest, err);
	if (rc == 0)
		rc = qcow2_space_open_table(&s->space, guest, err);
	return rc;
}

static int
place_cluster(struct sink *s, uint64_t guest, struct image_error *err)
{
	unsigned bits = s->geometry.cluster_bits;
	uint64_t cluster;

	int rc = qcow2_space_take(&s->space, 1, &cluster, err);
	if (rc < 0)
		return rc;
	s->next_guest = guest + 1;
	s->last_guest = guest;
	s->last_host = cluster << bits;
	*qcow2_space_entry(&s->space, guest) =
		htobe64(s->last_host | QCOW2_ENTRY_COPIED);
	return 0;
}

/*
 * Mark the subclusters in [from, to) of the cluster placed last as allocated.
 */
static void
mark_subclusters(struct sink *s, uint64_t from, uint64_t to)
{
	unsigned bits = s->geometry.cluster_bits - QCOW2_SUBCLUSTER_BITS;
	uint64_t *entry = qcow2_space_entry(&s->space, s->last_guest);
	uint64_t mask = cluster_size(s) - 1;
	unsigned first = (unsigned)((from & mask) >> bits);
	unsigned last = (unsigned)(((to - 1) & mask) >> bits);
	uint64_t marks =
		((UINT64_C(2) << last) - 1) & ~((UINT64_C(1) << first) - 1);

	entry[1] |= htobe64(marks);
}

/* Returns false if tables follow the cluster placed last. */
static bool
is_adjacent(const struct sink *s)
{
	return s->space.next << s->geometry.cluster_bits ==
	       s->last_host + cluster_size(s);
}

static int
reserve_plain(
	struct sink *s, struct image_place *place, struct image_error *err)
{
	unsigned bits = s->geometry.cluster_bits;
	uint64_t end = place->guest + place->length;
	uint64_t at = place->guest;

	while (at < end) {
		uint64_t guest = at >> bits;
		uint64_t stop = (guest + 1) << bits;
		int rc = 0;

		if (guest != s->last_guest) {
			rc = pass_to(s, guest, err);
			if (rc == 0 && at > place->guest && !is_adjacent(s))
				break;
			if (rc == 0)
				rc = place_cluster(s, guest, err);
		}
		if (rc < 0)
			return rc;
		if (at == place->guest)
			place->host =
				s->last_host + (at & (cluster_size(s) - 1));
		if (stop > end)
			stop = end;
		if (s->geometry.extended_l2)
			mark_subclusters(s, at, stop);
		at = stop;
	}
	place->length = at - place->guest;
	place->stored = place->length;
	return 0;
}

/* Set *host to the offset of the next `stored` compressed bytes. */
static int
pack(struct sink *s, uint64_t stored, uint64_t *host, struct image_error *err)
{
	unsigned bits = s->geometry.cluster_bits;
	uint64_t cluster = s->packed >> bits;
	bool fits = stored <= s->packed_room;
	bool adjacent = cluster + 1 == s->space.next;

	if (s->packed_room > 0 && (fits || adjacent) &&
		qcow2_space_share(&s->space, cluster)) {
		*host = s->packed;
		s->packed += stored;
		if (fits) {
			s->packed_room -= stored;
			return 0;
		}
		s->packed_room += cluster_size(s) - stored;
		return qcow2_space_take(&s->space, 1, &cluster, err);
	}
	int rc = qcow2_space_take(&s->space, 1, &cluster, err);
	if (rc < 0)
		return rc;
	*host = cluster << bits;
	s->packed = *host + stored;
	s->packed_room = cluster_size(s) - stored;
	return 0;
}

static int
reserve_compressed(
	struct sink *s, struct image_place *place, struct image_error *err)
{
	unsigned bits = s->geometry.cluster_bits;
	uint64_t guest = place->guest >> bits;
	/* The sector count of a larger cluster leaves fewer bits for the
	 * offset. */
	unsigned offset_bits = 62 - (bits - 8);

	assert(place->stored > 0 && place->stored < cluster_size(s));
	assert(place->guest == guest << bits && !s->create.preallocate);
	int rc = pass_to(s, guest, err);
	if (rc == 0)
		rc = pack(s, place->stored, &place->host, err);
	if (rc < 0)
		return rc;
	s->next_guest = guest + 1;
	uint64_t last = place->host + place->stored - 1;
	if (last >> offset_bits)
		return image_fail(err, s->base.store->name, -EFBIG,
			"its compressed clusters would lie past the largest "
			"offset that qcow2 allows");
	uint64_t sectors = (last >> QCOW2_SECTOR_BITS) -
			   (place->host >> QCOW2_SECTOR_BITS);
	*qcow2_space_entry(&s->space, guest) = htobe64(
		QCOW2_ENTRY_COMPRESSED | sectors << offset_bits | place->host);
	return 0;
}

static int
qcow2_sink_reserve(struct image_sink *base, struct image_place *place,
	struct image_error *err)
{
	struct sink *s = (struct sink *)base;

	assert(place->length > 0);
	assert(place->guest + place->length <= base->size);
	if (place->compressed)
		return reserve_compressed(s, place, err);
	return reserve_plain(s, place, err);
}

static int
set_geometry(struct sink *s, const char *name, struct image_error *err)
{
	int rc = qcow2_geometry(&s->geometry, &s->create, name, err);

	if (rc == 0 && s->create.preallocate && s->geometry.l1_entries &&
		!qcow2_whole_disk_fits(&s->geometry))
		rc = qcow2_refcount_table_too_large(&s->geometry, name, err);
	return rc;
}

static int
qcow2_sink_resize(
	struct image_sink *base, uint64_t size, struct image_error *err)
{
	struct sink *s = (struct sink *)base;

	s->create.size = size;
	s->create.unsized = false;
	int rc = set_geometry(s, base->store->name, err);
	base->size = s->geometry.size;
	return rc;
}

static int
qcow2_sink_finish(struct image_sink *base, struct image_error *err)
{
	struct sink *s = (struct sink *)base;
	unsigned bits = s->geometry.cluster_bits;
	uint64_t clusters = qcow2_divide_up(base->size, cluster_size(s));
	struct qcow2_header_out header = {.geometry = &s->geometry,
		.version = s->create.version,
		.zstd = s->create.codec == IMAGE_CODEC_ZSTD};
	int rc = 0;

	if (s->create.preallocate)
		rc = preallocate(s, clusters, err);
	if (rc == 0)
		rc = qcow2_space_finish(&s->space, &header, err);
	if (rc == 0 && !base->store->fixed)
		/* the last cluster may end with a hole */
		rc = base->store->ops->resize(
			base->store, s->space.next << bits, err);
	return rc < 0 ? rc : qcow2_header_write(base->store, &header, err);
}

static void
qcow2_sink_close(struct image_sink *base)
{
	struct sink *s = (struct sink *)base;

	qcow2_space_destroy(&s->space);
	free(s);
}

static const struct image_sink_ops qcow2_sink_ops = {
	.reserve = qcow2_sink_reserve,
	.resize = qcow2_sink_resize,
	.finish = qcow2_sink_finish,
	.close = qcow2_sink_close,
};

/*
 * Tables, clusters that are partly holes and what lies between them are not
 * written where they are zero. On a store that has other bytes, all of it
 * becomes zero first.
 */
static int
clear_store(struct image_store *store, struct image_error *err)
{
	if (store->zeros || store->size == 0)
		return 0;
	return store->ops->zero(store, 0, store->size, err);
}

int
qcow2_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err)
{
	*out = NULL;
	int rc = check_create(create, store->name, err);
	if (rc < 0)
		return rc;
	if (store->forward)
		return qcow2_create_forward(store, create, out, err);
	struct sink *s = calloc(1, sizeof(*s));
	if (!s)
		return image_no_memory(err);
	s->create = *create;
	s->last_guest = NONE;
	rc = set_geometry(s, store->name, err);
	s->base = (struct image_sink){
		.ops = &qcow2_sink_ops,
		.format = &image_format_qcow2,
		.store = store,
		.size = s->geometry.size,
		.unit = cluster_size(s),
		.compress = create->compress,
		.codec = {.id = create->codec,
			.level = create->level,
			.small_window = create->small_window,
			.fast = create->fast},
	};
	/* A compressed unit is always a whole cluster. */
	if (create->extended_l2 && !create->compress)
		s->base.unit >>= QCOW2_SUBCLUSTER_BITS;
	if (rc == 0 && create->compress)
		rc = image_codec_init(&s->base.codec, err);
	if (rc == 0)
		rc = qcow2_space_init(&s->space, store, &s->geometry, err);
	if (rc == 0)
		rc = clear_store(store, err);
	if (rc < 0) {
		qcow2_sink_close(&s->base);
		return rc;
	}
	*out = &s->base;
	return 0;
}
