/* SPDX-License-Identifier: BSD-3-Clause */
#include "detect.h"

uint64_t
hone_cpu_detect(void)
{
	return 0;
}
