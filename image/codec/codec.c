/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries that compress, and their contexts, which a thread keeps. */
#include <assert.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>
#ifndef IMAGE_NO_ISAL
#include <isa-l/igzip_lib.h>
#endif
#include "codec/codec.h"
#include "format/bytes.h"
#include "store/store.h"

struct encoder {
	/* for messages */
	const char *name;
	/* the highest level, and the default one; the lowest is 1 */
	int most;
	int standard;
	/* Returns NULL if there is not enough memory. */
	void *(*create)(const struct image_codec *codec);
	/* As image_compress(). The context can be used again, also after a
	 * failure. */
	int64_t (*compress)(void *context, const void *from, size_t length,
		void *to, size_t room);
	void (*destroy)(void *context);
	/* bytes of a context, if all have as many */
	size_t memory;
};

/* Raw deflate by libdeflate, which is fast because it needs whole buffers. */

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

static const struct encoder libdeflate = {
	.name = "zlib",
	.most = 12,
	.standard = 1,
	.create = libdeflate_create,
	.compress = libdeflate_compress,
	.destroy = libdeflate_destroy,
};

/*
 * Raw deflate with distances of at most 4 KiB, for which libdeflate has no
 * option. These are QEMU's arguments to deflateInit2(), so the bytes at level 6
 * are those of QEMU.
 */
#define WINDOW_BITS 12
#define MEMORY_LEVEL 9

static void *
zlib_create(const struct image_codec *codec)
{
	z_stream *stream = calloc(1, sizeof(*stream));
	if (stream &&
		deflateInit2(stream, codec->level, Z_DEFLATED, -WINDOW_BITS,
			MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(stream);
		stream = NULL;
	}
	return stream;
}

static int64_t
zlib_compress(
	void *context, const void *from, size_t length, void *to, size_t room)
{
	z_stream *stream = context;

	deflateReset(stream);
	stream->next_in = (z_const Bytef *)from;
	stream->avail_in = (uInt)length;
	stream->next_out = to;
	stream->avail_out = (uInt)room;
	return deflate(stream, Z_FINISH) == Z_STREAM_END
		       ? room - stream->avail_out
		       : 0;
}

static void
zlib_destroy(void *context)
{
	deflateEnd(context);
	free(context);
}

static const struct encoder zlib = {
	.name = "zlib with a window of 4 KiB",
	.most = 9,
	.standard = 6,
	.create = zlib_create,
	.compress = zlib_compress,
	.destroy = zlib_destroy,
	/* the formula of zconf.h */
	.memory = (1 << (WINDOW_BITS + 2)) + (1 << (MEMORY_LEVEL + 9)),
};

/* Without ISA-L, its levels select the same levels of the other library. */
#define FAST_LEVELS 3

#ifndef IMAGE_NO_ISAL
_Static_assert(FAST_LEVELS == ISAL_DEF_MAX_LEVEL, "levels of --fast");

/* Raw deflate by ISA-L: faster than libdeflate, but the bytes depend on the
 * CPU. */
struct igzip {
	struct image_codec codec;
	struct isal_zstream stream;
	/* large enough for the highest level */
	uint8_t work[ISAL_DEF_LVL3_DEFAULT];
};

static void *
igzip_create(const struct image_codec *codec)
{
	struct igzip *igzip = calloc(1, sizeof(*igzip));
	if (igzip)
		igzip->codec = *codec;
	return igzip;
}

static int64_t
igzip_compress(
	void *context, const void *from, size_t length, void *to, size_t room)
{
	static const uint32_t work_size[] = {ISAL_DEF_LVL0_DEFAULT,
		ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
		ISAL_DEF_LVL3_DEFAULT};
	struct igzip *igzip = context;
	struct isal_zstream *stream = &igzip->stream;

	isal_deflate_stateless_init(stream);
	stream->level = (uint32_t)igzip->codec.level;
	stream->level_buf = igzip->work;
	stream->level_buf_size = work_size[stream->level];
	/* 0: ISA-L's default, 15 */
	stream->hist_bits = igzip->codec.small_window ? WINDOW_BITS : 0;
	stream->end_of_stream = 1;
	stream->next_in = (uint8_t *)from;
	stream->avail_in = (uint32_t)length;
	stream->next_out = to;
	stream->avail_out = (uint32_t)room;
	return isal_deflate_stateless(stream) == COMP_OK ? stream->total_out
							 : 0;
}

static const struct encoder igzip = {
	.name = "zlib",
	.most = FAST_LEVELS,
	.standard = FAST_LEVELS,
	.create = igzip_create,
	.compress = igzip_compress,
	.destroy = free,
	.memory = sizeof(struct igzip),
};
#endif

/* One zstd frame for each cluster, as in QEMU, or for each part of a disk. */

static void *
zstd_create(const struct image_codec *codec)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	if (context &&
		(ZSTD_isError(ZSTD_CCtx_setParameter(
			 context, ZSTD_c_compressionLevel, codec->level)) ||
			ZSTD_isError(ZSTD_CCtx_setParameter(context,
				ZSTD_c_checksumFlag, codec->checksum)))) {
		ZSTD_freeCCtx(context);
		context = NULL;
	}
	return context;
}

