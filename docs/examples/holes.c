/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* SEEK_DATA, SEEK_HOLE */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <hone/zero.h>

#define CHUNK ((size_t)1 << 20)

/* Reads the data of a file and prints its extents. Returns 0 on an error. */
static int
print_data(int fd, off_t offset, off_t end)
{
	static unsigned char buffer[CHUNK];

	while (offset < end) {
		size_t want = end - offset < (off_t)CHUNK
				      ? (size_t)(end - offset)
				      : CHUNK;
		ssize_t n = pread(fd, buffer, want, offset);
		struct hone_zero_extent extent;
		struct hone_zero_walk walk;

		if (n <= 0)
			return 0;
		hone_zero_walk_init(&walk, buffer, (size_t)n, 4096);
		while (hone_zero_walk_next(&walk, &extent))
			printf("%s %lld %zu\n", extent.zero ? "zero" : "data",
				(long long)offset + (long long)extent.offset,
				extent.length);
		offset += n;
	}
	return 1;
}

int
main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END), at = 0;

	while (at < size) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0 && errno == ENXIO)
			data = size; /* only a hole is left */
		if (data < 0)
			break;
		if (data > at)
			printf("hole %lld %lld\n", (long long)at,
				(long long)(data - at));
		hole = data < size ? lseek(fd, data, SEEK_HOLE) : size;
		if (hole < 0 || !print_data(fd, data, hole))
			break;
		at = hole;
	}
	if (size < 0 || at < size)
		perror("holes");
	return size < 0 || at < size;
}
