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

/*
 * n is more than 512. The end is loaded before the loop: vector.h. Turns of two
 * vectors, since those at the end are as many, and write up to that much twice.
 * A turn loads before the turn before it stores: a load waits for a store
 * before it if the lower 12 bits of the addresses overlap (4 KiB to an address
 * + 17: 27 and not 31 ns on Zen 5).
 */
TARGET static inline void
wide_loop(unsigned char *d, const unsigned char *s, size_t n)
{
	__m512i first = wide_load(s);
	__m512i a = wide_load(s + n - 2 * WIDE), b = wide_load(s + n - WIDE);
	size_t at = WIDE - (uintptr_t)d % WIDE;
	__m512i c = wide_load(s + at), e = wide_load(s + at + WIDE);

	wide_store(d, first);
	for (; n - at > 4 * WIDE; at += 2 * WIDE) {
		__m512i f = wide_load(s + at + 2 * WIDE);
		__m512i g = wide_load(s + at + 3 * WIDE);

		wide_store(d + at, c);
		wide_store(d + at + WIDE, e);
		c = f;
		e = g;
	}
	wide_store(d + at, c);
	wide_store(d + at + WIDE, e);
	at += 2 * WIDE;
	if (within_page(d + n - 2 * WIDE, 2 * WIDE)) {
		wide_store(d + n - 2 * WIDE, a);
		wide_store(d + n - WIDE, b);
		return;
	}
	if (n - at > WIDE) {
		wide_store(d + at, wide_load(s + at));
		at += WIDE;
	}
	copy_upto64(d + at, s + at, n - at);
}

/* Lines between aligned addresses: n is a multiple of 64, more than 256. */
TARGET static inline void
wide_lines(unsigned char *d, const unsigned char *s, size_t n)
{
	for (; n >= 4 * WIDE; n -= 4 * WIDE, d += 4 * WIDE, s += 4 * WIDE) {
		__m512i a = wide_load(s), b = wide_load(s + WIDE);
		__m512i c = wide_load(s + 2 * WIDE),
			e = wide_load(s + 3 * WIDE);

		wide_store(d, a);
		wide_store(d + WIDE, b);
		wide_store(d + 2 * WIDE, c);
		wide_store(d + 3 * WIDE, e);
	}
	if (n & 2 * WIDE) {
		__m512i a = wide_load(s), b = wide_load(s + WIDE);

		wide_store(d, a);
		wide_store(d + WIDE, b);
		d += 2 * WIDE;
		s += 2 * WIDE;
	}
	if (n & WIDE)
		wide_store(d, wide_load(s));
}

#endif
