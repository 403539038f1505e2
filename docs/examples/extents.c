/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <hone/zero.h>

int
main(void)
{
	unsigned char buffer[2000] = {[0] = 1, [1999] = 1};
	struct hone_zero_extent extent;
	struct hone_zero_walk walk;

	hone_zero_walk_init(&walk, buffer, sizeof(buffer), 512);
	while (hone_zero_walk_next(&walk, &extent))
		printf("%s at %zu, %zu bytes\n", extent.zero ? "zero" : "data",
			extent.offset, extent.length);
	return 0;
}
