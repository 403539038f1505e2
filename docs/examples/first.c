/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <hone/hone.h>

#define BLOCK 4096

int
main(int argc, char **argv)
{
	static unsigned char buffer[256 * BLOCK];
	unsigned char bitmap[256 / 8];
	size_t length, blocks = 0, zero = 0;

	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	if (!file) {
		fprintf(stderr, "usage: first FILE\n");
		return EXIT_FAILURE;
	}
	while ((length = fread(buffer, 1, sizeof(buffer), file)) > 0) {
		blocks += (length + BLOCK - 1) / BLOCK;
		zero += hone_zero_map(buffer, length, BLOCK, bitmap);
	}
	if (ferror(file)) {
		perror(argv[1]);
		return EXIT_FAILURE;
	}
	fclose(file);
	printf("%s: %zu blocks, %zu of them zero\n", argv[1], blocks, zero);
	return EXIT_SUCCESS;
}