static int64_t
zstd_compress(
	void *context, const void *from, size_t length, void *to, size_t room)
{
	size_t made = ZSTD_compress2(context, to, room, from, length);
	if (!ZSTD_isError(made))
		return (int64_t)made;
	/* the context allocates its buffers at the first use, by the input's
	 * length */
	return ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall ? 0
								      : -ENOMEM;
}

static void
zstd_destroy(void *context)
{
	ZSTD_freeCCtx(context);
}

/* The library allocates by level and length at the first use. */
static size_t
zstd_memory(const struct image_codec *codec, size_t length)
{
	size_t size = 0, room = ZSTD_compressBound(length);
	ZSTD_CCtx *context = zstd_create(codec);
	char *from = calloc(1, length), *to = malloc(room);

	if (context && from && to) {
		zstd_compress(context, from, length, to, room);
		size = ZSTD_sizeof_CCtx(context);
	}
	free(to);
	free(from);
	ZSTD_freeCCtx(context);
	return size;
}

static const struct encoder zstd = {
	.name = "zstd",
	/* Higher levels are for windows larger than any cluster. */
	.most = 19,
	/* ZSTD_CLEVEL_DEFAULT, as in QEMU */
	.standard = 3,
	.create = zstd_create,
	.compress = zstd_compress,
	.destroy = zstd_destroy,
};

static const struct encoder *
encoder_of(const struct image_codec *codec)
{
	if (codec->id == IMAGE_CODEC_ZSTD)
		return &zstd;
#ifndef IMAGE_NO_ISAL
	if (codec->fast)
		return &igzip;
#endif
	return codec->small_window ? &zlib : &libdeflate;
}

static int
levels_of(const struct image_codec *codec)
{
	return codec->fast ? FAST_LEVELS : encoder_of(codec)->most;
}

int
image_create_levels(const struct image_create *create)
{
	return levels_of(&(struct image_codec){
		.id = create->packing == IMAGE_PACKING_ZSTD ? IMAGE_CODEC_ZSTD
							    : create->codec,
		.small_window = create->small_window,
		.fast = create->fast});
}

int
image_codec_init(struct image_codec *codec, struct image_error *err)
{
	const struct encoder *encoder = encoder_of(codec);
	int most = levels_of(codec);

	if (codec->id != IMAGE_CODEC_ZLIB && codec->small_window)
		return image_fail(err, NULL, -EINVAL,
			"only zlib supports a window of 4 KiB");
	if (codec->id != IMAGE_CODEC_ZLIB && codec->fast)
		return image_fail(
			err, NULL, -EINVAL, "only zlib has a fast variant");
	if (codec->level < 0 || codec->level > most)
		return image_fail(err, NULL, -EINVAL,
			"level %d of %s%s is not from 1 to %d", codec->level,
			encoder->name, codec->fast ? " with fast" : "", most);
	if (codec->level == 0)
		codec->level = encoder->standard;
	return 0;
}

static bool
same_codec(const struct image_codec *a, const struct image_codec *b)
{
	return a->id == b->id && a->level == b->level &&
	       a->small_window == b->small_window && a->fast == b->fast &&
	       a->checksum == b->checksum;
}

static void
drop_encoder(struct image_scratch *scratch)
{
	if (scratch->encoder)
		encoder_of(&scratch->codec)->destroy(scratch->encoder);
	scratch->encoder = NULL;
}

int64_t
image_compress(const struct image_codec *codec, struct image_scratch *scratch,
	const void *from, size_t length, void *to, size_t room)
{
	const struct encoder *encoder = encoder_of(codec);

	assert(codec->level > 0 && length > 0);
	if (!scratch->encoder || !same_codec(&scratch->codec, codec)) {
		drop_encoder(scratch);
		scratch->codec = *codec;
		scratch->encoder = encoder->create(codec);
		if (!scratch->encoder)
			return -ENOMEM;
	}
	return encoder->compress(scratch->encoder, from, length, to, room);
}

/* The most bytes of a block of deflate that is not compressed. */
#define STORED_MAX 65535

