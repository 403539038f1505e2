/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_HOSTILE_IMAGES_H
#define HONE_TESTS_IMAGE_HOSTILE_IMAGES_H
/* Small sound images in memory, for tests that damage them. */
#include <stddef.h>
#include <stdint.h>

/* The most bytes that an image has, also after a damage. */
#define HOSTILE_ROOM ((size_t)1 << 20)

struct hostile_image {
	unsigned char bytes[HOSTILE_ROOM];
	size_t length;
};

/* A raw disk of random bytes. */
void hostile_raw(struct hostile_image *image);

/* That of small_image.h. */
void hostile_qcow2(struct hostile_image *image);

/* A fixed VHD: the disk, and a footer. */
void hostile_vhd_fixed(struct hostile_image *image);

/*
 * A dynamic VHD: the copy of the footer, the header at 512, the table of four
 * entries at VHD_TABLE, three blocks of VHD_BLOCK bytes, each behind a sector
 * with its bitmap, and the footer. Entry 1 has no block.
 */
#define HOSTILE_VHD_TABLE 1536
#define HOSTILE_VHD_BLOCK ((size_t)16384)
void hostile_vhd(struct hostile_image *image);
/* Set the checksums of both footers and of the header anew. */
void hostile_vhd_sums(struct hostile_image *image);

/* A streamOptimized VMDK as hone convert writes it, of five grains: the second
 * one is zero. */
#define HOSTILE_VMDK_GRAIN ((size_t)65536)
void hostile_vmdk(struct hostile_image *image);

/* Numbers of `bytes` bytes. */
void hostile_put_be(
	struct hostile_image *image, size_t at, size_t bytes, uint64_t value);
void hostile_put_le(
	struct hostile_image *image, size_t at, size_t bytes, uint64_t value);

#endif
