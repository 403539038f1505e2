/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_CODEC_H
#define HONE_IMAGE_CODEC_H
/*
 * Compression of single clusters. Contexts of the codec libraries are expensive
 * to create, so each thread keeps its contexts in its scratch.
 *
 *   codec.c       libdeflate for -c, zlib with --window 12, ISA-L with --fast,
 *                 libzstd with -o compression_type=zstd and --pack zst
 *   zero_frame.c  frames of zstd that have zeros
 *   join.c        parts of one deflate stream, for -O gce and --pack gz
 */
#include "error.h"

/* The compression of a sink; constant after image_codec_init(). */
struct image_codec {
	enum image_codec_id id;
	/* as in struct image_create, with the default filled in */
	int level;
	bool small_window;
	bool fast;
	/* zstd: a frame ends with a checksum of its content */
	bool checksum;
};

/* The buffers and contexts of one thread. Initialise it with {0}. */
struct image_scratch {
	/* the context of the last compressor, and its codec */
	void *encoder;
	struct image_codec codec;
	/* decompressors */
	void *inflate;
	void *zstd;
	/* the last result of image_scratch_buffer() */
	void *buffer;
	size_t size;
};

/* Returns a buffer of at least size bytes, aligned to IMAGE_ALIGN and valid
 * until the next call, with undefined content; or NULL. */
void *image_scratch_buffer(struct image_scratch *scratch, size_t size);
void image_scratch_destroy(struct image_scratch *scratch);

/* Set codec->level to the default if it is 0. Returns -EINVAL if the codec does
 * not support the level or another member. */
int image_codec_init(struct image_codec *codec, struct image_error *err);

/*
 * Compress length bytes, at least 1 and at most 8 MiB, into at most room bytes.
 * The result depends only on the codec and the bytes, unless codec->fast.
 *
 * Returns the compressed length; 0 if it would be longer, where a library may
 * stop when fewer than 16 bytes of the room are left; or -ENOMEM.
 */
int64_t image_compress(const struct image_codec *codec,
	struct image_scratch *scratch, const void *from, size_t length,
	void *to, size_t room);

/* Bytes around a deflate stream by which it becomes a zlib stream. */
#define IMAGE_ZLIB_FRAME 6

/*
 * The same as a zlib stream (RFC 1950), with a codec of zlib. room is at least
 * length, 5 for each 65535 bytes that are begun, and IMAGE_ZLIB_FRAME. Bytes
 * that do not shrink are stored as they are.
 * Returns the length of the stream, or -ENOMEM.
 */
int64_t image_compress_zlib(const struct image_codec *codec,
	struct image_scratch *scratch, const void *from, size_t length,
	void *to, size_t room);

/* Returns the bytes of one thread's context for inputs of `length` bytes. */
size_t image_codec_memory(const struct image_codec *codec, size_t length);

/*
 * Decompress exactly length bytes from at most `stored` bytes; bytes may follow
 * the compressed stream inside `stored`, since qcow2 counts sectors.
 *
 * Returns 0; -EINVAL if the stream is damaged, ends early, or has another
 * length; or -ENOMEM.
 */
int image_decompress(enum image_codec_id id, struct image_scratch *scratch,
	const void *from, size_t stored, void *to, size_t length);

/*
 * Decompress a zlib stream (RFC 1950) of at most `stored` bytes into at most
 * `room` bytes, and verify its checksum. Sets *made to their number. Bytes may
 * follow the stream.
 *
 * Returns 0, -EINVAL if the stream is damaged, ends early, or needs more room,
 * or -ENOMEM.
 */
int image_unzlib(struct image_scratch *scratch, const void *from, size_t stored,
	void *to, size_t room, size_t *made);

#endif
