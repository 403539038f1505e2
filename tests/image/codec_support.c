/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include "codec_support.h"

uint64_t codec_seed;
unsigned char *from, *packed, *to;

int
codec_begin(void **state)
{
	(void)state;
	codec_seed = support_seed();
	from = malloc(LARGEST + 1);
	packed = malloc(LARGEST + 65536);
	to = malloc(LARGEST + 1);
	return !from || !packed || !to;
}

int
codec_end(void **state)
{
	(void)state;
	free(from);
	free(packed);
	free(to);
	return 0;
}

/* Eight bytes at a time: most of these tests fill buffers. */
static void
noise(unsigned char *buf, size_t length)
{
	for (size_t at = 0; at < length; at += 8) {
		uint64_t word = support_random(&codec_seed);
		memcpy(buf + at, &word, length - at < 8 ? length - at : 8);
	}
}

void
codec_fill(unsigned char *buf, size_t length, enum content content)
{
	size_t at = 0;

	if (content == ZEROS) {
		memset(buf, 0, length);
	} else if (content == NOISE) {
		noise(buf, length);
	} else if (content == WORDS) {
		static const char words[] = "cluster extent store sink place ";
		for (; at < length; at++)
			buf[at] = (unsigned char)
				words[(at / 7 * 13 +
					      support_below(&codec_seed, 6)) %
					(sizeof(words) - 1)];
	} else {
		at = length < FAR_DISTANCE ? length : FAR_DISTANCE;
		noise(buf, at);
		for (size_t n; at < length; at += n) {
			n = length - at < FAR_DISTANCE ? length - at
						       : FAR_DISTANCE;
			memcpy(buf + at, buf + at - FAR_DISTANCE, n);
		}
	}
}

const struct image_codec *
codec_all(void)
{
	/* One level for each way to search: of libdeflate, of zlib, whose
	 * window can be short, and of zstd. */
	static const int deflate[] = {1, 2, 5, 8, 10, 12};
	static const int windowed[] = {1, 3, 4, 6, 9};
	static const int zstd[] = {1, 3, 5, 6, 9, 13, 16, 18, 19};
	static struct image_codec all[64];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(deflate); i++)
		all[n++] = ZLIB(deflate[i], false, false);
	for (size_t i = 0; i < COUNT(windowed); i++)
		all[n++] = ZLIB(windowed[i], true, false);
	for (int level = 1; level <= 3; level++) {
		all[n++] = ZLIB(level, false, true);
		all[n++] = ZLIB(level, true, true);
	}
	for (size_t i = 0; i < COUNT(zstd); i++)
		all[n++] = ZSTD(zstd[i]);
	all[n++] = ZLIB(-1, false, false);
	assert_true(n <= COUNT(all));
	return all;
}

size_t
codec_pack(const struct image_codec *codec, struct image_scratch *scratch,
	size_t length)
{
	int64_t rc = image_compress(
		codec, scratch, from, length, packed, LARGEST + 65536);
	MUST(rc > 0, codec);
	return (size_t)rc;
}
