/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "rivals.h"

#define PAGE 4096

int
stream_bare(const char *path, void **data, size_t *n)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		goto failed;
	*n = (size_t)st.st_size;
	*data = malloc(*n);
	if (!*data)
		goto failed;
	if (read(fd, *data, *n) != (ssize_t)*n) {
		free(*data);
		goto failed;
	}
	close(fd);
	return 0;
failed:
	close(fd);
	return -1;
}

int
stream_stdio(const char *path, void **data, size_t *n)
{
	struct stat st;
	FILE *f = fopen(path, "rb");

	if (!f)
		return -1;
	if (fstat(fileno(f), &st) < 0)
		goto failed;
	*n = (size_t)st.st_size;
	*data = malloc(*n);
	if (!*data)
		goto failed;
	if (fread(*data, 1, *n, f) != *n) {
		free(*data);
		goto failed;
	}
	fclose(f);
	return 0;
failed:
	fclose(f);
	return -1;
}

int
stream_mmap(const char *path, void **data, size_t *n)
{
	const volatile char *p;
	struct stat st;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return -1;
	}
	*n = (size_t)st.st_size;
	*data = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (*data == MAP_FAILED)
		return -1;
	p = *data;
	for (size_t at = 0; at < *n; at += PAGE)
		(void)p[at];
	return 0;
}
