/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_VMDK_SOURCE_H
#define HONE_IMAGE_VMDK_SOURCE_H
/* The source of a VMDK image, for the files that implement it. */
#include "format/slices.h"
#include "format/vmdk/vmdk.h"

/* A file, or a part of one, that holds a part of the disk. */
struct vmdk_extent {
	/* bytes of the disk */
	uint64_t begin;
	uint64_t end;
	enum vmdk_extent_kind { VMDK_SPARSE, VMDK_FLAT, VMDK_ZERO } kind;
	/* NULL with VMDK_ZERO */
	struct image_store *store;
	/* flat: offset in the store */
	uint64_t host;
	/* sparse */
	struct vmdk_header header;
	/* the sector of each grain table, or 0 */
	uint32_t *directory;
};

/* Constant after open, except for the cache. */
struct vmdk_source {
	struct image_source base;
	struct vmdk_descriptor descriptor;
	/* in the order of the disk, without gaps */
	size_t count;
	struct vmdk_extent *extents;
	/* entries of the grain directories of all extents that have files */
	uint64_t tables;
	/* grain tables */
	struct image_slices *cache;
	/* NULL, or the grains of a stream with its tables at the end */
	struct vmdk_walk *walk;
	/* the size and the descriptor are known */
	bool described;
	/* the image is not safe if other programs may see another one */
	bool strict;
};

static inline struct vmdk_source *
vmdk_source(struct image_source *source)
{
	return (struct vmdk_source *)source;
}

static inline uint64_t
vmdk_grain(const struct vmdk_extent *e)
{
	return UINT64_C(1) << e->header.grain_bits;
}

/*
 * source.c: as image_format.open. whole: the bytes of the store can be read in
 * any order, also those of a stream.
 */
int vmdk_open_source(struct image_store *store, const struct image_open *how,
	bool whole, struct image_source **out, struct image_error *err);
/* source.c: fail if the subformat is not one of a single file. */
int vmdk_check_subformat(
	const struct vmdk_source *source, struct image_error *err);
/* source.c: free everything but the image's own store. */
void vmdk_free(struct vmdk_source *v);

/* tables.c: read and check the grain directory of a sparse extent. */
int vmdk_load_directory(struct vmdk_extent *extent, struct image_error *err);

enum vmdk_kind {
	/* no file has it */
	VMDK_HOLE,
	/* marked as zeros */
	VMDK_ZEROED,
	VMDK_PLAIN,
	VMDK_PACKED
};

/* A range of the disk whose grains are of one kind. */
struct vmdk_run {
	enum vmdk_kind kind;
	uint64_t length;
	/* plain: offset in the file of the first byte of the range; packed:
	 * offset of the marker of the grain. Only plain grains that are
	 * adjacent in the file are one run, and a packed grain is a run of its
	 * own */
	uint64_t host;
	const struct vmdk_extent *extent;
};

/*
 * tables.c: describe the disk at `guest` for at most `limit` bytes, which is at
 * least 1. Any thread.
 */
int vmdk_lookup(struct vmdk_source *v, uint64_t guest, uint64_t limit,
	struct vmdk_run *run, struct image_error *err);

/*
 * walk.c: the grains of a stream by their markers. Any thread looks them up; a
 * look-up reads the stream up to the grain. vmdk_walk_finish() reads it to its
 * end, and fails if the tables there differ from the markers. With keep_tables,
 * the store keeps what it has of these tables.
 */
int vmdk_walk_create(const struct vmdk_extent *extent, bool keep_tables,
	struct vmdk_walk **out, struct image_error *err);
/* NULL is allowed. */
void vmdk_walk_destroy(struct vmdk_walk *walk);
int vmdk_walk_lookup(struct vmdk_walk *walk, uint64_t at, uint64_t limit,
	struct vmdk_run *run, struct image_error *err);
int vmdk_walk_finish(struct vmdk_walk *walk, struct image_error *err);

/* markers.c: set *at to the offset of the first marker of a stream. */
int vmdk_first_marker(const struct vmdk_extent *extent, uint64_t *at,
	struct image_error *err);
/* markers.c: set *count to the number of grain tables at an offset, behind a
 * marker that does not count sectors. */
int vmdk_count_tables(const struct vmdk_extent *extent, uint64_t at,
	uint64_t *count, struct image_error *err);
/* markers.c: fail if the markers of an image with a footer contradict its
 * tables, which have that many grains. */
int vmdk_check_markers(
	struct vmdk_source *v, uint64_t grains, struct image_error *err);

/* read.c: as image_source_ops.read. */
int vmdk_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err);

/*
 * encoding.c: returns the name in UTF-8, which the caller frees, or NULL if the
 * descriptor has no other encoding or the name cannot be converted.
 */
char *vmdk_utf8_name(
	const struct vmdk_descriptor *descriptor, const char *name);

/* extents.c: set the size of the disk by the lines of the descriptor. */
int vmdk_set_size(struct vmdk_source *v, struct image_error *err);
/* extents.c: open the files that a descriptor names. */
int vmdk_open_extents(struct vmdk_source *v, const struct image_open *how,
	struct image_error *err);

#endif
