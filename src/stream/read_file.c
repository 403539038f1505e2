/* SPDX-License-Identifier: BSD-3-Clause */
/* One whole file: open, fstat, read, close. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "stream/read_file.h"

#define KNOWN_FLAGS                                                            \
	((unsigned)(HONE_READ_NOFOLLOW | HONE_READ_NOATIME |                   \
		    HONE_READ_HUGE_ADVISE | HONE_READ_NONBLOCK))

int
hone_read_open_flags(const struct hone_read_attr *attr)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;

	if (attr->flags & ~KNOWN_FLAGS)
		return -EINVAL;
	if (attr->flags & HONE_READ_NOFOLLOW)
		flags |= O_NOFOLLOW;
	if (attr->flags & HONE_READ_NOATIME)
		flags |= O_NOATIME;
	if (attr->flags & HONE_READ_NONBLOCK)
		flags |= O_NONBLOCK;
	return flags;
}

/* A descriptor or a negative errno; without O_NOATIME where that is refused. */
static int
open_to_read(const char *path, const struct hone_read_attr *attr)
{
	int flags = hone_read_open_flags(attr);
	int fd;

	if (flags < 0)
		return flags;
	while ((fd = openat(attr->dirfd, path, flags)) < 0) {
		if (errno == EPERM && (flags & O_NOATIME))
			flags &= ~O_NOATIME; /* somebody else's file */
		else if (errno != EINTR)
			return -errno;
	}
	return fd;
}

/* What fstat tells of a regular file; 0 of what has no size; -errno. */
static int64_t
size_told(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return st.st_size > 0 ? st.st_size : 0;
	return S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

/* Returns 0 or a negative errno, at which there is something to drop. */
static int
read_to_end(struct hone_reading *r, int fd)
{
	for (;;) {
		size_t wish;
		ssize_t got;
		int error = hone_reading_make_room(r);

		if (error)
			return error;
		wish = hone_reading_wish(r);
		got = read(fd, r->data + r->size, wish);
		if (got < 0) {
			if (errno != EINTR)
				return -errno;
		} else if (hone_reading_add(r, wish, (size_t)got)) {
			return 0;
		}
	}
}

static int
read_told(struct hone_file_data *out, int fd, const struct hone_read_attr *attr,
	int64_t told)
{
	struct hone_reading r;
	int error;

	if (told < 0)
		return (int)told;
	error = hone_reading_begin(&r, attr, (uint64_t)told);
	if (error)
		return error;
	error = read_to_end(&r, fd);
	if (error)
		hone_reading_drop(&r);
	else
		hone_reading_finish(&r, out);
	return error;
}

int
hone_read_file(struct hone_file_data *out, const char *path,
	const struct hone_read_attr *attr)
{
	int fd, error;

	if (!attr)
		attr = &hone_read_defaults;
	fd = open_to_read(path, attr);
	if (fd < 0)
		return fd;
	error = read_told(out, fd, attr, size_told(fd));
	close(fd);
	return error;
}

int
hone_read_fd(
	struct hone_file_data *out, int fd, const struct hone_read_attr *attr)
{
	int64_t told = size_told(fd);

	if (!attr)
		attr = &hone_read_defaults;
	if (told > 0) {
		off_t position = lseek(fd, 0, SEEK_CUR);

		if (position < 0 || position > told)
			told = 0;
		else
			told -= position;
	}
	return read_told(out, fd, attr, told);
}
