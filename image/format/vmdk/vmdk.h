/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_VMDK_H
#define HONE_IMAGE_VMDK_H
/*
 * The layout of VMDK by "Virtual Disk Format 5.0" of VMware. Numbers are in
 * little-endian byte order; offsets and lengths are in sectors of 512 bytes.
 *
 *   header | descriptor | grain directory | grain tables | grains
 *
 * The grain directory has the sector of each grain table, and a grain table the
 * sector of each grain. With streamOptimized, each grain is compressed and has
 * a marker in front of it, and the tables may follow the grains: then the
 * header does not know the place of the grain directory, and a footer, a copy
 * of the header that does, is in front of the last sector.
 *
 * In the order of control: vmdk.c opens an image and the files that it names;
 * descriptor.c parses its text; read.c finds grains by the tables and reads
 * them, walk.c by the markers of a stream; check.c has the tests, sink.c
 * writes. Functions without a comment are members of image_format or
 * image_source_ops.
 */
#include <endian.h>
#include <string.h>
#include "format/bytes.h"
#include "format/format.h"
#include "format/slices.h"

#define VMDK_SECTOR 512
#define VMDK_MAGIC "KDMV"

/* flags of the header */
#define VMDK_NEWLINES 0x1u
#define VMDK_REDUNDANT 0x2u
#define VMDK_ZEROED_GRAINS 0x4u
#define VMDK_COMPRESSED 0x10000u
#define VMDK_MARKERS 0x20000u
#define VMDK_KNOWN_FLAGS                                                       \
	(VMDK_NEWLINES | VMDK_REDUNDANT | VMDK_ZEROED_GRAINS |                 \
		VMDK_COMPRESSED | VMDK_MARKERS)

#define VMDK_DEFLATE 1

/* gd_offset of a header whose footer has the offset */
#define VMDK_AT_END UINT64_MAX

/* types of a marker without data */
#define VMDK_END_OF_STREAM 0
#define VMDK_GRAIN_TABLE 1
#define VMDK_GRAIN_DIRECTORY 2
#define VMDK_FOOTER 3

/* Bytes in front of the data of a grain: its first sector, and its length. */
#define VMDK_GRAIN_MARKER 12

/* Entries of a grain table: the most that QEMU reads, and all that VMware
 * writes. */
#define VMDK_TABLE_ENTRIES 512

/* The limits of QEMU, and those of a cluster of this pipeline. */
#define VMDK_MIN_GRAIN 8
#define VMDK_MAX_GRAIN 4096
/* Entries of grain directories: 64 TiB in tables of 32 MiB. The largest disk of
 * VMware has 62 TB. */
#define VMDK_MAX_DIRECTORY ((uint64_t)2 << 20)
#define VMDK_MAX_DESCRIPTOR (((size_t)1 << 20) - 1)

/* Rounds up to whole sectors. */
static inline uint64_t
vmdk_align(uint64_t bytes)
{
	return (bytes + VMDK_SECTOR - 1) & ~(uint64_t)(VMDK_SECTOR - 1);
}

/* The header of a sparse extent: checked values. */
struct vmdk_header {
	uint32_t version;
	uint32_t flags;
	/* sectors of the disk */
	uint64_t capacity;
	/* log2 of the bytes of a grain */
	unsigned grain_bits;
	/* entries of a grain table: a power of two */
	uint32_t entries;
	/* entries of the grain directory */
	uint64_t tables;
	/* bytes */
	uint64_t descriptor, descriptor_bytes, redundant, directory;
	/* bytes in front of the first grain */
	uint64_t overhead;
	/* the footer has the offset of the directory, and was not read yet */
	bool at_end;
	/* it was read */
	bool has_footer;
};

/* Returns the end of the header and the descriptor: no grain is before it. */
static inline uint64_t
vmdk_begin(const struct vmdk_header *h)
{
	return h->descriptor && h->descriptor_bytes
		       ? h->descriptor + h->descriptor_bytes
		       : VMDK_SECTOR;
}

/* vmdk.c: check the footer, three sectors with its marker and the end of the
 * stream, against the header, and take the places of the tables from it. */
int vmdk_parse_footer(const unsigned char *raw, const char *name,
	struct vmdk_header *header, struct image_error *err);

/* An extent, as a line of the descriptor describes it. */
struct vmdk_line {
	/* upper case, as SPARSE */
	char type[16];
	uint64_t sectors;
	/* NULL: the type has no file */
	char *name;
	/* of FLAT: the sector of the file at which the extent begins */
	uint64_t offset;
};

/*
 * Most lines: 8 TiB in extents of 2 GiB, the largest disk of VMware
 * Workstation. The locks of a file that each line names take 4 s of CPU time,
 * and 108 s with 16384 lines.
 */
#define VMDK_MAX_EXTENTS 4096

struct vmdk_descriptor {
	/* NULL if there is none */
	char *create_type;
	char *adapter_type;
	char *hw_version;
	/* of the text; NULL: UTF-8 */
	char *encoding;
	char *parent;
	uint32_t cid;
	uint32_t parent_cid;
	size_t count;
	uint64_t room;
	struct vmdk_line *lines;
};

#define VMDK_NO_PARENT UINT32_MAX

/*
 * descriptor.c: check the text of a descriptor. strict: each line has to be one
 * that is understood, in ASCII; otherwise only those that describe the data.
 * The caller frees *descriptor by vmdk_descriptor_destroy(), also after a
 * failure.
 */
int vmdk_parse_descriptor(const char *text, size_t length, const char *name,
	bool strict, struct vmdk_descriptor *descriptor,
	struct image_error *err);
void vmdk_descriptor_destroy(struct vmdk_descriptor *descriptor);

/* descriptor.c: by the rule of QEMU. */
bool vmdk_is_descriptor(const unsigned char *head, size_t length);

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

static inline uint64_t
vmdk_table_bytes(const struct vmdk_header *h)
{
	return h->entries * sizeof(uint32_t);
}

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

/* vmdk.c: as image_format.open. whole: the bytes of the store can be read in
 * any order, also those of a stream. */
int vmdk_open_source(struct image_store *store, const struct image_open *how,
	bool whole, struct image_source **out, struct image_error *err);
/* vmdk.c: fail if the subformat is not one of a single file. */
int vmdk_check_subformat(
	const struct vmdk_source *source, struct image_error *err);
void vmdk_close(struct image_source *source);

/* read.c: read and check the grain directory of a sparse extent. */
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

/* read.c: describe the disk at `guest` for 1 to `limit` bytes. Any thread. */
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

/*
 * walk.c: fail if the markers of an image with a footer contradict its tables,
 * which have that many grains. A program that reads the image as a stream has
 * the markers alone, and sees another disk if they differ.
 */
int vmdk_check_markers(
	struct vmdk_source *v, uint64_t grains, struct image_error *err);

int vmdk_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err);

extern const struct image_option vmdk_options[];
int vmdk_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err);
int vmdk_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err);
int vmdk_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err);

#endif
