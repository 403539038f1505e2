/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <hone/hone.h>

int
main(void)
{
	static unsigned char disk[1 << 20];
	unsigned char map[256 / 8]; /* a bit for each block of 4 KiB */

	disk[5000] = 1;
	printf("%zu of 256 blocks are zero\n",
		hone_zero_map(disk, sizeof(disk), 4096, map));
}
