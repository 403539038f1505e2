/* SPDX-License-Identifier: BSD-3-Clause */
#include <emmintrin.h>
#include "short.h"
#include "zero.h"

static inline unsigned
sse2_nonzero_bytes(__m128i v)
{
	__m128i zero = _mm_setzero_si128();

	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero)) ^ 0xffff;
}

#define IS_FN hone_zero_is_sse2
#define FIND_FN hone_zero_find_sse2
#define RFIND_FN hone_zero_rfind_sse2
#define VARIANT sse2
#define TARGET /* SSE2 is the baseline of x86-64 */
#define VEC __m128i
#define VEC_BYTES 16
#define LOAD(p) _mm_loadu_si128((const void *)(p))
#define OR(a, b) _mm_or_si128(a, b)
#define OR3(a, b, c) OR(OR(a, b), c)
#define IS_ZERO(v) (sse2_nonzero_bytes(v) == 0)
#define FIRST(v) (size_t) __builtin_ctz(sse2_nonzero_bytes(v))
#define LAST(v) (31 - (size_t)__builtin_clz(sse2_nonzero_bytes(v)))
#define SHORT upto16_
#define SHORT_MAX VEC_BYTES
#define ENDS_MAX TURN
#include "vector.h"
