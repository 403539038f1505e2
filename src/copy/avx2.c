/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"
#include "short.h"

#define TARGET __attribute__((target("avx2")))
#define VARIANT avx2
#include "ymm.h"

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

#define KEEP_FN hone_copy_keep_avx2
#define STREAM_FN hone_copy_stream_avx2
#define PROTECT_FN hone_copy_protect_avx2
#define CLEAR_FN hone_copy_clear_avx2
#define CLEAR_STREAM_FN hone_copy_clear_stream_avx2
#define FENCE_FN hone_copy_fence_avx2
#define SHORT copy_upto32
#define SHORT_CLEAR clear_upto32
#include "vector.h"
