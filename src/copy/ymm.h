/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by avx2 and avx512: 32-byte vectors. The including file defines
 * TARGET and VARIANT.
 *
 * A store that crosses a cache line costs more with a wider vector. On Zen 4,
 * with 64-byte and 32-byte vectors: 100 misaligned bytes 3.0 and 2.5 ns; 4 KiB
 * from a misaligned source 38.2 and 35.5 ns; a streamed cold 512 KiB 27 and 25
 * us (bench/copy).
 */
#include <immintrin.h>
#include "x86.h"

#define stream_line HONE_JOIN(stream_line_, VARIANT)
#define zero_line HONE_JOIN(zero_line_, VARIANT)

TARGET static inline void
stream_line(unsigned char *d, const unsigned char *s)
{
	__m256i a = _mm256_loadu_si256((const void *)s);
	__m256i b = _mm256_loadu_si256((const void *)(s + 32));

	_mm256_stream_si256((void *)d, a);
	_mm256_stream_si256((void *)(d + 32), b);
}

TARGET static inline void
zero_line(unsigned char *d)
{
	_mm256_stream_si256((void *)d, _mm256_setzero_si256());
	_mm256_stream_si256((void *)(d + 32), _mm256_setzero_si256());
}

#define VEC __m256i
#define VEC_BYTES 32
#define LOAD(p) _mm256_loadu_si256((const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((void *)(p), v)
#define ZERO _mm256_setzero_si256()
#define STREAM_LINE(d, s) stream_line(d, s)
#define ZERO_LINE(d) zero_line(d)
