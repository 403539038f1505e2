/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of an open file. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "host/host.h"

int
image_file_size(int fd, const char *name, struct stat *st, uint64_t *size,
	struct image_error *err)
{
	if (fstat(fd, st) < 0)
		return image_fail(err, name, -errno,
			"its size cannot be read: %s", strerror(errno));
	if (S_ISREG(st->st_mode)) {
		*size = (uint64_t)st->st_size;
		return 0;
	}
	off_t end = lseek(fd, 0, SEEK_END);
	if (end < 0)
		return image_fail(err, name, -errno,
			"its size cannot be read: %s", strerror(errno));
	*size = (uint64_t)end;
	return 0;
}

int
image_usage(int fd, struct image_usage *usage, struct image_error *err)
{
	struct stat st;
	int rc = image_file_size(fd, NULL, &st, &usage->file_size, err);
	if (rc < 0)
		return rc;
	usage->disk_usage = S_ISREG(st.st_mode) ? (uint64_t)st.st_blocks * 512
						: usage->file_size;
	return 0;
}
