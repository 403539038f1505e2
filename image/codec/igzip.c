/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw deflate by ISA-L: faster than libdeflate, but the bytes depend on the
 * CPU.
 */
#include <stdlib.h>
#include <isa-l/igzip_lib.h>
#include "codec/encoder.h"

#define SMALL_WINDOW_BITS 12

struct context {
	uint32_t level;
	uint16_t window_bits;
	struct isal_zstream stream;
	/* large enough for the highest level */
	uint8_t work[ISAL_DEF_LVL3_DEFAULT];
};

static uint32_t
work_size(uint32_t level)
{
	static const uint32_t sizes[] = {ISAL_DEF_LVL0_DEFAULT,
		ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
		ISAL_DEF_LVL3_DEFAULT};
	return sizes[level];
}

static void *
igzip_create(const struct image_codec *codec)
{
	struct context *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->level = (uint32_t)codec->level;
	/* 0: ISA-L's default, 15 */
	c->window_bits = codec->small_window ? SMALL_WINDOW_BITS : 0;
	return c;
}

static int64_t
igzip_compress(
	void *context, const void *from, size_t length, void *to, size_t room)
{
	struct context *c = context;

	isal_deflate_stateless_init(&c->stream);
	c->stream.level = c->level;
	c->stream.level_buf = c->work;
	c->stream.level_buf_size = work_size(c->level);
	c->stream.hist_bits = c->window_bits;
	c->stream.end_of_stream = 1;
	c->stream.next_in = (uint8_t *)from;
	c->stream.avail_in = (uint32_t)length;
	c->stream.next_out = to;
	c->stream.avail_out = (uint32_t)room;
	if (isal_deflate_stateless(&c->stream) != COMP_OK)
		return 0;
	return c->stream.total_out;
}

static void
igzip_destroy(void *context)
{
	free(context);
}

static size_t
igzip_memory(const struct image_codec *codec, size_t length)
{
	(void)codec;
	(void)length;
	return sizeof(struct context);
}

static const struct image_encoder igzip = {
	.name = "zlib",
	.most = ISAL_DEF_MAX_LEVEL,
	.standard = ISAL_DEF_MAX_LEVEL,
	.create = igzip_create,
	.compress = igzip_compress,
	.destroy = igzip_destroy,
	.memory = igzip_memory,
};

const struct image_encoder *const image_encoder_igzip = &igzip;
