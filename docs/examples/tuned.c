/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <hone/hone.h>

/* The last lines of hone cpu --calibrate on the machine that runs this. */
static void
choose_copies(void)
{
	hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, 64);
	hone_copy_set_threshold(8388608);
}

int
main(void)
{
	choose_copies();
	printf("streams from %zu MiB\n", hone_copy_threshold() >> 20);
	return 0;
}
