/* SPDX-License-Identifier: BSD-3-Clause */
/* Families without an instruction that describes the CPU to a program. */
#include "detect.h"

size_t
hone_cpu_detect_cache(unsigned level)
{
	return hone_cpu_sysfs_cache(level);
}

void
hone_cpu_detect_traits(size_t *values)
{
	(void)values;
}
