/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_CODEC_ENCODER_H
#define HONE_IMAGE_CODEC_ENCODER_H
/* The libraries that compress and decompress; private to codec/. */
#include "codec/codec.h"

/* One library that compresses. */
struct image_encoder {
	/* for messages: "zlib" */
	const char *name;
	/* the highest level; the lowest is 1 */
	int most;
	/* the default level */
	int standard;
	/* Returns a context for the codec, or NULL if there is not enough
	 * memory. */
	void *(*create)(const struct image_codec *codec);
	/* As image_compress(). The context can be used again, also after a
	 * failure. */
	int64_t (*compress)(void *context, const void *from, size_t length,
		void *to, size_t room);
	void (*destroy)(void *context);
	/* Returns the bytes of a context for inputs of `length` bytes. */
	size_t (*memory)(const struct image_codec *codec, size_t length);
};

/* Raw deflate, distances up to 32 KiB. */
extern const struct image_encoder image_encoder_libdeflate;
/* Raw deflate, distances up to 4 KiB. */
extern const struct image_encoder image_encoder_zlib;
/* Raw deflate with either window; NULL in a build without ISA-L. */
extern const struct image_encoder *const image_encoder_igzip;
/* One zstd frame with its content size. */
extern const struct image_encoder image_encoder_zstd;

/*
 * As image_decompress(). *context is NULL, or the context of an earlier call.
 */
int image_inflate(void **context, const void *from, size_t stored, void *to,
	size_t length);
/* As image_unzlib(), with the same context. */
int image_inflate_zlib(void **context, const void *from, size_t stored,
	void *to, size_t room, size_t *made);
void image_inflate_destroy(void *context);
/* Returns the checksum of a zlib stream. */
uint32_t image_adler32(const void *from, size_t length);
int image_unzstd(void **context, const void *from, size_t stored, void *to,
	size_t length);
void image_unzstd_destroy(void *context);

#endif
