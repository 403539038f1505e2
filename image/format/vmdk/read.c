/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a range of the disk with few reads of the file: compressed grains near
 * each other are one read.
 */
#include <errno.h>
#include <inttypes.h>
#include "format/source.h"
#include "format/vmdk/source.h"

/* Most compressed grains of one read, and most bytes of several. */
#define BATCH_GRAINS 64
#define BATCH_BYTES ((uint64_t)2 << 20)

/* The wanted part of one compressed grain. */
struct packed {
	uint64_t guest;
	uint64_t host;
	/* `length` bytes of the grain, from `skip` on, are copied to `to` */
	size_t skip;
	size_t length;
	unsigned char *to;
};

/* Compressed grains for one read, all of one extent, in the file's order. */
struct batch {
	const struct vmdk_extent *extent;
	struct image_scratch *scratch;
	unsigned n;
	struct packed grains[BATCH_GRAINS];
};

/* Most bytes of a compressed grain with its marker; QEMU's limit. */
static size_t
most_stored(const struct vmdk_extent *e)
{
	return 2 * (size_t)vmdk_grain(e);
}

/* Check the marker in front of a compressed grain. Sets *stored. */
static int
parse_marker(const struct vmdk_extent *e, const struct packed *p,
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

/* bytes: `room` bytes from the marker on. tmp: room for a grain. */
static int
unpack(const struct batch *b, const struct packed *p,
	const unsigned char *bytes, size_t room, unsigned char *tmp,
	struct image_error *err)
{
	const struct vmdk_extent *e = b->extent;
	size_t stored = 0, made = 0, grain = (size_t)vmdk_grain(e);

	int rc = parse_marker(e, p, bytes, &stored, err);
	if (rc < 0)
		return rc;
	if (stored > room - VMDK_GRAIN_MARKER)
		return image_damaged(err, e->store->name, -EINVAL,
			"compressed grain of guest offset 0x%" PRIx64
			" at sector %" PRIu64 " with %zu bytes lies past the "
			"end of the file",
			p->guest, p->host / VMDK_SECTOR, stored);
	unsigned char *to = p->length == grain ? p->to : tmp;
	rc = image_unzlib(b->scratch, bytes + VMDK_GRAIN_MARKER, stored, to,
		grain, &made);
	if (rc == -ENOMEM)
		return image_no_memory(err);
	/* The last grain may end with the disk. */
	uint64_t left = e->end - p->guest;
	if (rc < 0 || made < (left < grain ? left : grain))
		return image_damaged(err, e->store->name, -EINVAL,
			"compressed grain of guest offset 0x%" PRIx64
			" at sector %" PRIu64 " with %zu %s is damaged",
			p->guest, p->host / VMDK_SECTOR, stored,
			image_plural(stored, "byte", "bytes"));
	if (to == tmp)
		memcpy(p->to, tmp + p->skip, p->length);
	image_store_release(
		e->store, p->host, vmdk_align(VMDK_GRAIN_MARKER + stored));
	return 0;
}

/*
 * A stream has the bytes of a grain once: what belongs to other grains is not
 * read.
 */
static int
read_one(const struct batch *b, const struct packed *p, struct image_error *err)
{
	const struct vmdk_extent *e = b->extent;
	size_t most = most_stored(e), stored = 0;
	unsigned char *buffer =
		image_scratch_buffer(b->scratch, most + (size_t)vmdk_grain(e));

	if (!buffer)
		return image_no_memory(err);
	int rc = image_store_read(
		e->store, p->host, buffer, VMDK_GRAIN_MARKER, err);
	if (rc == 0)
		rc = parse_marker(e, p, buffer, &stored, err);
	if (rc == 0)
		rc = image_store_read(e->store, p->host + VMDK_GRAIN_MARKER,
			buffer + VMDK_GRAIN_MARKER, stored, err);
	return rc == 0 ? unpack(b, p, buffer, VMDK_GRAIN_MARKER + stored,
				 buffer + most, err)
		       : rc;
}

static int
read_batch(struct batch *b, struct image_error *err)
{
	unsigned n = b->n;
	int rc = 0;

	b->n = 0;
	if (n == 0)
		return 0;
	const struct vmdk_extent *e = b->extent;
	for (unsigned i = 0; rc == 0 && e->store->forward && i < n; i++)
		rc = read_one(b, &b->grains[i], err);
	if (e->store->forward || rc < 0)
		return rc;
	/* Aligned for direct I/O. */
	uint64_t from = b->grains[0].host & ~(uint64_t)(IMAGE_ALIGN - 1);
	size_t room = (size_t)(b->grains[n - 1].host - from) + most_stored(e);
	uint64_t reached;
	room = (room + IMAGE_ALIGN - 1) & ~(size_t)(IMAGE_ALIGN - 1);
	unsigned char *buffer =
		image_scratch_buffer(b->scratch, room + (size_t)vmdk_grain(e));
	if (!buffer)
		return image_no_memory(err);
	rc = image_store_reach(e->store, from, room, &reached, err);
	if (rc == 0)
		rc = image_store_read(
			e->store, from, buffer, (size_t)reached, err);
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		const struct packed *p = &b->grains[i];
		size_t at = (size_t)(p->host - from);
		if (at + VMDK_GRAIN_MARKER >= reached)
			return image_fail(err, e->store->name, -EIO,
				"has no data at offset %" PRIu64, p->host);
		rc = unpack(b, p, buffer + at, (size_t)reached - at,
			buffer + room, err);
	}
	return rc;
}

/* Returns whether the grain follows those of the batch closely in the file. */
static bool
fits(const struct batch *b, const struct vmdk_run *run)
{
	const struct packed *last = &b->grains[b->n - 1];

	return b->extent == run->extent && b->n < BATCH_GRAINS &&
	       run->host > last->host &&
	       run->host - last->host <= most_stored(b->extent) &&
	       run->host - b->grains[0].host <= BATCH_BYTES;
}

static int
add_packed(struct batch *b, const struct vmdk_run *run, uint64_t guest,
	unsigned char *to, struct image_error *err)
{
	uint64_t skip =
		(guest - run->extent->begin) & (vmdk_grain(run->extent) - 1);
	int rc = 0;

	if (b->n && !fits(b, run))
		rc = read_batch(b, err);
	b->extent = run->extent;
	b->grains[b->n++] = (struct packed){
		.guest = guest - skip,
		.host = run->host,
		.skip = (size_t)skip,
		.length = (size_t)run->length,
		.to = to,
	};
	return rc;
}

static int
read_plain(
	const struct vmdk_run *run, unsigned char *to, struct image_error *err)
{
	struct image_store *store = run->extent->store;
	size_t length = (size_t)run->length;

	int rc = image_store_read(store, run->host, to, length, err);
	if (rc == 0)
		image_store_release(store, run->host, length);
	return rc;
}

int
vmdk_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	struct vmdk_source *v = vmdk_source(source);
	struct batch batch;
	unsigned char *to = buf;

	int rc = image_source_refused(source, err);
	batch.n = 0;
	batch.extent = NULL;
	batch.scratch = scratch;
	while (rc == 0 && length) {
		struct vmdk_run run;
		rc = vmdk_lookup(v, offset, length, &run, err);
		if (rc < 0)
			break;
		if (run.kind == VMDK_PLAIN)
			rc = read_plain(&run, to, err);
		else if (run.kind == VMDK_PACKED)
			rc = add_packed(&batch, &run, offset, to, err);
		else
			memset(to, 0, (size_t)run.length);
		offset += run.length;
		to += run.length;
		length -= (size_t)run.length;
	}
	return rc == 0 ? read_batch(&batch, err) : rc;
}
