/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a range of the disk with few reads of the file. Adjacent standard
 * clusters are one read, and so are compressed clusters near each other.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "format/qcow2/source.h"
#include "format/source.h"

/*
 * Most compressed clusters of one read, and most bytes of a read of several
 * clusters.
 */
#define BATCH_CLUSTERS 128
#define BATCH_BYTES ((uint64_t)2 << 20)

/* A read of this many unneeded bytes is faster than another system call. */
#define BATCH_GAP ((uint64_t)16 << 10)

/* Standard clusters for one read; length 0: none. */
struct pending {
	struct image_store *store;
	uint64_t host;
	unsigned char *to;
	size_t length;
};

/* The wanted part of one compressed cluster. */
struct packed {
	uint64_t guest;
	uint64_t host;
	uint32_t stored;
	/* `length` bytes of the cluster, from `skip` on, are copied to `to` */
	uint32_t skip;
	uint32_t length;
	unsigned char *to;
};

/* Compressed clusters for one read, all of one image. */
struct batch {
	struct qcow2_source *layer;
	/* the range of the file with all clusters of the batch */
	uint64_t from;
	uint64_t end;
	unsigned n;
	struct packed clusters[BATCH_CLUSTERS];
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

static int
bad_cluster(const struct batch *batch, const struct packed *packed,
	struct image_error *err)
{
	return image_damaged(err, batch->layer->base.store->name, -EINVAL,
		"compressed cluster of guest offset 0x%" PRIx64 " at 0x%" PRIx64
		" (%" PRIu32 " %s) does not decompress to exactly one "
		"cluster of %" PRIu64 " bytes",
		packed->guest, packed->host, packed->stored,
		image_plural(packed->stored, "byte", "bytes"),
		batch->layer->base.unit);
}

/*
 * A whole cluster is decompressed to its destination, a part through `spare`.
 */
static int
unpack(const struct batch *batch, const struct packed *packed,
	struct image_scratch *scratch, const unsigned char *from,
	unsigned char *spare, struct image_error *err)
{
	size_t cluster_size = (size_t)batch->layer->base.unit;
	bool whole = packed->length == cluster_size;
	unsigned char *to = whole ? packed->to : spare;

	int rc = image_decompress(batch->layer->header.codec, scratch, from,
		packed->stored, to, cluster_size);
	if (rc == -ENOMEM)
		return image_no_memory(err);
	if (rc < 0)
		return bad_cluster(batch, packed, err);
	if (!whole)
		memcpy(packed->to, spare + packed->skip, packed->length);
	return 0;
}

/* The size of the file was not known when the cluster was found. */
static int
trim(const struct batch *batch, struct packed *packed, uint64_t end,
	struct image_error *err)
{
	if (packed->host >= end ||
		end + IMAGE_SECTOR <= packed->host + packed->stored)
		return image_damaged(err, batch->layer->base.store->name,
			-EINVAL,
			"compressed cluster of guest offset 0x%" PRIx64
			" at 0x%" PRIx64 " with %" PRIu32
			" %s lies past the end of the file (%" PRIu64 " bytes)",
			packed->guest, packed->host, packed->stored,
			image_plural(packed->stored, "byte", "bytes"), end);
	packed->stored = (uint32_t)(end - packed->host);
	return 0;
}

static uint64_t
align_up(uint64_t n)
{
	return (n + IMAGE_ALIGN - 1) & ~(uint64_t)(IMAGE_ALIGN - 1);
}

static int
read_batch(struct batch *batch, struct image_scratch *scratch,
	struct image_error *err)
{
	unsigned n = batch->n;
	if (n == 0)
		return 0;
	batch->n = 0;
	/* Aligned for direct I/O. */
	struct image_store *store = batch->layer->base.store;
	uint64_t from = batch->from & ~(uint64_t)(IMAGE_ALIGN - 1);
	size_t room = (size_t)(align_up(batch->end) - from);
	uint64_t reached;
	unsigned char *buffer = image_scratch_buffer(
		scratch, room + (size_t)batch->layer->base.unit);
	if (!buffer)
		return image_no_memory(err);

	int rc = image_store_reach(store, from, room, &reached, err);
	if (rc == 0)
		rc = image_store_read(
			store, from, buffer, (size_t)reached, err);
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		struct packed *packed = &batch->clusters[i];
		uint64_t at = packed->host - from;
		if (at + packed->stored > reached)
			rc = trim(batch, packed, from + reached, err);
		if (rc < 0)
			break;
		rc = unpack(batch, packed, scratch, buffer + at, buffer + room,
			err);
		image_store_release(store, packed->host, packed->stored);
	}
	return rc;
}

/* Returns true if the run lies near the clusters of the batch. */
static bool
fits(const struct batch *batch, const struct qcow2_place *place)
{
	uint64_t host = place->run.host;
	uint64_t host_end = host + place->run.stored;
	uint64_t from = host < batch->from ? host : batch->from;
	uint64_t end = host_end > batch->end ? host_end : batch->end;

	return batch->layer == place->layer && batch->n < BATCH_CLUSTERS &&
	       host <= batch->end + BATCH_GAP &&
	       batch->from <= host_end + BATCH_GAP && end - from <= BATCH_BYTES;
}

static int
add_compressed(struct batch *batch, const struct qcow2_place *place,
	uint64_t guest, unsigned char *to, struct image_scratch *scratch,
	struct image_error *err)
{
	uint64_t skip = guest & (place->layer->base.unit - 1);
	int rc = 0;

	if (batch->n && !fits(batch, place))
		rc = read_batch(batch, scratch, err);
	if (batch->n == 0) {
		batch->layer = place->layer;
		batch->from = place->run.host;
		batch->end = place->run.host + place->run.stored;
	}
	if (place->run.host < batch->from)
		batch->from = place->run.host;
	if (place->run.host + place->run.stored > batch->end)
		batch->end = place->run.host + place->run.stored;
	batch->clusters[batch->n++] = (struct packed){
		.guest = guest - skip,
		.host = place->run.host,
		.stored = place->run.stored,
		.skip = (uint32_t)skip,
		.length = (uint32_t)place->run.length,
		.to = to,
	};
	return rc;
}

/* Read the bytes of one place, or add them to a later read. */
static int
add(struct pending *pending, struct batch *batch,
	const struct qcow2_place *place, uint64_t guest, unsigned char *to,
	struct image_scratch *scratch, struct image_error *err)
{
	size_t length = (size_t)place->run.length;

	if (place->other)
		return place->other->ops->read(
			place->other, scratch, guest, to, length, err);
	switch (place->run.kind) {
	case QCOW2_STANDARD:
		return add_standard(pending, place, to, err);
	case QCOW2_COMPRESSED:
		return add_compressed(batch, place, guest, to, scratch, err);
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
	struct batch batch;
	unsigned char *to = buf;

	int rc = image_source_refused(source, err);
	batch.n = 0;
	while (rc == 0 && length) {
		struct qcow2_place place;
		rc = qcow2_find(q, offset, length, &place, err);
		if (rc == 0)
			rc = add(&pending, &batch, &place, offset, to, scratch,
				err);
		if (rc == 0) {
			offset += place.run.length;
			to += place.run.length;
			length -= (size_t)place.run.length;
		}
	}
	if (rc == 0)
		rc = read_pending(&pending, err);
	if (rc == 0)
		rc = read_batch(&batch, scratch, err);
	return rc;
}
