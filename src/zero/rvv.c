/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of any length: vsetvl() returns how many bytes the next instructions
 * take, at most those that are left, so one loop works for every length and
 * every vector size. Groups of eight registers (m8) make the fewest iterations.
 * Never timed: no CPU with RVV was at hand.
 */
#include <riscv_vector.h>
#include "zero.h"

#define TARGET __attribute__((target("arch=+v")))

/* The index of the first of n bytes that is not zero; negative if none is. */
TARGET static inline long
first_of(vuint8m8_t bytes, size_t n)
{
	return __riscv_vfirst_m_b1(__riscv_vmsne_vx_u8m8_b1(bytes, 0, n), n);
}

TARGET size_t
hone_zero_find_rvv(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	size_t n;

	for (size_t at = 0; at < len; at += n) {
		long first;

		n = __riscv_vsetvl_e8m8(len - at);
		first = first_of(__riscv_vle8_v_u8m8(p + at, n), n);
		if (first >= 0)
			return at + (size_t)first;
	}
	return len;
}

TARGET bool
hone_zero_is_rvv(const void *buf, size_t len)
{
	return hone_zero_find_rvv(buf, len) == len;
}

/*
 * No instruction finds the last bit of a mask. The group that has the byte is
 * loaded again from its end to its start, and the first bit found. A strided
 * load takes one access a byte on many CPUs, hence not every group.
 */
TARGET size_t
hone_zero_rfind_rvv(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	size_t n;

	for (size_t end = len; end > 0; end -= n) {
		n = __riscv_vsetvl_e8m8(end);
		if (first_of(__riscv_vle8_v_u8m8(p + end - n, n), n) < 0)
			continue;
		return end - 1 -
		       (size_t)first_of(
			       __riscv_vlse8_v_u8m8(p + end - 1, -1, n), n);
	}
	return len;
}
