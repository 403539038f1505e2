/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"
#include "short.h"
#include "x86.h"

static inline void
sse2_stream_line(unsigned char *d, const unsigned char *s)
{
	__m128i *to = (void *)d;
	const __m128i *from = (const void *)s;
	__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
	__m128i c = _mm_loadu_si128(from + 2), e = _mm_loadu_si128(from + 3);

	_mm_stream_si128(to, a);
	_mm_stream_si128(to + 1, b);
	_mm_stream_si128(to + 2, c);
	_mm_stream_si128(to + 3, e);
}

static inline void
sse2_zero_line(unsigned char *d)
{
	for (int i = 0; i < 4; i++)
		_mm_stream_si128((__m128i *)(void *)d + i, _mm_setzero_si128());
}

#define KEEP_FN hone_copy_keep_sse2
#define STREAM_FN hone_copy_stream_sse2
#define PROTECT_FN hone_copy_protect_sse2
#define CLEAR_FN hone_copy_clear_sse2
#define CLEAR_STREAM_FN hone_copy_clear_stream_sse2
#define FENCE_FN hone_copy_fence_sse2
#define VARIANT sse2
#define TARGET /* SSE2 is the baseline of x86-64 */
#define VEC __m128i
#define VEC_BYTES 16
#define LOAD(p) _mm_loadu_si128((const void *)(p))
#define STORE(p, v) _mm_storeu_si128((void *)(p), v)
#define ZERO _mm_setzero_si128()
#define STREAM_LINE(d, s) sse2_stream_line(d, s)
#define ZERO_LINE(d) sse2_zero_line(d)
#define SHORT copy_upto16
#define SHORT_CLEAR clear_upto16
#include "vector.h"
