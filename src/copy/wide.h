/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_WIDE_H
#define HONE_COPY_WIDE_H
/*
 * Kept copies of more than 256 bytes by 64-byte vectors, for CPUs that store 64
 * bytes a cycle. The including file includes short.h, and defines TARGET and
 * copy_upto64(). As in vector.h: eight vectors, half of them from the
 * start and half up to the end; or a loop, aligned to the destination, and
 * vectors that end with the copy.
 *
 * Shorter copies are often read at once, and Zen 5 takes longer to forward from
 * a store of 64 bytes: first-word-100 4.2 ns and not 3.7, a pool's bursts of
 * 256 bytes 6.4 G/s and not 8.1 (bench/copy; mempool 1t-keep128-n32).
 */
#include "x86.h"

#define WIDE ((size_t)64)

TARGET static inline __m512i
wide_load(const unsigned char *s)
{
	return _mm512_loadu_si512((const void *)s);
}

TARGET static inline void
wide_store(unsigned char *d, __m512i v)
{
	_mm512_storeu_si512((void *)d, v);
}

/* n is from 256 to 512. */
TARGET static inline void
wide_ends(unsigned char *d, const unsigned char *s, size_t n)
{
	unsigned char *y = d + n - 4 * WIDE;
	const unsigned char *z = s + n - 4 * WIDE;
	__m512i a = wide_load(s), b = wide_load(s + WIDE);
	__m512i c = wide_load(s + 2 * WIDE), e = wide_load(s + 3 * WIDE);
	__m512i f = wide_load(z), g = wide_load(z + WIDE);
	__m512i h = wide_load(z + 2 * WIDE), i = wide_load(z + 3 * WIDE);

	wide_store(d, a);
	wide_store(d + WIDE, b);
	wide_store(d + 2 * WIDE, c);
	wide_store(d + 3 * WIDE, e);
	wide_store(y, f);
	wide_store(y + WIDE, g);
	wide_store(y + 2 * WIDE, h);
	wide_store(y + 3 * WIDE, i);
}

/* n is up to 128. Not inline, since it is rare. */
TARGET static __attribute__((noinline)) void
wide_rest(unsigned char *d, const unsigned char *s, size_t n)
{
	if (n > WIDE) {
		wide_store(d, wide_load(s));
		d += WIDE;
		s += WIDE;
		n -= WIDE;
	}
	copy_upto64(d, s, n);
}

/*
 * n is more than 512. The end is loaded before the loop: vector.h. Turns of two
 * vectors, since those at the end are as many, and write up to that much twice.
 */
TARGET static inline void
wide_loop(unsigned char *d, const unsigned char *s, size_t n)
{
	__m512i first = wide_load(s);
	__m512i a = wide_load(s + n - 2 * WIDE), b = wide_load(s + n - WIDE);
	unsigned char *end = d + n, *last = end - 2 * WIDE;
	size_t to_line = WIDE - (uintptr_t)d % WIDE;

	wide_store(d, first);
	d += to_line;
	s += to_line;
	do {
		__m512i c = wide_load(s), e = wide_load(s + WIDE);

		wide_store(d, c);
		wide_store(d + WIDE, e);
		d += 2 * WIDE;
		s += 2 * WIDE;
	} while (d < last);
	if (__builtin_expect(within_page(last, 2 * WIDE), 1)) {
		wide_store(last, a);
		wide_store(last + WIDE, b);
		return;
	}
	wide_rest(d, s, (size_t)(end - d));
}

#endif
