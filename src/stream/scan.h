/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_STREAM_SCAN_H
#define HONE_STREAM_SCAN_H
/*
 * Finds a byte in a block of 64 bytes, one bit for each byte. The code uses
 * what every CPU of the family has and has no variants: AVX2 and AVX-512 do not
 * find a line of 80 bytes faster (docs/design/stream.md).
 */
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#include <arm_neon.h>
#endif

#define SCAN_BLOCK 64

#if defined(__SSE2__)

static inline __m128i
scan_16(const unsigned char *p, __m128i bytes)
{
	return _mm_cmpeq_epi8(
		_mm_loadu_si128((const __m128i *)(const void *)p), bytes);
}

static inline uint64_t
scan_bits(__m128i equal)
{
	return (uint32_t)_mm_movemask_epi8(equal);
}

/* Bit i is set if p[i] is byte, for each i below SCAN_BLOCK. */
static inline uint64_t
scan_block(const unsigned char *p, unsigned char byte)
{
	__m128i bytes = _mm_set1_epi8((char)byte);
	__m128i a = scan_16(p, bytes), b = scan_16(p + 16, bytes);
	__m128i c = scan_16(p + 32, bytes), d = scan_16(p + 48, bytes);

	if (!scan_bits(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))))
		return 0;
	return scan_bits(a) | scan_bits(b) << 16 | scan_bits(c) << 32 |
	       scan_bits(d) << 48;
}

#elif defined(__aarch64__) && !defined(__AARCH64EB__)

static inline uint64_t
scan_block(const unsigned char *p, unsigned char byte)
{
	/* Bit i % 8 for byte i; sums of neighbours then collect eight bits in
	 * one byte. */
	const uint8x16_t bit =
		vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
	uint8x16_t bytes = vdupq_n_u8(byte);
	uint8x16_t a = vandq_u8(vceqq_u8(vld1q_u8(p), bytes), bit);
	uint8x16_t b = vandq_u8(vceqq_u8(vld1q_u8(p + 16), bytes), bit);
	uint8x16_t c = vandq_u8(vceqq_u8(vld1q_u8(p + 32), bytes), bit);
	uint8x16_t d = vandq_u8(vceqq_u8(vld1q_u8(p + 48), bytes), bit);

	a = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(a, a)), 0);
}

#else

/* Eight bytes in a word: bit i of the result for p[i]. */
static inline uint64_t
scan_8(const unsigned char *p, uint64_t bytes)
{
	const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
	uint64_t word;

	memcpy(&word, p, sizeof(word));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	word ^= bytes;
	/* the top bit of each byte that is zero, and no other bit */
	word = ~(((word & low7) + low7) | word | low7);
	/* bit 8i goes to 56 + i; no two of the products meet */
	return (word >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t
scan_block(const unsigned char *p, unsigned char byte)
{
	uint64_t bytes = UINT64_C(0x0101010101010101) * byte, found = 0;

	for (int i = 0; i < SCAN_BLOCK / 8; i++)
		found |= scan_8(p + 8 * i, bytes) << (8 * i);
	return found;
}

#endif
#endif
