/* SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include "short.h"
#include "zero.h"

#define TARGET __attribute__((target("avx2")))

TARGET static inline unsigned
nonzero_bytes(__m256i v)
{
	__m256i zero = _mm256_setzero_si256();

	return ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, zero));
}

TARGET static inline bool
is_zero(__m256i v)
{
	return _mm256_testz_si256(v, v);
}

/* The 17 to 32 bytes that two 16-byte loads cover, as one vector. */
TARGET static inline __m256i
load_halves(const unsigned char *p, size_t len)
{
	return _mm256_set_m128i(_mm_loadu_si128((const void *)(p + len - 16)),
		_mm_loadu_si128((const void *)p));
}

TARGET static inline bool
upto32_is(const unsigned char *p, size_t len)
{
	return len <= 16 ? upto16_is(p, len) : is_zero(load_halves(p, len));
}

TARGET static inline size_t
upto32_find(const unsigned char *p, size_t len)
{
	unsigned bits;
	size_t at;

	if (len <= 16)
		return upto16_find(p, len);
	bits = nonzero_bytes(load_halves(p, len));
	if (bits == 0)
		return len;
	at = (size_t)__builtin_ctz(bits);
	return at < 16 ? at : at + len - 32;
}

TARGET static inline size_t
upto32_rfind(const unsigned char *p, size_t len)
{
	unsigned bits;
	size_t at;

	if (len <= 16)
		return upto16_rfind(p, len);
	bits = nonzero_bytes(load_halves(p, len));
	if (bits == 0)
		return len;
	at = 31 - (size_t)__builtin_clz(bits);
	return at < 16 ? at : at + len - 32;
}

#define NAME avx2
#define VEC __m256i
#define VEC_BYTES 32
#define LOAD(p) _mm256_loadu_si256((const void *)(p))
#define OR(a, b) _mm256_or_si256(a, b)
#define OR3(a, b, c) OR(OR(a, b), c)
#define IS_ZERO(v) is_zero(v)
#define FIRST(v) (size_t) __builtin_ctz(nonzero_bytes(v))
#define LAST(v) (31 - (size_t)__builtin_clz(nonzero_bytes(v)))
#define SHORT upto32_
#define SHORT_MAX VEC_BYTES
#define ENDS_MAX TURN
#include "vector.h"
