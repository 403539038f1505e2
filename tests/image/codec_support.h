/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_CODEC_SUPPORT_H
#define HONE_TESTS_IMAGE_CODEC_SUPPORT_H
/* What the tests of the codecs share: contents, codecs, buffers. */
#include "codec/codec.h"
#include "support.h"

#define LARGEST ((size_t)2 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ZLIB(level, window, fast)                                              \
	((struct image_codec){IMAGE_CODEC_ZLIB, level, window, fast, false})
#define ZSTD(level)                                                            \
	((struct image_codec){IMAGE_CODEC_ZSTD, level, false, false, false})

#define MUST(cond, codec)                                                      \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: id %d, level %d, window %d, fast %d",    \
				#cond, (int)(codec)->id, (codec)->level,       \
				(codec)->small_window, (codec)->fast);         \
	} while (0)

/* Kinds of content. */
enum content { ZEROS, NOISE, WORDS, DISTANT, CONTENTS };

/* DISTANT repeats at this distance only: more than 4 KiB, less than 32 KiB. */
#define FAR_DISTANCE 20000

extern uint64_t codec_seed;

/* from and to have room for LARGEST + 1 bytes, packed for 64 KiB more. */
extern unsigned char *from, *packed, *to;

/* The setup and the teardown of a group of tests: seed and buffers. */
int codec_begin(void **state);
int codec_end(void **state);

void codec_fill(unsigned char *buf, size_t length, enum content content);

/* Everything that can be asked for; ends with level -1. */
const struct image_codec *codec_all(void);

/* Compress what is in `from`; there is always room. */
size_t codec_pack(const struct image_codec *codec,
	struct image_scratch *scratch, size_t length);

#endif
