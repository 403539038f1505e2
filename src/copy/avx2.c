/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"
#include "short.h"

#define TARGET __attribute__((target("avx2")))
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

#define NAME avx2
#define SHORT copy_upto32
#define SHORT_CLEAR clear_upto32
#include "vector.h"
