/* SPDX-License-Identifier: BSD-3-Clause */
/* Families without an instruction that describes the CPU to a program. */
#include <stdio.h>
#include <sys/utsname.h>
#include "../part.h"
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

void
hone_cpu_name(char *name)
{
	struct utsname system;

	snprintf(name, HONE_CPU_NAME_SIZE, "%.*s", HONE_CPU_NAME_SIZE - 1,
		uname(&system) == 0 ? system.machine : "unknown");
}
