/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_VHD_H
#define HONE_IMAGE_VHD_H
/*
 * VHD, as in Microsoft's "Virtual Hard Disk Image Format Specification" 1.0.
 *
 *	fixed:    disk, footer
 *	dynamic:  copy of the footer, header, table, blocks, footer
 *	block:    bitmap of its sectors, sectors
 *
 * All numbers are big-endian. An entry of the table has the sector of the file
 * at which a block begins. A sector whose bit is clear reads as zeros.
 *
 * footer.c and header.c parse; blocks.c has the table and the bitmaps; source.c
 * opens and reads; check.c looks for what other readers take for another disk.
 */
#include <pthread.h>
#include <string.h>
#include "format/bytes.h"
#include "format/format.h"

#define VHD_SECTOR 512
#define VHD_FOOTER 512
#define VHD_HEADER 1024
#define VHD_COOKIE "conectix"
#define VHD_COOKIE_LENGTH 8
/* An entry of the table without a block. */
#define VHD_UNUSED UINT32_MAX
/* Sectors of a disk have numbers of 32 bits; QEMU has the same limit. */
#define VHD_MAX_SIZE ((uint64_t)2040 << 30)
/* Bytes of the table, as of the L1 table of qcow2. */
#define VHD_MAX_TABLE ((uint64_t)32 << 20)
/* Bytes of the disk that one sector of a bitmap describes. */
#define VHD_PIECE ((uint64_t)VHD_SECTOR * 8 * VHD_SECTOR)

enum vhd_type { VHD_FIXED = 2, VHD_DYNAMIC = 3, VHD_DIFFERENCING = 4 };

struct vhd_footer {
	enum vhd_type type;
	/* of the header; not used for a fixed disk */
	uint64_t header_offset;
	uint64_t current_size;
	/* seconds since 2000-01-01 */
	uint32_t timestamp;
	uint16_t cylinders;
	uint8_t heads;
	uint8_t sectors;
	unsigned char creator[4];
	unsigned char uuid[16];
	/* bytes of the disk */
	uint64_t size;
	/* size is current_size, not that of the geometry */
	bool by_current_size;
	/* the size by the other field */
	uint64_t other_size;
	/* the two sizes differ, and readers disagree about them */
	bool unsure;
	/* of the user */
	enum image_vhd_size choice;
};

/* The header of a dynamic disk. */
struct vhd_header {
	uint64_t table_offset;
	uint32_t table_entries;
	/* bytes, a power of two */
	uint32_t block_size;
};

static inline bool
vhd_has_cookie(const unsigned char *p, size_t length)
{
	return length >= VHD_COOKIE_LENGTH &&
	       memcmp(p, VHD_COOKIE, VHD_COOKIE_LENGTH) == 0;
}

/* Returns the checksum of bytes in which the four bytes at `skip` count as
 * zero. */
uint32_t vhd_checksum(const unsigned char *raw, size_t length, size_t skip);

/* Check a footer of the store. `where` is for the message: "footer". */
int vhd_parse_footer(const unsigned char *raw, const char *where,
	const struct image_store *store, enum image_vhd_size choice,
	struct vhd_footer *footer, struct image_error *err);
/* Check the header of a dynamic disk of `size` bytes. */
int vhd_parse_header(const unsigned char *raw, uint64_t size, const char *name,
	struct vhd_header *header, struct image_error *err);

/* Bitmaps that were read last. */
#define VHD_SLOTS 16

struct vhd_slot {
	bool used;
	/* offset of the sector in the file */
	uint64_t offset;
	unsigned char bits[VHD_SECTOR];
};

struct vhd_source {
	struct image_source base;
	struct vhd_footer footer;
	struct vhd_header header;
	/* of the blocks that the disk has, in host order; NULL: fixed */
	uint32_t *table;
	uint64_t n_blocks;
	/* blocks with a place */
	uint64_t n_used;
	/* bytes of the bitmap of a block */
	uint64_t bitmap_bytes;
	/* the end of the last block in the file */
	uint64_t blocks_end;
	/* vhd_check() follows a visit of a stream */
	bool untrusted;
	/* the disk has this size at least, whatever its reader */
	uint64_t sure_size;
	/* the footer at the end of the file was read */
	bool has_end;
	/* for image_source.doubt */
	char doubt[192];
	pthread_mutex_t lock;
	/* under lock */
	struct vhd_slot slots[VHD_SLOTS];
};

static inline struct vhd_source *
vhd_source(struct image_source *source)
{
	return (struct vhd_source *)source;
}

/* Load the table, and check each entry. `end`: no block is past it. */
int vhd_load_table(struct vhd_source *v, uint64_t end, struct image_error *err);

/* A range of the disk inside one sector of a bitmap. */
struct vhd_run {
	uint64_t length;
	/* of the first byte, or IMAGE_NO_HOST */
	uint64_t host;
	/* offset in the file of the sector of the bitmap */
	uint64_t bitmap;
	/* of the first byte, from that which the first bit describes */
	uint64_t skip;
	/* the range reaches the last sector of the bitmap */
	bool last;
};

/* Set *run to the place of at most length bytes of the disk. */
void vhd_find(const struct vhd_source *v, uint64_t offset, uint64_t length,
	struct vhd_run *run);
/* Read a sector of a bitmap, through the slots. */
int vhd_read_bits(struct vhd_source *v, uint64_t offset,
	unsigned char bits[VHD_SECTOR], struct image_error *err);
static inline bool
vhd_bit(const unsigned char *bits, unsigned sector)
{
	return bits[sector / 8] >> (7 - sector % 8) & 1;
}

/*
 * source.c: as image_format.open. whole: a stream has come to its end, which
 * can be read, too.
 */
int vhd_open_source(struct image_store *store, const struct image_open *how,
	bool whole, struct image_source **out, struct image_error *err);
/* Free everything but the store. */
void vhd_free(struct image_source *source);
/* check.c: as image_format.check. */
int vhd_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err);
extern const struct image_option vhd_options[];
int vhd_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err);
int vhd_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err);
/* info.c */
void vhd_info(
	const struct image_source *source, const struct image_reporter *r);

#endif
