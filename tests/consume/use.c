/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small user of the installed library, C and C++ alike: calls one function
 * that is inline, one that is exported, and checks what they say.
 */
#include <stdio.h>
#include <string.h>
#include <hone/hone.h>

int
main(void)
{
	static unsigned char buffer[5000];

	if (strcmp(hone_version(), HONE_VERSION_STRING) != 0) {
		fprintf(stderr, "library %s, headers %s\n", hone_version(),
			HONE_VERSION_STRING);
		return 1;
	}
	if (!hone_buffer_is_zero(buffer, sizeof(buffer)))
		return 2;
	buffer[4242] = 1;
	if (hone_buffer_is_zero(buffer, sizeof(buffer)))
		return 3;
	if (hone_find_nonzero(buffer, sizeof(buffer)) != 4242)
		return 4;
	printf("%s with %s\n", hone_version(), hone_cpu_variant("zero"));
	return 0;
}
