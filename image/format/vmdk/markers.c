/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the markers of a streamOptimized image with its tables: a program
 * that reads the image as a stream has the markers alone, and sees another disk
 * if they differ. walk.c does the same while it reads such a stream.
 */
#include <errno.h>
#include <inttypes.h>
#include <hone/zero.h>
#include "format/vmdk/source.h"

/*
 * The first grain follows the header. Xen Orchestra states the space of tables
 * that it does not write, and begins behind the descriptor.
 */
int
vmdk_first_marker(
	const struct vmdk_extent *extent, uint64_t *at, struct image_error *err)
{
	const struct vmdk_header *h = &extent->header;
	uint64_t end = vmdk_begin(h), reached;
	unsigned char raw[VMDK_SECTOR];

	*at = h->overhead;
	if (end >= h->overhead)
		return 0;
	int rc = image_store_reach(
		extent->store, end, sizeof(raw), &reached, err);
	if (rc < 0 || reached < sizeof(raw))
		return rc;
	rc = image_store_read(extent->store, end, raw, sizeof(raw), err);
	if (rc == 0 && !hone_buffer_is_zero(raw, sizeof(raw)))
		*at = end;
	return rc;
}

/*
 * Xen Orchestra has one marker for all tables, others one for each. The entries
 * of a table lie behind the header, so that no table begins as a marker.
 */
int
vmdk_count_tables(const struct vmdk_extent *extent, uint64_t at,
	uint64_t *count, struct image_error *err)
{
	const struct vmdk_header *h = &extent->header;
	uint64_t next = at + vmdk_align(h->entries * sizeof(uint32_t));
	unsigned char raw[16];

	uint64_t reached;

	*count = 1;
	int rc = image_store_reach(
		extent->store, next, sizeof(raw), &reached, err);
	if (rc < 0 || reached < sizeof(raw))
		return rc;
	rc = image_store_read(extent->store, next, raw, sizeof(raw), err);
	if (rc < 0)
		return rc;
	uint32_t type = image_le32(raw + 12);
	if (image_le32(raw + 8) != 0 || type == 0 || type > VMDK_FOOTER)
		*count = h->tables;
	return 0;
}

struct markers {
	struct vmdk_source *v;
	const struct vmdk_extent *extent;
	/* of the next marker */
	uint64_t at;
	/* of the marker of the footer */
	uint64_t end;
	uint64_t grains;
};

/* Pass zeros: some programs write them in front of the tables. */
static int
pass_zeros(struct markers *m, struct image_error *err)
{
	struct image_store *store = m->extent->store;
	unsigned char bytes[8 * VMDK_SECTOR];
	uint64_t length, left = m->end - m->at;
	bool hole;

	int rc = image_store_extent(store, m->at, left, &length, &hole, err);
	if (rc < 0)
		return rc;
	if (hole && length >= sizeof(bytes)) {
		m->at += length - length % VMDK_SECTOR;
		return 0;
	}
	length = left < sizeof(bytes) ? left : sizeof(bytes);
	rc = image_store_read(store, m->at, bytes, (size_t)length, err);
	if (rc < 0)
		return rc;
	size_t zeros = hone_find_nonzero(bytes, (size_t)length);
	zeros -= zeros % VMDK_SECTOR;
	if (zeros == 0)
		return image_damaged(err, store->name, -EINVAL,
			"marker at sector %" PRIu64 " has no length and no "
			"type, and bytes that are not zero",
			m->at / VMDK_SECTOR);
	m->at += zeros;
	return 0;
}

/* A grain: the table has to have it at the same place. */
static int
pass_grain(struct markers *m, uint64_t sector, uint32_t bytes,
	struct image_error *err)
{
	const struct vmdk_extent *e = m->extent;
	uint64_t grain = vmdk_grain(e) / VMDK_SECTOR;
	struct vmdk_run run = {.kind = VMDK_HOLE};

	if (sector % grain == 0 && sector < e->header.capacity) {
		int rc = vmdk_lookup(m->v, sector * VMDK_SECTOR, 1, &run, err);
		if (rc < 0)
			return rc;
	}
	if (run.kind != VMDK_PACKED || run.host != m->at)
		return image_damaged(err, e->store->name, -EINVAL,
			"marker at sector %" PRIu64 " has the grain of disk "
			"sector %" PRIu64 ", which the grain tables do not "
			"have there",
			m->at / VMDK_SECTOR, sector);
	m->at += vmdk_align(VMDK_GRAIN_MARKER + (uint64_t)bytes);
	m->grains++;
	return 0;
}

static int
pass_marker(struct markers *m, struct image_error *err)
{
	const struct vmdk_header *h = &m->extent->header;
	struct image_store *store = m->extent->store;
	unsigned char raw[16];

	int rc = image_store_read(store, m->at, raw, sizeof(raw), err);
	if (rc < 0)
		return rc;
	uint64_t value = image_le64(raw);
	uint32_t bytes = image_le32(raw + 8), type = image_le32(raw + 12);
	if (bytes)
		return pass_grain(m, value, bytes, err);
	uint64_t length = type == VMDK_GRAIN_TABLE
				  ? h->entries * sizeof(uint32_t)
				  : h->tables * sizeof(uint32_t);
	if (value == 0 && type == VMDK_END_OF_STREAM)
		return pass_zeros(m, err);
	if (type != VMDK_GRAIN_TABLE && type != VMDK_GRAIN_DIRECTORY)
		return image_damaged(err, store->name, -EINVAL,
			"marker at sector %" PRIu64 " has type %" PRIu32
			" and no data",
			m->at / VMDK_SECTOR, type);
	if (value && value != vmdk_align(length) / VMDK_SECTOR)
		return image_damaged(err, store->name, -EINVAL,
			"marker at sector %" PRIu64 " states %" PRIu64
			" %s, not %" PRIu64,
			m->at / VMDK_SECTOR, value,
			image_plural(value, "sector", "sectors"),
			vmdk_align(length) / VMDK_SECTOR);
	m->at += VMDK_SECTOR;
	uint64_t count = 1;
	if (type == VMDK_GRAIN_TABLE && value == 0)
		rc = vmdk_count_tables(m->extent, m->at, &count, err);
	m->at += count * vmdk_align(length);
	return rc;
}

int
vmdk_check_markers(
	struct vmdk_source *v, uint64_t grains, struct image_error *err)
{
	const struct vmdk_extent *e = v->extents;
	struct markers m = {.v = v,
		.extent = e,
		.end = (e->store->size / VMDK_SECTOR - 3) * VMDK_SECTOR};

	if (!e->header.has_footer)
		return 0;
	int rc = vmdk_first_marker(e, &m.at, err);
	while (rc == 0 && m.at < m.end)
		rc = pass_marker(&m, err);
	if (rc == 0 && m.at != m.end)
		rc = image_damaged(err, e->store->name, -EINVAL,
			"its markers end at sector %" PRIu64
			", and its footer is at sector %" PRIu64,
			m.at / VMDK_SECTOR, m.end / VMDK_SECTOR);
	/* Each marker has a grain of its own in the tables. */
	if (rc == 0 && m.grains != grains)
		rc = image_damaged(err, e->store->name, -EINVAL,
			"its grain tables have %" PRIu64
			" %s, and its markers %" PRIu64,
			grains, image_plural(grains, "grain", "grains"),
			m.grains);
	/* The visit of a stream compared the grains that it released. */
	return rc == -ESPIPE && e->store->forward ? 0 : rc;
}
