/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_CODEC_JOIN_H
#define HONE_IMAGE_CODEC_JOIN_H
/* One deflate stream of parts that were compressed apart, and what a sink gets
 * to know about a part, also about one of zstd. */
#include "codec/codec.h"

/* A part of the stream. */
struct image_packed {
	/* with image_sink.part: its offset in the disk, and its bytes */
	uint64_t guest;
	const unsigned char *bytes;
	/* bytes before compression, 1 to 2 MiB; with zstd 1 to 8 MiB */
	uint64_t length;
	/* set by image_pack(); the CRC is that of gzip */
	uint64_t stored;
	uint32_t crc;
	/* set by image_sink_ops.append; zeros of the disk in front of it */
	uint64_t host;
	uint64_t zeros;
};

/* Bytes that packed->length bytes take at most: a stored block has 5 bytes
 * more, and libdeflate's have 5,000 bytes or more. The room of
 * ZSTD_compressBound() is less. */
#define IMAGE_PACK_ROOM(length) ((length) + (length) / 256 + 256)

/*
 * Compress packed->length bytes by libdeflate into `room` bytes, which are
 * IMAGE_PACK_ROOM() or more. Another part may follow: no block is marked as the
 * last one, and the part ends with a whole byte.
 */
int image_pack(const struct image_codec *codec, struct image_scratch *scratch,
	const unsigned char *from, unsigned char *to, size_t room,
	struct image_packed *packed, struct image_error *err);

/* Bytes of a thread's scratch that image_pack() takes besides the codec. */
extern const size_t image_pack_memory;

uint32_t image_crc32(const void *bytes, size_t length);
/* Returns the CRC-32 of two parts; b is that of the second, of this length. */
uint32_t image_crc32_join(uint32_t a, uint32_t b, uint64_t length);

#endif
