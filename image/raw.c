/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw: the file is the disk. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "engine/file.h"

/* img->state of an image opened: what raw_recheck() compares with. */
struct source {
	bool regular;
	struct timespec modified;
};

static int
raw_open(struct image *img, struct image_error *err)
{
	struct stat st;
	int rc = image_file_stat(img, &st, &img->size, err);
	if (rc < 0)
		return rc;
	struct source *source = calloc(1, sizeof(*source));
	if (!source)
		return image_fail(err, -ENOMEM, "there is not enough memory");
	source->regular = S_ISREG(st.st_mode);
	source->modified = st.st_mtim;
	img->state = source;
	return 0;
}

static int
raw_create(struct image *img, const struct image_create *create,
	struct image_error *err)
{
	img->size = create->size;
	/* At once: a file that may not be so long fails before the copy. */
	return image_file_truncate(img, img->size, err);
}

static off_t
seek(struct image *img, uint64_t offset, int whence)
{
	off_t found;
	do
		found = lseek(img->fd, (off_t)offset, whence);
	while (found < 0 && errno == EINTR);
	return found < 0 ? -errno : found;
}

/* File systems and devices that know no holes say one of these. */
static bool
unsupported(off_t rc)
{
	return rc == -EINVAL || rc == -EOPNOTSUPP || rc == -ENOSYS;
}

/*
 * Answers are held against the size at open: the file may have become
 * shorter or longer since, which raw_recheck() tells in the end.
 */
static int
raw_extents(struct image *img, uint64_t offset, struct image_extent *extent,
	struct image_error *err)
{
	*extent = (struct image_extent){offset, img->size - offset, IMAGE_DATA};

	off_t data = seek(img, offset, SEEK_DATA);
	if (data == -ENXIO) {
		extent->kind = IMAGE_HOLE;
		return 0;
	}
	if (unsupported(data))
		return 0;
	if (data < 0)
		return image_fail(err, (int)data,
			"cannot seek data at offset %" PRIu64 ": %s", offset,
			strerror((int)-data));
	if ((uint64_t)data > offset) {
		extent->kind = IMAGE_HOLE;
		if ((uint64_t)data < img->size)
			extent->length = (uint64_t)data - offset;
		return 0;
	}

	off_t hole = seek(img, offset, SEEK_HOLE);
	if (unsupported(hole) || hole == -ENXIO)
		return 0;
	if (hole < 0)
		return image_fail(err, (int)hole,
			"cannot seek a hole at offset %" PRIu64 ": %s", offset,
			strerror((int)-hole));
	/* hole == offset: punched since the first call; read it as data */
	if ((uint64_t)hole > offset && (uint64_t)hole < img->size)
		extent->length = (uint64_t)hole - offset;
	return 0;
}

static int
raw_map(struct image *img, uint64_t offset, size_t length,
	struct image_window *window)
{
	size_t skip = (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));

	window->length = length + skip;
	window->base = mmap(NULL, window->length, PROT_READ, MAP_SHARED,
		img->fd, (off_t)(offset - skip));
	if (window->base == MAP_FAILED)
		return -errno;
	window->bytes = (const unsigned char *)window->base + skip;
	return 0;
}

static void
raw_unmap(struct image *img, struct image_window *window)
{
	(void)img;
	munmap(window->base, window->length);
}

static void
raw_prefetch(struct image *img, uint64_t offset, size_t length)
{
	posix_fadvise(
		img->fd, (off_t)offset, (off_t)length, POSIX_FADV_WILLNEED);
}

/* The file was empty: what is never written is a hole. */
static int
raw_write_zeroes(struct image *img, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	(void)img;
	(void)offset;
	(void)length;
	(void)err;
	return 0;
}

/*
 * A file that was cut and is as long as before again was read as zeros in
 * between: only its time tells. That of a block device is the time of its
 * name, which writes do not change.
 */
static int
raw_recheck(struct image *img, struct image_error *err)
{
	const struct source *source = img->state;
	struct stat st;
	uint64_t size;

	int rc = image_file_stat(img, &st, &size, err);
	if (rc < 0)
		return rc;
	if (size != img->size)
		return image_fail(err, -EIO,
			"changed while it was read, from %" PRIu64
			" to %" PRIu64 " bytes",
			img->size, size);
	if (source->regular &&
		(st.st_mtim.tv_sec != source->modified.tv_sec ||
			st.st_mtim.tv_nsec != source->modified.tv_nsec))
		return image_fail(err, -EIO, "changed while it was read");
	return 0;
}

static void
raw_close(struct image *img)
{
	free(img->state);
}

const struct image_ops image_raw_ops = {
	.name = "raw",
	.suffixes = ".raw .img .bin",
	.open = raw_open,
	.create = raw_create,
	.extents = raw_extents,
	.read = image_file_read,
	.map = raw_map,
	.unmap = raw_unmap,
	.prefetch = raw_prefetch,
	.write = image_file_write,
	.write_zeroes = raw_write_zeroes,
	.flush = image_file_flush,
	.recheck = raw_recheck,
	.close = raw_close,
};
