/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CPU_DETECT_H
#define HONE_CPU_DETECT_H
/*
 * cpu.c has the public functions of features, and detects those of a family
 * without variants; x86_64.c and aarch64.c detect those of their family.
 * traits.c has the public functions of caches and traits. cpuid.c detects
 * traits by CPUID and the rows of the CPUs that were measured, sysfs.c the
 * sizes of caches.
 */
#include <stddef.h>
#include <stdint.h>
#include "../part.h"
#if HONE_IF_x86_64(1) + 0
/* Only here: it has no guard in GCC 10, and hone.c joins the sources. */
#include <cpuid.h>
#endif

#define HONE_CACHE_LEVELS 3

/* HONE_CPU_* bits that both the CPU and the operating system support. */
uint64_t hone_cpu_detect(void);

/* Bytes of the data or unified cache of a level, 1 to HONE_CACHE_LEVELS. */
size_t hone_cpu_detect_cache(unsigned level);

/*
 * Sets the traits that it knows. Before, copy_max is SIZE_MAX with another C
 * library than glibc, and the values of all others are 0.
 */
void hone_cpu_detect_traits(size_t *values);

/* What CPUID says about the traits of an x86 CPU. */
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
