/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scalable vectors: a predicate limits the last move to the buffer, so one loop
 * works for every size.
 */
#include <arm_sve.h>
#include <string.h>
#include "copy.h"

#define TARGET __attribute__((target("+sve")))

TARGET void
hone_copy_keep_sve(void *dst, const void *src, size_t n)
{
	const size_t step = svcntb();
	const svbool_t all = svptrue_b8();
	const uint8_t *s = src;
	uint8_t *d = dst;
	size_t at = 0;

	if (hone_copy_is_of_libc(n)) {
		memcpy(dst, src, n);
		return;
	}
	for (; n - at >= 4 * step; at += 4 * step) {
		svuint8_t a = svld1_u8(all, s + at);
		svuint8_t b = svld1_u8(all, s + at + step);
		svuint8_t c = svld1_u8(all, s + at + 2 * step);
		svuint8_t e = svld1_u8(all, s + at + 3 * step);

		svst1_u8(all, d + at, a);
		svst1_u8(all, d + at + step, b);
		svst1_u8(all, d + at + 2 * step, c);
		svst1_u8(all, d + at + 3 * step, e);
	}
	for (; at < n; at += step) {
		svbool_t in = svwhilelt_b8_u64(at, n);

		svst1_u8(in, d + at, svld1_u8(in, s + at));
	}
}

TARGET void
hone_copy_stream_sve(void *dst, const void *src, size_t n)
{
	const uint8_t *s = src;
	uint8_t *d = dst;

	for (size_t at = 0; at < n; at += svcntb()) {
		svbool_t in = svwhilelt_b8_u64(at, n);

		svstnt1_u8(in, d + at, svld1_u8(in, s + at));
	}
}

TARGET void
hone_copy_protect_sve(void *dst, const void *src, size_t n)
{
	const uint8_t *s = src;
	uint8_t *d = dst;

	for (size_t at = 0; at < n; at += svcntb()) {
		svbool_t in = svwhilelt_b8_u64(at, n);

		svstnt1_u8(in, d + at, svldnt1_u8(in, s + at));
	}
}

TARGET void
hone_copy_clear_sve(void *dst, size_t n)
{
	uint8_t *d = dst;

	for (size_t at = 0; at < n; at += svcntb())
		svst1_u8(svwhilelt_b8_u64(at, n), d + at, svdup_n_u8(0));
}

TARGET void
hone_copy_clear_stream_sve(void *dst, size_t n)
{
	uint8_t *d = dst;

	for (size_t at = 0; at < n; at += svcntb())
		svstnt1_u8(svwhilelt_b8_u64(at, n), d + at, svdup_n_u8(0));
}

void
hone_copy_fence_sve(void)
{
	__asm__ volatile("" : : : "memory"); /* as in neon.c */
}
