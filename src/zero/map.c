/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many blocks at once: the bitmap, and the walk that converts it to extents.
 */
#include <assert.h>
#include "zero.h"

/* Number of blocks that a walk maps ahead: the bits of one word. */
#define WALK_BLOCKS 64

size_t
hone_zero_map(const void *buf, size_t len, size_t block, void *bitmap)
{
	const unsigned char *p = buf;
	unsigned char *out = bitmap, bits = 0;
	size_t zeros = 0, i = 0;

	assert(block > 0);
	if (block == 0)
		return 0;
	for (; len > 0; i++) {
		size_t n = len < block ? len : block;
		bool zero = hone_buffer_is_zero(p, n);

		zeros += zero;
		bits |= (unsigned char)(zero << i % 8);
		if (i % 8 == 7) {
			*out++ = bits;
			bits = 0;
		}
		p += n;
		len -= n;
	}
	if (i % 8 != 0)
		*out = bits;
	return zeros;
}

void
hone_zero_walk_init(
	struct hone_zero_walk *walk, const void *buf, size_t len, size_t block)
{
	assert(block > 0);
	if (block == 0)
		len = 0;
	*walk = (struct hone_zero_walk){.buf = buf, .len = len, .block = block};
}

/* Maps the next blocks into walk->map, bit 0 first. */
static void
map_ahead(struct hone_zero_walk *walk)
{
	size_t rest = walk->len - walk->offset, span;
	unsigned char bytes[WALK_BLOCKS / 8] = {0};

	if (__builtin_mul_overflow(walk->block, WALK_BLOCKS, &span) ||
		span > rest)
		span = rest;
	hone_zero_map(walk->buf + walk->offset, span, walk->block, bytes);
	walk->map = 0;
	for (size_t i = 0; i < sizeof(bytes); i++)
		walk->map |= (uint64_t)bytes[i] << 8 * i;
	walk->mapped = span;
}

bool
hone_zero_walk_next(
	struct hone_zero_walk *walk, struct hone_zero_extent *extent)
{
	if (walk->offset == walk->len)
		return false;
	if (walk->mapped == 0)
		map_ahead(walk);
	extent->offset = walk->offset;
	extent->zero = walk->map & 1;
	do {
		size_t step = walk->block;

		if (walk->mapped == 0)
			map_ahead(walk);
		if ((walk->map & 1) != extent->zero)
			break;
		if (step > walk->mapped)
			step = walk->mapped;
		walk->map >>= 1;
		walk->mapped -= step;
		walk->offset += step;
	} while (walk->offset < walk->len);
	extent->length = walk->offset - extent->offset;
	return true;
}
