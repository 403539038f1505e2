/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"
#include "short.h"
#include "x86.h"

#define TARGET __attribute__((target("avx2")))

TARGET static inline void
copy_upto32(unsigned char *d, const unsigned char *s, size_t n)
{
	__m128i head, tail;

	if (n <= 16) {
		copy_upto16(d, s, n);
		return;
	}
	head = _mm_loadu_si128((const void *)s);
	tail = _mm_loadu_si128((const void *)(s + n - 16));
	_mm_storeu_si128((void *)d, head);
	_mm_storeu_si128((void *)(d + n - 16), tail);
}

TARGET static inline void
clear_upto32(unsigned char *d, size_t n)
{
	if (n <= 16) {
		clear_upto16(d, n);
		return;
	}
	_mm_storeu_si128((void *)d, _mm_setzero_si128());
	_mm_storeu_si128((void *)(d + n - 16), _mm_setzero_si128());
}

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

#define NAME avx2
#define VEC __m256i
#define VEC_BYTES 32
#define LOAD(p) _mm256_loadu_si256((const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((void *)(p), v)
#define ZERO _mm256_setzero_si256()
#define STREAM_LINE(d, s) stream_line(d, s)
#define ZERO_LINE(d) zero_line(d)
#define SHORT copy_upto32
#define SHORT_CLEAR clear_upto32
#define COPY_TAIL(d, s, n) STORE(d + n - VEC_BYTES, LOAD(s + n - VEC_BYTES))
#include "vector.h"
