/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_SOURCE_H
#define HONE_IMAGE_QCOW2_SOURCE_H
/* The source of a qcow2 image, for the files that implement it. */
#include "format/named.h"
#include "format/slices.h"
#include "format/qcow2/header.h"

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

/* The images of a chain that are being opened, from the last to the first. */
struct qcow2_chain {
	const struct qcow2_source *source;
	const struct qcow2_chain *above;
	/* files above this one */
	unsigned depth;
	/* bytes of L1 tables, of this one and those above */
	uint64_t l1_bytes;
};

/*
 * open.c: as image_format.open of qcow2; above is NULL for the first image of a
 * chain.
 */
int qcow2_open_source(const struct image_format *format,
	struct image_store *store, const struct image_open *how,
	const struct qcow2_chain *above, struct image_source **out,
	struct image_error *err);

/* Set the members that follow from the header. */
void qcow2_set_geometry(struct qcow2_source *q);

/*
 * l1.c: check an entry of the L1 table that `what` names. Sets *table to the
 * offset of the L2 table, or 0.
 */
int qcow2_parse_l1_entry(const struct qcow2_source *q, const char *what,
	uint64_t index, uint64_t entry, uint64_t *table,
	struct image_error *err);

/* l1.c: read and check the L1 table; sets l1 and l1_entries. */
int qcow2_load_l1(struct qcow2_source *q, const char *what, uint64_t offset,
	uint32_t entries, struct image_error *err);

/* snapshot.c: read and check the snapshot table; sets snapshots. */
int qcow2_load_snapshots(struct qcow2_source *q, struct image_error *err);
void qcow2_free_snapshots(struct qcow2_source *q);
/* Find the snapshot with that ID, or else with that name. */
int qcow2_find_snapshot(const struct qcow2_source *q, const char *wanted,
	const struct qcow2_snapshot **out, struct image_error *err);

/* backing.c: the other files that an image names. */
int qcow2_open_data_file(struct qcow2_source *q, const struct image_open *how,
	struct image_error *err);
/* Open the backing file as a store, and find its format. */
int qcow2_open_backing_store(const struct qcow2_source *q,
	const struct image_open *how, const struct qcow2_chain *chain,
	struct image_store **out, const struct image_format **format,
	struct image_error *err);

/* info.c: as image_source_ops.info. */
void qcow2_info(
	const struct image_source *source, const struct image_reporter *r);

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
 * cluster.c: check an entry of an L2 table and, with extended L2 entries, the
 * bitmap that follows it. guest is the offset of its cluster. The cluster may
 * lie on a table of the image.
 */
int qcow2_parse_cluster(const struct qcow2_source *q, uint64_t entry,
	uint64_t bitmap, uint64_t guest, struct qcow2_cluster *cluster,
	struct image_error *err);

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

/*
 * cluster.c: describe the image itself, without its backing file, at offset
 * `guest` for at most `limit` bytes, which is at least 1. A compressed run is
 * in one cluster; other runs end at the latest with their slice. Any thread.
 */
int qcow2_lookup(struct qcow2_source *q, uint64_t guest, uint64_t limit,
	struct qcow2_run *run, struct image_error *err);

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

/* chain.c: as qcow2_lookup(), including backing files. */
int qcow2_find(struct qcow2_source *q, uint64_t guest, uint64_t limit,
	struct qcow2_place *place, struct image_error *err);

/* extent.c: as image_source_ops.extent. */
int qcow2_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err);

/* read.c: as image_source_ops.read. */
int qcow2_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err);

#endif
