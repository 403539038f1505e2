/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the library of a codec, and keeps its contexts for a thread. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "codec/encoder.h"
#include "store/store.h"

#ifdef IMAGE_NO_ISAL
const struct image_encoder *const image_encoder_igzip = NULL;
#endif

static const struct image_encoder *
encoder_of(const struct image_codec *codec)
{
	if (codec->id == IMAGE_CODEC_ZSTD)
		return &image_encoder_zstd;
	if (codec->fast && image_encoder_igzip)
		return image_encoder_igzip;
	return codec->small_window ? &image_encoder_zlib
				   : &image_encoder_libdeflate;
}

/* Without ISA-L, its levels select the same levels of the other library. */
#define FAST_LEVELS 3

static int
levels_of(const struct image_codec *codec)
{
	return codec->fast ? FAST_LEVELS : encoder_of(codec)->most;
}

int
image_create_levels(const struct image_create *create)
{
	bool zstd = create->packing == IMAGE_PACKING_ZSTD;

	return levels_of(&(struct image_codec){
		.id = zstd ? IMAGE_CODEC_ZSTD : create->codec,
		.small_window = create->small_window,
		.fast = create->fast});
}

int
image_codec_init(struct image_codec *codec, struct image_error *err)
{
	const struct image_encoder *encoder = encoder_of(codec);
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
	const struct image_encoder *encoder = encoder_of(codec);

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

/* Write blocks of deflate that hold the bytes as they are. */
static size_t
store_blocks(const unsigned char *from, size_t length, unsigned char *to)
{
	size_t used = 0;

	while (length) {
		size_t n = length < STORED_MAX ? length : STORED_MAX;
		uint16_t head[2] = {
			htole16((uint16_t)n), htole16((uint16_t)~n)};
		to[used++] = n == length;
		memcpy(to + used, head, sizeof(head));
		used += sizeof(head);
		memcpy(to + used, from, n);
		used += n;
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
	/* deflate with a window of 32 KiB, and the check bits of both bytes */
	static const unsigned char head[2] = {0x78, 0x01};
	unsigned char *out = to;
	uint32_t checksum = htobe32(image_adler32(from, length));

	assert(codec->id == IMAGE_CODEC_ZLIB);
	assert(room >= length + 5 * ((length + STORED_MAX - 1) / STORED_MAX) +
			       IMAGE_ZLIB_FRAME);
	memcpy(out, head, sizeof(head));
	out += sizeof(head);
	int64_t n = image_compress(
		codec, scratch, from, length, out, room - IMAGE_ZLIB_FRAME);
	if (n < 0)
		return n;
	if (n == 0)
		n = (int64_t)store_blocks(from, length, out);
	memcpy(out + n, &checksum, sizeof(checksum));
	return n + IMAGE_ZLIB_FRAME;
}

size_t
image_codec_memory(const struct image_codec *codec, size_t length)
{
	return encoder_of(codec)->memory(codec, length);
}

int
image_decompress(enum image_codec_id id, struct image_scratch *scratch,
	const void *from, size_t stored, void *to, size_t length)
{
	if (id == IMAGE_CODEC_ZSTD)
		return image_unzstd(&scratch->zstd, from, stored, to, length);
	return image_inflate(&scratch->inflate, from, stored, to, length);
}

int
image_unzlib(struct image_scratch *scratch, const void *from, size_t stored,
	void *to, size_t room, size_t *made)
{
	return image_inflate_zlib(
		&scratch->inflate, from, stored, to, room, made);
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
	image_inflate_destroy(scratch->inflate);
	image_unzstd_destroy(scratch->zstd);
	free(scratch->buffer);
	*scratch = (struct image_scratch){0};
}
