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
 */
#include <endian.h>
#include <string.h>
#include "format/bytes.h"
#include "format/format.h"

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

/* Returns the bytes of the sectors that have so many bytes. */
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
	/* bytes */
	uint64_t descriptor;
	uint64_t descriptor_bytes;
	uint64_t redundant;
	uint64_t directory;
	/* entries of the grain directory */
	uint64_t tables;
	/* the footer has the offset of the directory */
	bool at_end;
	/* the same, and the footer was read */
	bool has_footer;
	/* bytes in front of the first grain */
	uint64_t overhead;
};

/* Returns the end of the header and the descriptor: no grain is before it. */
static inline uint64_t
vmdk_begin(const struct vmdk_header *h)
{
	return h->descriptor && h->descriptor_bytes
		       ? h->descriptor + h->descriptor_bytes
		       : VMDK_SECTOR;
}

/* header.c: returns the name of the kind of extent that is known, but not
 * supported, by the first bytes of a file; NULL: none. */
const char *vmdk_other_kind(const unsigned char *head, size_t length);

/* header.c: check the header that the first sector of a sparse extent holds. */
int vmdk_parse_header(const unsigned char *raw, const char *name,
	struct vmdk_header *header, struct image_error *err);

/*
 * header.c: read the header, and with `whole` the footer if the header refers
 * to one; otherwise header->at_end remains true. The tables may lie past the
 * end of the file.
 */
int vmdk_read_header(struct image_store *store, bool whole,
	struct vmdk_header *header, struct image_error *err);

/*
 * header.c: check the footer, three sectors with its marker and the end of the
 * stream, against the header. Sets header->directory and redundant.
 */
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
	struct vmdk_line *lines;
};

#define VMDK_NO_PARENT UINT32_MAX

/*
 * descriptor.c: check the text of a descriptor. strict: each line has to be one
 * that is understood, in ASCII; otherwise lines that have no matter for the
 * data may be any text. The caller frees *descriptor by
 * vmdk_descriptor_destroy(), also after a failure.
 */
int vmdk_parse_descriptor(const char *text, size_t length, const char *name,
	bool strict, struct vmdk_descriptor *descriptor,
	struct image_error *err);
void vmdk_descriptor_destroy(struct vmdk_descriptor *descriptor);

/* descriptor.c: returns whether the first bytes of a file are a descriptor, by
 * the rule of QEMU. */
bool vmdk_is_descriptor(const unsigned char *head, size_t length);

/* sink.c, options.c: the members of image_format. */
extern const struct image_option vmdk_options[];
/* options.c: the name of the adapter. */
const char *vmdk_adapter(const struct image_create *create);
int vmdk_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err);
int vmdk_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err);

/* check.c: as image_format.check. */
int vmdk_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err);

#endif
