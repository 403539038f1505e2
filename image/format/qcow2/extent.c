/* SPDX-License-Identifier: BSD-3-Clause */
/* The extents of the disk, for a caller that visits the whole disk. */
#include "format/qcow2/source.h"
#include "format/source.h"

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

static int
extent_of_other(const struct qcow2_place *place, uint64_t offset,
	struct image_extent *extent, struct image_error *err)
{
	struct image_source *other = place->other;
	int rc = other->ops->extent(
		other, offset, place->run.length, extent, err);

	if (rc == 0)
		extent->depth = place->depth;
	return rc;
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
	if (place.other)
		return extent_of_other(&place, offset, extent, err);
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
