/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>
#include "codec/zero_frame.h"
#include "format/bytes.h"

/* The magic; 4 bytes of size follow the window, which has 1 << (10 + 7) bytes.
 */
static const unsigned char begin[] = {0x28, 0xb5, 0x2f, 0xfd, 0x80, 7 << 3};
#define SIZE (sizeof(begin))
#define HEADER (SIZE + 4)
#define BLOCK_HEADER 3
enum { RLE = 1, COMPRESSED = 2 };
/* The header of literals with 20 bits of size, their byte, no sequences. */
#define FIRST_BLOCK 5
#define LITERALS_RLE_20 (1 | 3 << 2)

size_t
image_zero_frame_size(uint64_t zeros)
{
	return HEADER + BLOCK_HEADER + FIRST_BLOCK +
	       (size_t)((zeros - 1) / IMAGE_ZERO_BLOCK) * (BLOCK_HEADER + 1);
}

static uint32_t
block_header(bool last, unsigned kind, uint32_t size)
{
	return last | kind << 1 | size << 3;
}

static uint32_t
block_content(uint64_t left)
{
	return (uint32_t)(left < IMAGE_ZERO_BLOCK ? left : IMAGE_ZERO_BLOCK);
}

/* Write the header and the first block. Returns their content. */
static uint32_t
put_head(unsigned char *to, uint64_t zeros)
{
	uint32_t n = block_content(zeros);

	memcpy(to, begin, sizeof(begin));
	image_put_le32(to + SIZE, (uint32_t)zeros);
	image_put_le32(
		to + HEADER, block_header(zeros == n, COMPRESSED, FIRST_BLOCK));
	/* The fourth byte is the literal, the fifth the number of sequences. */
	image_put_le32(to + HEADER + BLOCK_HEADER, LITERALS_RLE_20 | n << 4);
	to[HEADER + BLOCK_HEADER + 4] = 0;
	return n;
}

void
image_zero_frame_put(unsigned char *to, uint64_t zeros)
{
	uint32_t n = put_head(to, zeros);

	to += HEADER + BLOCK_HEADER + FIRST_BLOCK;
	for (uint64_t left = zeros - n; left; left -= n) {
		n = block_content(left);
		/* The fourth byte is what is repeated. */
		image_put_le32(to, block_header(left == n, RLE, n));
		to += BLOCK_HEADER + 1;
	}
}

size_t
image_zero_frame_find(const unsigned char *in, size_t length, uint64_t *zeros)
{
	unsigned char head[HEADER + BLOCK_HEADER + FIRST_BLOCK];
	unsigned char block[BLOCK_HEADER + 1];

	if (length < HEADER || memcmp(in, begin, sizeof(begin)) != 0)
		return 0;
	*zeros = image_le32(in + SIZE);
	if (*zeros == 0 || *zeros > IMAGE_ZERO_FRAME)
		return 0;
	size_t size = image_zero_frame_size(*zeros);
	if (size > length)
		return size;
	uint32_t n = put_head(head, *zeros);
	if (memcmp(in, head, sizeof(head)) != 0)
		return 0;
	in += sizeof(head);
	for (uint64_t left = *zeros - n; left; left -= n) {
		n = block_content(left);
		image_put_le32(block, block_header(left == n, RLE, n));
		if (memcmp(in, block, sizeof(block)) != 0)
			return 0;
		in += sizeof(block);
	}
	return size;
}
