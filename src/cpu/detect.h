/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CPU_DETECT_H
#define HONE_CPU_DETECT_H
/*
 * What src/cpu.c asks of a CPU family. Each family is one file that defines
 * both functions: x86_64.c, aarch64.c, and any.c for all others.
 */
#include <stddef.h>
#include <stdint.h>

#define HONE_CACHE_LEVELS 3

/* HONE_CPU_* bits that both the CPU and the operating system support. */
uint64_t hone_cpu_detect(void);

/* Bytes of the data or unified cache of a level, 1 to HONE_CACHE_LEVELS. */
size_t hone_cpu_detect_cache(unsigned level);

/* The same by Linux's sysfs, for the families without an instruction. */
size_t hone_cpu_sysfs_cache(unsigned level);

#endif
