/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/cpu.h>
#include "detect.h"

/*
 * Bit positions: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.
 */
#define LEAF1_ECX_OSXSAVE (1u << 27)
#define LEAF1_EDX_SSE2 (1u << 26)
#define LEAF7_EBX_AVX2 (1u << 5)
#define LEAF7_EBX_BMI2 (1u << 8)
#define LEAF7_EBX_AVX512F (1u << 16)
#define LEAF7_EBX_AVX512BW (1u << 30)
#define XCR0_YMM 0x06u /* SSE and AVX state */
#define XCR0_ZMM 0xe6u /* those, mask registers and both halves of ZMM */

static uint64_t
read_xcr0(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

uint64_t
hone_cpu_detect(void)
{
	unsigned a, b, c, d;
	uint64_t xcr0 = 0, bits = 0;

	if (!__get_cpuid(1, &a, &b, &c, &d))
		return 0;
	if (d & LEAF1_EDX_SSE2)
		bits |= HONE_CPU_SSE2;
	if (c & LEAF1_ECX_OSXSAVE)
		xcr0 = read_xcr0();
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return bits;
	if (b & LEAF7_EBX_BMI2)
		bits |= HONE_CPU_BMI2;
	if ((xcr0 & XCR0_YMM) == XCR0_YMM && (b & LEAF7_EBX_AVX2))
		bits |= HONE_CPU_AVX2;
	if ((xcr0 & XCR0_ZMM) == XCR0_ZMM) {
		if (b & LEAF7_EBX_AVX512F)
			bits |= HONE_CPU_AVX512F;
		if (b & LEAF7_EBX_AVX512BW)
			bits |= HONE_CPU_AVX512BW;
	}
	return bits;
}