static size_t
store_blocks(const unsigned char *from, size_t length, unsigned char *to)
{
	size_t used = 0;

	while (length) {
		size_t n = length < STORED_MAX ? length : STORED_MAX;
		to[used] = n == length;
		image_put_le16(to + used + 1, (uint16_t)n);
		image_put_le16(to + used + 3, (uint16_t)~n);
		memcpy(to + used + 5, from, n);
		used += 5 + n;
		from += n;
		length -= n;
	}
	return used;
}

int64_t
image_compress_zlib(const struct image_codec *codec,
	struct image_scratch *scratch, const void *from, size_t length,
	void *to, size_t room)
{
	unsigned char *out = to;

	assert(codec->id == IMAGE_CODEC_ZLIB);
	assert(room >= length + 5 * ((length + STORED_MAX - 1) / STORED_MAX) +
			       IMAGE_ZLIB_FRAME);
	/* deflate with a window of 32 KiB, and the check bits of both bytes */
	*out++ = 0x78;
	*out++ = 0x01;
	int64_t n = image_compress(
		codec, scratch, from, length, out, room - IMAGE_ZLIB_FRAME);
	if (n < 0)
		return n;
	if (n == 0)
		n = (int64_t)store_blocks(from, length, out);
	image_put_be32(out + n, libdeflate_adler32(1, from, length));
	return n + IMAGE_ZLIB_FRAME;
}

size_t
image_codec_memory(const struct image_codec *codec, size_t length)
{
	const struct encoder *encoder = encoder_of(codec);

	if (encoder == &zstd)
		return zstd_memory(codec, length);
	if (encoder != &libdeflate)
		return encoder->memory;
	/* those that libdeflate 1.14 allocates */
	return codec->level == 1   ? 202759
	       : codec->level < 10 ? 668295
				   : 9009543;
}

static int
inflate_scratch(struct image_scratch *scratch)
{
	if (!scratch->inflate)
		scratch->inflate = libdeflate_alloc_decompressor();
	return scratch->inflate ? 0 : -ENOMEM;
}

static int
unzstd(struct image_scratch *scratch, const void *from, size_t stored, void *to,
	size_t length)
{
	/* A library may still accept formats before zstd 0.8, which qcow2 does
	 * not allow. */
	if (stored < 4 || image_le32(from) != ZSTD_MAGICNUMBER)
		return -EINVAL;
	/* The library accepts no bytes after the end of the frame. */
	size_t frame = ZSTD_findFrameCompressedSize(from, stored);
	if (ZSTD_isError(frame))
		return -EINVAL;
	if (!scratch->zstd)
		scratch->zstd = ZSTD_createDCtx();
	if (!scratch->zstd)
		return -ENOMEM;
	/* A single call allocates no window, whatever window size the frame
	 * has. */
	size_t made =
		ZSTD_decompressDCtx(scratch->zstd, to, length, from, frame);
	return ZSTD_isError(made) || made != length ? -EINVAL : 0;
}

int
image_decompress(enum image_codec_id id, struct image_scratch *scratch,
	const void *from, size_t stored, void *to, size_t length)
{
	size_t used, made;

	if (id == IMAGE_CODEC_ZSTD)
		return unzstd(scratch, from, stored, to, length);
	if (inflate_scratch(scratch) < 0)
		return -ENOMEM;
	/* the variant that accepts bytes after the stream */
	enum libdeflate_result result = libdeflate_deflate_decompress_ex(
		scratch->inflate, from, stored, to, length, &used, &made);
	return result == LIBDEFLATE_SUCCESS && made == length ? 0 : -EINVAL;
}

int
image_unzlib(struct image_scratch *scratch, const void *from, size_t stored,
	void *to, size_t room, size_t *made)
{
	size_t used;

	if (inflate_scratch(scratch) < 0)
		return -ENOMEM;
	enum libdeflate_result result = libdeflate_zlib_decompress_ex(
		scratch->inflate, from, stored, to, room, &used, made);
	return result == LIBDEFLATE_SUCCESS ? 0 : -EINVAL;
}

void *
image_scratch_buffer(struct image_scratch *scratch, size_t size)
{
	if (size <= scratch->size)
		return scratch->buffer;
	free(scratch->buffer);
	scratch->size = 0;
	/* aligned_alloc() needs a multiple; no cluster is near SIZE_MAX */
	size = (size + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
	scratch->buffer = aligned_alloc(IMAGE_ALIGN, size);
	if (scratch->buffer)
		scratch->size = size;
	return scratch->buffer;
}

void
image_scratch_destroy(struct image_scratch *scratch)
{
	drop_encoder(scratch);
	libdeflate_free_decompressor(scratch->inflate);
	ZSTD_freeDCtx(scratch->zstd);
	free(scratch->buffer);
	*scratch = (struct image_scratch){0};
}
