/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <hone/zero.h>

#define BLOCK 4096

/* Write a block; leave a hole if it is zero. */
static int
put_block(int fd, const void *p, size_t n, off_t at)
{
	if (hone_buffer_is_zero(p, n))
		return 0;
	return pwrite(fd, p, n, at) == (ssize_t)n ? 0 : -1;
}
/* the rest of the program */

int
main(int argc, char **argv)
{
	static unsigned char block[BLOCK];
	ssize_t length;
	off_t at = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: sparse FROM TO\n");
		return EXIT_FAILURE;
	}
	int from = open(argv[1], O_RDONLY);
	int to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (from < 0 || to < 0) {
		perror("sparse");
		return EXIT_FAILURE;
	}
	while ((length = read(from, block, sizeof(block))) > 0) {
		if (put_block(to, block, (size_t)length, at) < 0)
			break;
		at += length;
	}
	if (length != 0 || ftruncate(to, at) < 0 || close(to) < 0) {
		perror("sparse");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
