/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw deflate with distances of at most 4 KiB. libdeflate has no option for the
 * window. QEMU uses zlib with this window, so that the bytes at level 6 are
 * those of QEMU.
 */
#include <stdlib.h>
#include <zlib.h>
#include "codec/encoder.h"

/* QEMU's arguments to deflateInit2(). */
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

/* The formula of zconf.h. */
static size_t
zlib_memory(const struct image_codec *codec, size_t length)
{
	(void)codec;
	(void)length;
	return ((size_t)1 << (WINDOW_BITS + 2)) +
	       ((size_t)1 << (MEMORY_LEVEL + 9));
}

const struct image_encoder image_encoder_zlib = {
	.name = "zlib with a window of 4 KiB",
	.most = 9,
	.standard = 6,
	.create = zlib_create,
	.compress = zlib_compress,
	.destroy = zlib_destroy,
	.memory = zlib_memory,
};
