/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/cpu.h>
#include "detect.h"
#include <sys/auxv.h>

/* Linux, Documentation/arm64/elf_hwcaps.rst; hwcap.h is absent on musl. */
#define AT_HWCAP_ASIMD (1ul << 1)
#define AT_HWCAP_SVE (1ul << 22)

uint64_t
hone_cpu_detect(void)
{
	unsigned long caps = getauxval(AT_HWCAP);
	uint64_t bits = 0;

	if (caps & AT_HWCAP_ASIMD)
		bits |= HONE_CPU_NEON;
	if (caps & AT_HWCAP_SVE)
		bits |= HONE_CPU_SVE;
	return bits;
}
