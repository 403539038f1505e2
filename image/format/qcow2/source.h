/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_SOURCE_H
#define HONE_IMAGE_QCOW2_SOURCE_H
/* The source of a qcow2 image, for the files that implement it. */
#include "format/named.h"
#include "format/slices.h"
#include "format/qcow2/qcow2.h"

/* An entry of the snapshot table. */
struct qcow2_snapshot {
	uint64_t l1_offset;
	uint32_t l1_entries;
	char *id;
	char *name;
	/* seconds since the Epoch */
	uint32_t date;
	/* bytes of the virtual disk at that time */
	uint64_t disk_size;
	uint64_t vm_state_size;
};

/* Constant after open, except for the cache. */
struct qcow2_source {
	struct image_source base;
	struct qcow2_header header;
	/* bits of an index into an L2 table; entries have 8 or 16 bytes */
	unsigned l2_bits;
	bool extended;
	/* smallest unit that is allocated: a cluster or a subcluster */
	unsigned subcluster_bits;
	/* offsets of the L2 tables of the disk, 0 where there is none */
	uint64_t *l1;
	uint64_t l1_entries;
	/* the L1 table that was read */
	uint64_t l1_offset;
	uint64_t l1_bytes;
	/* NULL if there is none, or if base.refused */
	struct image_source *backing;
	/* belongs to the first image of the chain */
	struct image_slices *cache;
	bool owns_cache;
	struct qcow2_snapshot *snapshots;
	uint32_t n_snapshots;
	/* bytes of the snapshot table */
	uint64_t snapshots_bytes;
	/* for image_source.doubt */
	char doubt[IMAGE_NAME_SHOWN + 256];
};

static inline struct qcow2_source *
qcow2_source(struct image_source *source)
{
	return (struct qcow2_source *)source;
}

/* qcow2.c: set the members that follow from the header. */
void qcow2_set_geometry(struct qcow2_source *q);

/*
 * tables.c: check an entry of the L1 table that `what` names. Sets *table to
 * the offset of the L2 table, or 0.
 */
int qcow2_parse_l1_entry(const struct qcow2_source *q, const char *what,
	uint64_t index, uint64_t entry, uint64_t *table,
	struct image_error *err);

/* tables.c: read and check the L1 table; sets l1 and l1_entries. */
int qcow2_load_l1(struct qcow2_source *q, const char *what, uint64_t offset,
	uint32_t entries, struct image_error *err);

/* tables.c: read and check the snapshot table; sets snapshots. */
int qcow2_load_snapshots(struct qcow2_source *q, struct image_error *err);
void qcow2_free_snapshots(struct qcow2_source *q);
/* Find the snapshot with that ID, or else with that name. */
int qcow2_find_snapshot(const struct qcow2_source *q, const char *wanted,
	const struct qcow2_snapshot **out, struct image_error *err);

/* One cluster, as its entry in an L2 table describes it. */
struct qcow2_cluster {
	bool compressed;
	/* 0 if the cluster is not allocated; also a valid offset of an external
	 * data file */
	uint64_t host;
	/* bytes to read from host on; 0: none */
	uint32_t stored;
	/* bit n: subcluster n is allocated, or reads as zeros; bit 0 is the
	 * cluster if there are no subclusters */
	uint32_t allocated;
	uint32_t zero;
};

/*
 * read.c: check an entry of an L2 table and, with extended L2 entries, the
 * bitmap that follows it. guest is the offset of its cluster. The cluster may
 * lie on a table of the image.
 */
int qcow2_parse_cluster(const struct qcow2_source *q, uint64_t entry,
	uint64_t bitmap, uint64_t guest, struct qcow2_cluster *cluster,
	struct image_error *err);

/* read.c: as image_source_ops.extent. */
int qcow2_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err);

/* read.c: as image_source_ops.read. */
int qcow2_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err);

#endif
