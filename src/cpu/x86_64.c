/* SPDX-License-Identifier: BSD-3-Clause */
#include <cpuid.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#include <hone/cpu.h>
#include "../part.h"
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

/*
 * Deterministic cache parameters: leaf 4 on Intel; on AMD leaf 0x8000001d with
 * the same layout, and no cache in leaf 4.
 */
static size_t
cache_by_leaf(unsigned leaf, unsigned level)
{
	unsigned a, b, c, d;

	for (unsigned i = 0; i < 16; i++) {
		if (!__get_cpuid_count(leaf, i, &a, &b, &c, &d))
			return 0;
		unsigned type = a & 0x1f; /* 0 none, 1 data, 2 code, 3 both */

		if (type == 0)
			return 0;
		if (type == 2 || (a >> 5 & 7) != level)
			continue;
		size_t ways = (b >> 22) + 1;
		size_t partitions = (b >> 12 & 0x3ff) + 1;
		size_t line = (b & 0xfff) + 1;

		return ways * partitions * line * ((size_t)c + 1);
	}
	return 0;
}

size_t
hone_cpu_detect_cache(unsigned level)
{
	size_t size = cache_by_leaf(4, level);

	if (size == 0)
		size = cache_by_leaf(0x8000001d, level);
	if (size == 0)
		size = hone_cpu_sysfs_cache(level);
	return size;
}

static void
read_cpuid(struct hone_cpuid *id)
{
	unsigned a, b, c, d;

	*id = (struct hone_cpuid){0};
	if (__get_cpuid(0, &a, &b, &c, &d)) {
		id->vendor[0] = b;
		id->vendor[1] = d;
		id->vendor[2] = c;
	}
	if (__get_cpuid(1, &a, &b, &c, &d))
		id->leaf1_eax = a;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
		id->leaf7_ebx = b;
}

/* GLIBC() of the library that runs, which may be newer than its headers. */
static unsigned
glibc_version(void)
{
#ifdef __GLIBC__
	const char *version = gnu_get_libc_version();
	unsigned major = (unsigned)strtoul(version, NULL, 10);
	const char *dot = strchr(version, '.');

	return GLIBC(major, dot ? (unsigned)strtoul(dot + 1, NULL, 10) : 0);
#else
	return 0;
#endif
}

void
hone_cpu_detect_traits(size_t *values)
{
	struct hone_cpuid id;

	read_cpuid(&id);
	id.glibc = glibc_version();
	hone_cpu_parse_traits(&id, values);
}
