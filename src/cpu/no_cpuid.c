/* SPDX-License-Identifier: BSD-3-Clause */
/* Families without an instruction that describes the CPU to a program. */
#include <hone/cpu.h>
#include "../part.h"
#include "detect.h"

#if !(HONE_IF_aarch64(1) + 0)
uint64_t
hone_cpu_detect(void)
{
	return 0;
}
#endif

size_t
hone_cpu_detect_cache(unsigned level)
{
	return hone_cpu_sysfs_cache(level);
}

void
hone_cpu_detect_traits(size_t *values)
{
	/* Not measured: what a streamed copy of any kind does by default. */
	values[HONE_CPU_TRAIT_STREAM_L2] = 1;
}
