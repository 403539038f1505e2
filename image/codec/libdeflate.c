/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw deflate by libdeflate, which is fast because it needs whole buffers. */
#include <errno.h>
#include <libdeflate.h>
#include "codec/encoder.h"

static void *
libdeflate_create(const struct image_codec *codec)
{
	return libdeflate_alloc_compressor(codec->level);
}

static int64_t
libdeflate_compress(
	void *context, const void *from, size_t length, void *to, size_t room)
{
	return (int64_t)libdeflate_deflate_compress(
		context, from, length, to, room);
}

static void
libdeflate_destroy(void *context)
{
	libdeflate_free_compressor(context);
}

/* Bytes that libdeflate 1.14 allocates at levels 1, 2 to 9 and 10 to 12. */
static size_t
libdeflate_memory(const struct image_codec *codec, size_t length)
{
	(void)length;
	if (codec->level == 1)
		return 202759;
	return codec->level < 10 ? 668295 : 9009543;
}

const struct image_encoder image_encoder_libdeflate = {
	.name = "zlib",
	.most = 12,
	.standard = 1,
	.create = libdeflate_create,
	.compress = libdeflate_compress,
	.destroy = libdeflate_destroy,
	.memory = libdeflate_memory,
};

int
image_inflate(void **context, const void *from, size_t stored, void *to,
	size_t length)
{
	size_t used, made;

	if (!*context)
		*context = libdeflate_alloc_decompressor();
	if (!*context)
		return -ENOMEM;
	/* the variant that accepts bytes after the stream */
	enum libdeflate_result result = libdeflate_deflate_decompress_ex(
		*context, from, stored, to, length, &used, &made);
	return result == LIBDEFLATE_SUCCESS && made == length ? 0 : -EINVAL;
}

int
image_inflate_zlib(void **context, const void *from, size_t stored, void *to,
	size_t room, size_t *made)
{
	size_t used;

	if (!*context)
		*context = libdeflate_alloc_decompressor();
	if (!*context)
		return -ENOMEM;
	enum libdeflate_result result = libdeflate_zlib_decompress_ex(
		*context, from, stored, to, room, &used, made);
	return result == LIBDEFLATE_SUCCESS ? 0 : -EINVAL;
}

uint32_t
image_adler32(const void *from, size_t length)
{
	return libdeflate_adler32(1, from, length);
}

void
image_inflate_destroy(void *context)
{
	libdeflate_free_decompressor(context);
}
