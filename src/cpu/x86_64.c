/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/cpu.h>
#include "detect.h"

/* libgcc also checks that the system saves the registers. */
uint64_t
hone_cpu_detect(void)
{
	uint64_t bits = HONE_CPU_SSE2; /* the architecture's baseline */

	__builtin_cpu_init();
	if (__builtin_cpu_supports("bmi2"))
		bits |= HONE_CPU_BMI2;
	if (__builtin_cpu_supports("avx2"))
		bits |= HONE_CPU_AVX2;
	if (__builtin_cpu_supports("avx512f"))
		bits |= HONE_CPU_AVX512F;
	if (__builtin_cpu_supports("avx512bw"))
		bits |= HONE_CPU_AVX512BW;
	return bits;
}
