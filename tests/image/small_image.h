/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_SMALL_IMAGE_H
#define HONE_TESTS_IMAGE_SMALL_IMAGE_H
/*
 * A sound qcow2 image in memory, of a few clusters of 512 bytes, with a
 * snapshot and a bitmap, for tests and fuzzers that damage it.
 */
#include <string.h>
#include "format/qcow2/qcow2.h"

#define SMALL_CLUSTER 512u
#define SMALL_COPIED (UINT64_C(1) << 63)
#define SMALL_COMPRESSED (UINT64_C(1) << 62)
/* one L2 table describes 32 KiB */
#define SMALL_DISK (UINT64_C(64) << 10)

/* Clusters of the file. */
enum {
	SMALL_HEADER,
	SMALL_REFCOUNT_TABLE,
	SMALL_REFCOUNT_BLOCK,
	SMALL_L1,
	/* two L2 tables */
	SMALL_L2,
	SMALL_SNAPSHOTS = 6,
	/* its L1 table, which shares the second L2 table */
	SMALL_SNAPSHOT_L1,
	/* guest clusters 0 to 3; 64, 74, 84 and 94, which are shared */
	SMALL_DATA,
	/* guest clusters 4 and 5, compressed */
	SMALL_PACKED = 16,
	SMALL_BITMAPS,
	SMALL_BITMAP_TABLE,
	SMALL_BITMAP,
	SMALL_CLUSTERS
};

#define SMALL_BYTES (SMALL_CLUSTERS * SMALL_CLUSTER)
#define SMALL_AT(cluster) ((size_t)(cluster)*SMALL_CLUSTER)

/* Where the entry of a guest cluster lies. */
#define SMALL_ENTRY(guest) (SMALL_AT(SMALL_L2) + 8 * (size_t)(guest))
/* Where the reference count of a cluster lies. */
#define SMALL_COUNT(cluster) (SMALL_AT(SMALL_REFCOUNT_BLOCK) + 2 * (cluster))

/* A big-endian number. */
static inline void
small_put(unsigned char *image, size_t at, size_t bytes, uint64_t value)
{
	for (size_t i = 0; i < bytes; i++)
		image[at + i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

static inline void
small_header(unsigned char *image)
{
	small_put(image, 0, 4, QCOW2_MAGIC);
	small_put(image, 4, 4, 3);
	small_put(image, 20, 4, 9);
	small_put(image, 24, 8, SMALL_DISK);
	small_put(image, 36, 4, 2);
	small_put(image, 40, 8, SMALL_AT(SMALL_L1));
	small_put(image, 48, 8, SMALL_AT(SMALL_REFCOUNT_TABLE));
	small_put(image, 56, 4, 1);
	small_put(image, 60, 4, 1);
	small_put(image, 64, 8, SMALL_AT(SMALL_SNAPSHOTS));
	small_put(image, 88, 8, 1);
	small_put(image, 96, 4, 4);
	small_put(image, 100, 4, 112);
	/* the bitmaps extension */
	small_put(image, 112, 4, 0x23852875);
	small_put(image, 116, 4, 24);
	small_put(image, 120, 4, 1);
	small_put(image, 128, 8, 32);
	small_put(image, 136, 8, SMALL_AT(SMALL_BITMAPS));
}

static inline void
small_snapshot(unsigned char *image)
{
	size_t at = SMALL_AT(SMALL_SNAPSHOTS);

	small_put(image, at, 8, SMALL_AT(SMALL_SNAPSHOT_L1));
	small_put(image, at + 8, 4, 2);
	small_put(image, at + 12, 4, 1 << 16 | 1);
	small_put(image, at + 36, 4, 16);
	small_put(image, at + 48, 8, SMALL_DISK);
	small_put(image, at + 56, 2, '1' << 8 | 's');
	small_put(image, SMALL_AT(SMALL_SNAPSHOT_L1) + 8, 8,
		SMALL_AT(SMALL_L2 + 1));
}

static inline void
small_bitmap(unsigned char *image)
{
	size_t at = SMALL_AT(SMALL_BITMAPS);

	small_put(image, at, 8, SMALL_AT(SMALL_BITMAP_TABLE));
	small_put(image, at + 8, 4, 2);
	image[at + 16] = 1;
	image[at + 17] = 9;
	small_put(image, at + 18, 2, 1);
	image[at + 24] = 'b';
	small_put(
		image, SMALL_AT(SMALL_BITMAP_TABLE), 8, SMALL_AT(SMALL_BITMAP));
	small_put(image, SMALL_AT(SMALL_BITMAP_TABLE) + 8, 8, 1);
}

/* SMALL_BYTES of it. */
static inline void
small_image(unsigned char *image)
{
	/* 512 zeros */
	static const unsigned char packed[] = {
		0x63, 0x60, 0x18, 0x05, 0x23, 0x19, 0x00, 0x00};

	memset(image, 0, SMALL_BYTES);
	small_header(image);
	small_snapshot(image);
	small_bitmap(image);
	small_put(image, SMALL_AT(SMALL_REFCOUNT_TABLE), 8,
		SMALL_AT(SMALL_REFCOUNT_BLOCK));
	for (size_t i = 0; i < SMALL_CLUSTERS; i++)
		small_put(image, SMALL_COUNT(i), 2, 1);
	small_put(image, SMALL_COUNT(SMALL_L2 + 1), 2, 2);
	small_put(image, SMALL_COUNT(SMALL_PACKED), 2, 2);
	small_put(image, SMALL_AT(SMALL_L1), 8,
		SMALL_AT(SMALL_L2) | SMALL_COPIED);
	small_put(image, SMALL_AT(SMALL_L1) + 8, 8, SMALL_AT(SMALL_L2 + 1));
	for (size_t i = 0; i < 4; i++) {
		small_put(image, SMALL_ENTRY(i), 8,
			SMALL_AT(SMALL_DATA + i) | SMALL_COPIED);
		small_put(image, SMALL_ENTRY(64 + 10 * i), 8,
			SMALL_AT(SMALL_DATA + 4 + i));
		small_put(image, SMALL_COUNT(SMALL_DATA + 4 + i), 2, 2);
	}
	for (size_t i = 0; i < 2; i++) {
		small_put(image, SMALL_ENTRY(4 + i), 8,
			SMALL_COMPRESSED | (SMALL_AT(SMALL_PACKED) + 16 * i));
		memcpy(image + SMALL_AT(SMALL_PACKED) + 16 * i, packed,
			sizeof(packed));
	}
	memset(image + SMALL_AT(SMALL_DATA), 'd', SMALL_AT(8));
}

#endif
