/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scalable vectors: a predicate limits the last load to the buffer, so one loop
 * works for every length and every vector size from 128 to 2048 bits.
 */
#include <arm_sve.h>
#include "zero.h"

#define TARGET __attribute__((target("+sve")))

/*
 * Returns the offset of the first group of four vectors that is not all zero;
 * if there is none, the offset at which less than four vectors remain.
 */
TARGET static inline size_t
skip_zero_groups(const uint8_t *p, size_t len)
{
	const size_t step = svcntb();
	const svbool_t all = svptrue_b8();
	size_t at = 0;

	for (; len - at >= 4 * step; at += 4 * step) {
		svuint8_t a = svld1_u8(all, p + at);
		svuint8_t b = svld1_u8(all, p + at + step);
		svuint8_t c = svld1_u8(all, p + at + 2 * step);
		svuint8_t d = svld1_u8(all, p + at + 3 * step);

		a = svorr_u8_x(
			all, svorr_u8_x(all, a, b), svorr_u8_x(all, c, d));
		if (svptest_any(all, svcmpne_n_u8(all, a, 0)))
			break;
	}
	return at;
}

TARGET size_t
hone_zero_find_sve(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	size_t at = skip_zero_groups(p, len);

	for (; at < len; at += svcntb()) {
		svbool_t in = svwhilelt_b8_u64(at, len);
		svbool_t hit = svcmpne_n_u8(in, svld1_u8(in, p + at), 0);

		if (svptest_any(in, hit))
			return at + svcntp_b8(in, svbrkb_b_z(in, hit));
	}
	return len;
}

TARGET bool
hone_zero_is_sve(const void *buf, size_t len)
{
	return hone_zero_find_sve(buf, len) == len;
}

TARGET size_t
hone_zero_rfind_sve(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	size_t end = len;

	while (end > 0) {
		size_t n = end < svcntb() ? end : svcntb();
		svbool_t in = svwhilelt_b8_u64(0, n);
		svbool_t hit = svcmpne_n_u8(in, svld1_u8(in, p + end - n), 0);

		if (svptest_any(in, hit)) /* byte 0 is the last active lane */
			return end - 1 -
			       svcntp_b8(svptrue_b8(), svbrkb_b_z(svptrue_b8(),
							       svrev_b8(hit))) +
			       (svcntb() - n);
		end -= n;
	}
	return len;
}
