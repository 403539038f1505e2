/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams as others write and read them, damaged ones too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include "codec_support.h"

/* The buffers are as long as they must be: for AddressSanitizer. */
TEST(a_damaged_stream_stays_inside_its_buffers)
{
	const struct image_codec some[] = {ZLIB(1, false, false), ZSTD(3)};
	struct image_scratch scratch = {0};
	unsigned refused = 0;

	for (size_t i = 0; i < COUNT(some); i++) {
		for (unsigned turn = 0; turn < 2000; turn++) {
			size_t length = 512 << support_below(&codec_seed, 6);
			codec_fill(
				from, length, (enum content)(turn % CONTENTS));
			size_t stored = codec_pack(&some[i], &scratch, length);
			unsigned char *in = malloc(stored);
			unsigned char *out = malloc(length);
			assert_true(in && out);
			memcpy(in, packed, stored);
			for (size_t n = support_below(&codec_seed, 4); n <= 4;
				n++)
				in[support_below(&codec_seed, stored)] ^=
					(unsigned char)(1 + turn % 255);
			int rc = image_decompress(
				some[i].id, &scratch, in, stored, out, length);
			assert_true(rc == 0 || rc == -EINVAL);
			refused += rc != 0;
			free(in);
			free(out);
		}
	}
	/* neither codec has a checksum here: a literal may change unnoticed */
	assert_true(refused > 1000);
	image_scratch_destroy(&scratch);
}

/* A frame of 64 KiB with one parameter that is not ours. */
static size_t
foreign_frame(ZSTD_cParameter parameter, int value)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	assert_non_null(context);
	assert_false(ZSTD_isError(
		ZSTD_CCtx_setParameter(context, parameter, value)));
	size_t stored = ZSTD_compress2(context, packed, LARGEST, from, 65536);
	assert_false(ZSTD_isError(stored));
	ZSTD_freeCCtx(context);
	return stored;
}

TEST(frames_of_other_writers_are_read)
{
	static const struct {
		ZSTD_cParameter parameter;
		int value;
	} frames[] = {{ZSTD_c_contentSizeFlag, 0}, {ZSTD_c_checksumFlag, 1},
		{ZSTD_c_windowLog, 27}, {ZSTD_c_compressionLevel, -5}};
	struct image_scratch scratch = {0};

	for (size_t i = 0; i < COUNT(frames); i++) {
		codec_fill(from, 65536, WORDS);
		size_t stored =
			foreign_frame(frames[i].parameter, frames[i].value);
		memset(to, 0, 65536);
		assert_int_equal(image_decompress(IMAGE_CODEC_ZSTD, &scratch,
					 packed, stored + 100, to, 65536),
			0);
		assert_memory_equal(from, to, 65536);
	}
	image_scratch_destroy(&scratch);
}

TEST(what_is_no_zstd_frame_is_refused)
{
	/* 4 bytes as zstd 0.7 stores them; a skippable frame of 4 bytes */
	static const unsigned char legacy[] = {0x27, 0xb5, 0x2f, 0xfd, 0x20, 4,
		0x40, 0, 4, 'a', 'b', 'c', 'd', 0xc0, 0, 0};
	static const unsigned char skippable[] = {
		0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
	struct image_scratch scratch = {0};

	assert_int_equal(image_decompress(IMAGE_CODEC_ZSTD, &scratch, legacy,
				 sizeof(legacy), to, 4),
		-EINVAL);
	assert_int_equal(image_decompress(IMAGE_CODEC_ZSTD, &scratch, skippable,
				 sizeof(skippable), to, 65536),
		-EINVAL);
	image_scratch_destroy(&scratch);
}

/* Inflate in pieces, as a reader does that has a window of 4 KiB and no more.
 * Returns false if a distance is longer. */
static bool
fits_small_window(const unsigned char *stream, size_t stored, size_t length)
{
	z_stream z = {0};
	unsigned char piece[256];
	size_t done = 0;
	int rc;

	assert_int_equal(inflateInit2(&z, -12), Z_OK);
	z.next_in = (z_const Bytef *)stream;
	z.avail_in = (uInt)stored;
	do {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		rc = inflate(&z, Z_SYNC_FLUSH);
		size_t got = sizeof(piece) - z.avail_out;
		if (rc == Z_OK || rc == Z_STREAM_END)
			assert_memory_equal(piece, from + done, got);
		done += got;
	} while (rc == Z_OK);
	inflateEnd(&z);
	return rc == Z_STREAM_END && done == length;
}

TEST(a_small_window_has_no_distance_of_more_than_4_kib)
{
	struct image_scratch scratch = {0};

	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		if (c->id != IMAGE_CODEC_ZLIB)
			continue;
		for (int kind = 0; kind < CONTENTS; kind++) {
			codec_fill(from, 65536, (enum content)kind);
			size_t stored = codec_pack(c, &scratch, 65536);
			bool fits = fits_small_window(packed, stored, 65536);
			if (c->small_window)
				MUST(fits, c);
			else if (kind == DISTANT && stored < 40000)
				/* or this test would show nothing */
				MUST(!fits, c);
		}
	}
	image_scratch_destroy(&scratch);
}

int
main(void)
{
	return run_all_tests(codec_begin, codec_end);
}
