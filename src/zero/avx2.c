/* SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include "masked.h"
#include "short.h"
#include "zero.h"

#define TARGET __attribute__((target("avx2")))

#define OR(a, b) _mm256_or_si256(a, b)
#define OR3(a, b, c) OR(OR(a, b), c)

TARGET static inline unsigned
avx2_nonzero_bytes(__m256i v)
{
	__m256i zero = _mm256_setzero_si256();

	return ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, zero));
}

TARGET static inline bool
avx2_is_zero(__m256i v)
{
	return _mm256_testz_si256(v, v);
}

/* 17 to 32 bytes in two 16-byte loads, as one vector. */
TARGET static inline __m256i
load_halves(const unsigned char *p, size_t len)
{
	return _mm256_set_m128i(_mm_loadu_si128((const void *)(p + len - 16)),
		_mm_loadu_si128((const void *)p));
}

TARGET static inline bool
upto32_is(const unsigned char *p, size_t len)
{
	return len <= 16 ? upto16_is(p, len)
			 : avx2_is_zero(load_halves(p, len));
}

/*
 * Tests up to 64 bytes without a branch on the length from 4 on. Up to 31 bytes
 * both loads read the same: all whole words of 4 bytes. The last 4 bytes are
 * read apart, since some of them may not fill such a word. From 32 bytes on the
 * second load ends with the buffer. (docs/design/zero.md, unpredictable
 * lengths)
 */
TARGET static inline bool
avx2_short_is(const unsigned char *p, size_t len)
{
	const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	/* An integer, because p may be NULL. */
	uintptr_t last = (uintptr_t)p + larger(len, 32) - 32;
	__m256i in = _mm256_set1_epi32((int)(smaller(len, 32) / 4));
	__m256i a, b;
	int end;

	if (len < 4)
		return upto3_is(p, len);
	if (__builtin_expect(reaches_next_page(p, 32) & (len < 32), 0))
		return upto32_is(p, len);
	in = _mm256_cmpgt_epi32(in, number);
	a = _mm256_maskload_epi32((const void *)p, in);
	b = _mm256_maskload_epi32((const void *)last, in);
	memcpy(&end, p + len - sizeof(end), sizeof(end));
	return avx2_is_zero(OR3(a, b, _mm256_set1_epi32(end)));
}

TARGET static inline size_t
avx2_short_find(const unsigned char *p, size_t len)
{
	unsigned bits;
	size_t at;

	if (len <= 16)
		return upto16_find(p, len);
	bits = avx2_nonzero_bytes(load_halves(p, len));
	if (bits == 0)
		return len;
	at = (size_t)__builtin_ctz(bits);
	return at < 16 ? at : at + len - 32;
}

TARGET static inline size_t
avx2_short_rfind(const unsigned char *p, size_t len)
{
	unsigned bits;
	size_t at;

	if (len <= 16)
		return upto16_rfind(p, len);
	bits = avx2_nonzero_bytes(load_halves(p, len));
	if (bits == 0)
		return len;
	at = 31 - (size_t)__builtin_clz(bits);
	return at < 16 ? at : at + len - 32;
}

#define IS_FN hone_zero_is_avx2
#define FIND_FN hone_zero_find_avx2
#define RFIND_FN hone_zero_rfind_avx2
#define VARIANT avx2
#define VEC __m256i
#define VEC_BYTES 32
#define LOAD(p) _mm256_loadu_si256((const void *)(p))
#define IS_ZERO(v) avx2_is_zero(v)
#define FIRST(v) (size_t) __builtin_ctz(avx2_nonzero_bytes(v))
#define LAST(v) (31 - (size_t)__builtin_clz(avx2_nonzero_bytes(v)))
#define SHORT avx2_short_
#define SHORT_MAX 64
#define ENDS_MAX TURN
#include "vector.h"
