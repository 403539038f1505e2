/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a block device, or a file that exists already, as a target. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host/host.h"
#include "store/file.h"

/*
 * For a block device O_EXCL means: fail if it is mounted, is swap space or part
 * of another device, and prevent this until the descriptor is closed.
 */
static int
open_exclusively(const char *path, const struct image_path *place,
	struct image_error *err)
{
	char text[sizeof(err->text)];
	bool device = S_ISBLK(place->st.st_mode);

	int fd = image_path_open(
		place, O_RDWR | O_NOCTTY | (device ? O_EXCL : O_NONBLOCK));
	int code = fd < 0 ? -fd : 0;
	/* Before the answer of open(): the reason helps more than "busy", and
	 * not every use needs the device for itself. */
	if (device && (fd >= 0 || code == EBUSY) &&
		image_device_in_use(place->st.st_rdev, text, sizeof(text))) {
		if (fd >= 0)
			close(fd);
		return image_fail(err, path, -EBUSY, "%s", text);
	}
	if (fd >= 0)
		return fd;
	if (device && code == EBUSY)
		return image_fail(err, path, -EBUSY,
			"is in use by the system or by another process");
	return image_fail(err, path, -code, "cannot be opened for writing: %s",
		strerror(code));
}

/* The path may name another file since it was looked at. */
static int
check_opened(int fd, const char *path, const struct stat *looked,
	struct image_error *err)
{
	char text[sizeof(err->text)];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return image_fail(err, path, -errno,
			"its size cannot be read: %s", strerror(errno));
	if (st.st_dev != looked->st_dev || st.st_ino != looked->st_ino ||
		st.st_rdev != looked->st_rdev || st.st_mode != looked->st_mode)
		return image_fail(
			err, path, -EAGAIN, "was replaced while it was opened");
	if (image_loop_in_use(&st, text, sizeof(text)))
		return image_fail(err, path, -EBUSY, "%s", text);
	int rc = image_lock_exclusive(fd, text, sizeof(text));
	return rc < 0 ? image_fail(err, path, rc, "%s", text) : 0;
}

/* A sector that O_DIRECT cannot write is written through the page cache. */
static bool
has_large_sectors(int fd)
{
	int sector = 0;

	return ioctl(fd, BLKSSZGET, &sector) == 0 && sector > IMAGE_ALIGN;
}

static int
refuse_place(const char *path, const struct image_path *place,
	struct image_error *err)
{
	if (!S_ISBLK(place->st.st_mode) && !S_ISREG(place->st.st_mode))
		return image_fail(err, path, -EINVAL,
			"is neither a regular file nor a block device");
	if (image_path_is_foreign(place))
		return image_fail(err, path, -EACCES,
			"belongs to another user (%u) in a sticky directory; "
			"only your own files are written there",
			(unsigned)place->st.st_uid);
	return 0;
}

static int
open_place(const char *path, const struct image_path *place,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err)
{
	struct image_store_how file_how = *how;

	file_how.takes_fd = true;
	int rc = refuse_place(path, place, err);
	if (rc < 0)
		return rc;
	int fd = open_exclusively(path, place, err);
	if (fd < 0)
		return fd;
	rc = check_opened(fd, path, &place->st, err);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	if (has_large_sectors(fd))
		file_how.direct = false;
	rc = image_store_use(fd, path, &file_how, out, err);
	if (rc < 0)
		return rc;
	(*out)->fixed = true;
	(*out)->zeros = false;
	return 0;
}

int
image_device_open(const char *path, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	struct image_path place;

	*out = NULL;
	int rc = image_path_find(path, &place, err);
	/* image_store_use() reports what is wrong with the path of a new file.
	 */
	if (rc < 0)
		return how->in_place ? rc : 0;
	if (place.fd < 0 && how->in_place)
		rc = image_fail(err, path, place.code,
			"cannot be opened for writing: %s",
			strerror(-place.code));
	else if (place.fd >= 0 && (S_ISBLK(place.st.st_mode) || how->in_place))
		rc = open_place(path, &place, how, out, err);
	image_path_close(&place);
	return rc;
}

int
image_file_size(int fd, const char *name, struct stat *st, uint64_t *size,
	struct image_error *err)
{
	int rc = fstat(fd, st);
	off_t end = rc < 0 || S_ISREG(st->st_mode) ? 0 : lseek(fd, 0, SEEK_END);

	if (rc < 0 || end < 0)
		return image_fail(err, name, -errno,
			"its size cannot be read: %s", strerror(errno));
	*size = (uint64_t)(S_ISREG(st->st_mode) ? st->st_size : end);
	return 0;
}
