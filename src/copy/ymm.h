/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_YMM_H
#define HONE_COPY_YMM_H
/*
 * What avx2 and avx512 share: 32-byte vectors. The includer defines TARGET.
 *
 * AVX-512 has no use for its wider ones here: no CPU stores more than 64 bytes
 * a cycle, Zen 4 only 32, and a store that crosses a line costs the wider one
 * more. On Zen 4 100 misaligned bytes took 3.0 ns with them, with these 2.5;
 * 4 KiB from a misaligned source 38.2 and 35.5; a streamed cold 512 KiB 27 us
 * and 25 (bench/copy_bench).
 */
#include "x86.h"

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

#endif
