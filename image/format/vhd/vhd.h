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
 * vhd.c reads and checks; sink.c writes.
 */
#include <string.h>
#include "format/bytes.h"
#include "format/format.h"

#define VHD_SECTOR 512
#define VHD_FOOTER 512
#define VHD_HEADER 1024
#define VHD_COOKIE "conectix"
#define VHD_COOKIE_LENGTH 8
/* Sectors of a disk have numbers of 32 bits; QEMU has the same limit. */
#define VHD_MAX_SIZE ((uint64_t)2040 << 30)
/* The largest geometry. A disk with this geometry has the current size. */
#define VHD_MAX_GEOMETRY ((uint64_t)65535 * 16 * 255)

enum vhd_type { VHD_FIXED = 2, VHD_DYNAMIC = 3, VHD_DIFFERENCING = 4 };

static inline bool
vhd_has_cookie(const unsigned char *p, size_t length)
{
	return length >= VHD_COOKIE_LENGTH &&
	       memcmp(p, VHD_COOKIE, VHD_COOKIE_LENGTH) == 0;
}

/* Returns the checksum of bytes in which the four bytes at `skip` count as
 * zero. */
uint32_t vhd_checksum(const unsigned char *raw, size_t length, size_t skip);

/* sink.c: the members of image_format. */
extern const struct image_option vhd_options[];
int vhd_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err);
int vhd_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err);

#endif
