/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CPU_CPUID_H
#define HONE_CPU_CPUID_H
/* What CPUID says about the traits of an x86 CPU. */
#include <stddef.h>
#include <stdint.h>

#define GLIBC(major, minor) ((major)*1000u + (minor))

/* Registers of CPUID, 0 for leaves that the CPU lacks; and the C library. */
struct hone_cpuid {
	uint32_t vendor[3]; /* leaf 0: EBX, EDX, ECX */
	uint32_t leaf1_eax;
	uint32_t leaf7_ebx;
	unsigned glibc; /* GLIBC(), or 0: another C library */
};

/* As hone_cpu_detect_traits(). Tests pass the words of other CPUs. */
void hone_cpu_parse_traits(const struct hone_cpuid *id, size_t *values);

#endif
