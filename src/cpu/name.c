/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <hone/cpu.h>
#include "../part.h"
#include "cpuid.h"

/*
 * Where no instruction that a program may execute names the model, the
 * architecture has to do.
 */
#if defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#elif defined(__riscv)
#define ARCHITECTURE "riscv"
#elif defined(__s390x__)
#define ARCHITECTURE "s390x"
#elif defined(__powerpc64__)
#define ARCHITECTURE "ppc64"
#else
#define ARCHITECTURE "unknown"
#endif

void
hone_cpu_name(char *name)
{
#ifdef __x86_64__
	struct hone_cpuid id;

	hone_cpu_read_cpuid(&id);
	hone_cpu_format_name(&id, name);
#else
	snprintf(name, HONE_CPU_NAME_SIZE, "%s", ARCHITECTURE);
#endif
}
