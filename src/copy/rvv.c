/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of any length, as in src/zero/rvv.c. There is no streaming: the hints
 * of Zihintntl are no-ops on a CPU without it, but no CPU with it was at hand
 * to show that they gain anything. STREAM and PROTECT are kept copies.
 */
#include <riscv_vector.h>
#include "copy.h"

#define TARGET __attribute__((target("arch=+v")))

TARGET void
hone_copy_keep_rvv(void *dst, const void *src, size_t n)
{
	const uint8_t *s = src;
	uint8_t *d = dst;
	size_t step;

	for (size_t at = 0; at < n; at += step) {
		step = __riscv_vsetvl_e8m8(n - at);
		__riscv_vse8_v_u8m8(
			d + at, __riscv_vle8_v_u8m8(s + at, step), step);
	}
}

void
hone_copy_stream_rvv(void *dst, const void *src, size_t n)
{
	hone_copy_keep_rvv(dst, src, n);
}

void
hone_copy_protect_rvv(void *dst, const void *src, size_t n)
{
	hone_copy_keep_rvv(dst, src, n);
}

TARGET void
hone_copy_clear_rvv(void *dst, size_t n)
{
	const vuint8m8_t zeros =
		__riscv_vmv_v_x_u8m8(0, __riscv_vsetvlmax_e8m8());
	uint8_t *d = dst;
	size_t step;

	for (size_t at = 0; at < n; at += step) {
		step = __riscv_vsetvl_e8m8(n - at);
		__riscv_vse8_v_u8m8(d + at, zeros, step);
	}
}

void
hone_copy_clear_stream_rvv(void *dst, size_t n)
{
	hone_copy_clear_rvv(dst, n);
}

void
hone_copy_fence_rvv(void)
{
	/* No store is non-temporal. Only the compiler must be ordered. */
	__asm__ volatile("" : : : "memory");
}
