/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/cpu.h>
#include "detect.h"
#ifdef __linux__
#include <sys/auxv.h>
#endif

/* Linux, Documentation/arm64/elf_hwcaps.rst; hwcap.h is absent on musl. */
#define AT_HWCAP_ASIMD (1ul << 1)
#define AT_HWCAP_SVE (1ul << 22)

uint64_t
hone_cpu_detect(void)
{
	uint64_t bits = 0;

#ifdef __linux__
	unsigned long caps = getauxval(AT_HWCAP);

	if (caps & AT_HWCAP_ASIMD)
		bits |= HONE_CPU_NEON;
	if (caps & AT_HWCAP_SVE)
		bits |= HONE_CPU_SVE;
#else
	bits |= HONE_CPU_NEON; /* the architecture's baseline */
#endif
	return bits;
}
