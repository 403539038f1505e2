/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "engine/file.h"

/* Long enough for the disk, short enough to keep it busy from early on. */
#define SEND_BYTES ((uint64_t)16 << 20)

int
image_fail(struct image_error *err, int code, const char *format, ...)
{
	va_list args;

	assert(code < 0);
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

int
image_file_stat(struct image *img, struct stat *st, uint64_t *size,
	struct image_error *err)
{
	if (fstat(img->fd, st) < 0)
		return image_fail(err, -errno, "its size is unknown: %s",
			strerror(errno));
	if (S_ISREG(st->st_mode)) {
		*size = (uint64_t)st->st_size;
		return 0;
	}
	off_t end = lseek(img->fd, 0, SEEK_END);
	if (end < 0)
		return image_fail(err, -errno, "its size is unknown: %s",
			strerror(errno));
	*size = (uint64_t)end;
	return 0;
}

int
image_file_size(struct image *img, uint64_t *size, struct image_error *err)
{
	struct stat st;
	return image_file_stat(img, &st, size, err);
}

int
image_file_read(struct image *img, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	size_t done = 0;
	while (done < length) {
		ssize_t n = pread(img->fd, (char *)buf + done, length - done,
			(off_t)(offset + done));
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return image_fail(err, -errno,
				"cannot read at offset %" PRIu64 ": %s",
				offset + done, strerror(errno));
		return image_fail(err, -EIO,
			"has no data at offset %" PRIu64
			": it was truncated while being read",
			offset + done);
	}
	return 0;
}

/*
 * Have the disk write while we read on: the fsync() in the end then finds
 * little to wait for, and a copy of 1 GiB takes 0.36 s in place of 0.54 s
 * (docs/design/convert.md). A hint, so failure means nothing.
 */
static void
begin_writeback(struct image *img, uint64_t offset, size_t length)
{
	if (img->unsent == 0)
		img->unsent_from = offset;
	img->unsent += length;
	if (img->unsent < SEND_BYTES)
		return;
	/*
	 * Tables follow the data and go with it. A header, written last, lies
	 * before where this stretch began; it is left to the fsync().
	 */
	if (offset >= img->unsent_from)
		sync_file_range(img->fd, (off_t)img->unsent_from,
			(off_t)(offset + length - img->unsent_from),
			SYNC_FILE_RANGE_WRITE);
	img->unsent = 0;
}

int
image_file_write(struct image *img, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	size_t done = 0;
	while (done < length) {
		ssize_t n = pwrite(img->fd, (const char *)buf + done,
			length - done, (off_t)(offset + done));
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		/* POSIX allows 0 only for length 0: never spin on it. */
		int code = n < 0 ? errno : ENOSPC;
		return image_fail(err, -code,
			"cannot write at offset %" PRIu64 ": %s", offset + done,
			strerror(code));
	}
	begin_writeback(img, offset, length);
	return 0;
}

int
image_file_truncate(struct image *img, uint64_t size, struct image_error *err)
{
	int rc;
	do
		rc = ftruncate(img->fd, (off_t)size);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return image_fail(err, -errno,
			"cannot be made %" PRIu64 " bytes long: %s", size,
			strerror(errno));
	return 0;
}

int
image_file_flush(struct image *img, struct image_error *err)
{
	int rc;
	do
		rc = fsync(img->fd);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return image_fail(err, -errno, "cannot be synced to disk: %s",
			strerror(errno));
	return 0;
}
