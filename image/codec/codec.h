/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_CODEC_H
#define HONE_IMAGE_CODEC_H
/*
 * Compression of single clusters. Contexts of the codec libraries are expensive
 * to make, so that each thread keeps those that it used in its scratch.
 */
#include "error.h"

/* How a sink compresses; constant once it is set. */
struct image_codec {
	enum image_codec_id id;
	/* as in struct image_create, with the default filled in */
	int level;
	bool small_window;
	bool fast;
};

/* One thread's buffers and contexts. Set it to {0}. */
struct image_scratch {
	/* the compressor used last, and the codec that it was made for */
	void *encoder;
	struct image_codec codec;
	/* decompressors */
	void *inflate;
	void *zstd;
	/* what image_scratch_buffer() returned last */
	void *buffer;
	size_t size;
};

/*
 * A buffer of at least size bytes, aligned to IMAGE_ALIGN, that lives until the
 * next call; its content is undefined. NULL if there is not enough memory.
 */
void *image_scratch_buffer(struct image_scratch *scratch, size_t size);
void image_scratch_destroy(struct image_scratch *scratch);

/*
 * Set codec->level to the default if it is 0. Returns -EINVAL with a sentence
 * if the codec does not have that level, or not what else is set.
 */
int image_codec_init(struct image_codec *codec, struct image_error *err);

/*
 * Compress length bytes, at least 1 and at most 2 MiB, into at most room bytes.
 * The result depends on nothing but the codec and the bytes, unless
 * codec->fast.
 *
 * Returns the compressed length if it is at most room.
 * Returns 0 if the result would be longer; a library may give up as soon as
 * fewer than 16 bytes of the room are left.
 * Returns -ENOMEM if there is not enough memory.
 */
int64_t image_compress(const struct image_codec *codec,
	struct image_scratch *scratch, const void *from, size_t length,
	void *to, size_t room);

/* Bytes that each thread's context takes if it compresses `length` bytes at
 * once. */
size_t image_codec_memory(const struct image_codec *codec, size_t length);

/*
 * Decompress exactly length bytes from at most `stored` bytes; bytes may follow
 * the compressed stream inside `stored`, since qcow2 counts sectors.
 *
 * Returns 0 if exactly length bytes came out.
 * Returns -EINVAL if the stream is damaged, ends early, or holds more or fewer.
 * Returns -ENOMEM if there is not enough memory.
 */
int image_decompress(enum image_codec_id id, struct image_scratch *scratch,
	const void *from, size_t stored, void *to, size_t length);

#endif
