/* SPDX-License-Identifier: BSD-3-Clause */
#include "detect.h"

uint64_t
hone_cpu_detect(void)
{
	return 0;
}

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
