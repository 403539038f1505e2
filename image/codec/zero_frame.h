/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_CODEC_ZERO_FRAME_H
#define HONE_IMAGE_CODEC_ZERO_FRAME_H
/*
 * Frames of zstd (RFC 8878) that have zeros alone. They are made here, so their
 * bytes do not change with libzstd:
 *
 *	header	a window of 128 KiB, 4 bytes of the content's size
 *	block	compressed: the zeros of one block as repeated literals. zstd
 *		before 1.4.4 refuses a first block that is RLE
 *	blocks	RLE, 4 bytes for 128 KiB
 */
#include <stddef.h>
#include <stdint.h>

/* The most content of a block. */
#define IMAGE_ZERO_BLOCK ((uint64_t)128 << 10)
/* The most content of a frame: ZSTD_SEEKABLE_MAX_FRAME_DECOMPRESSED_SIZE of
 * contrib/seekable_format. */
#define IMAGE_ZERO_FRAME ((uint64_t)1 << 30)

/* Returns the length of a frame of so many zeros, 1 to IMAGE_ZERO_FRAME. */
size_t image_zero_frame_size(uint64_t zeros);
/* Write such a frame. */
void image_zero_frame_put(unsigned char *to, uint64_t zeros);
/*
 * Returns the length of the frame that begins with these bytes and that
 * image_zero_frame_put() would make, and sets *zeros; every byte of the frame
 * was compared. Returns more than `length` if the frame is not complete, and 0
 * if the bytes are not such a frame.
 */
size_t image_zero_frame_find(
	const unsigned char *in, size_t length, uint64_t *zeros);

#endif
