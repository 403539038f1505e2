/* SPDX-License-Identifier: BSD-3-Clause */
/* Which format a file has; opening, creating and closing it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "engine/file.h"

/* Enough for every magic of foreign.def and every header of a format. */
#define HEAD_SIZE 512

#define RAW_HINT "-f raw takes its bytes as they are"

#define IMAGE_FORMAT(name) extern const struct image_ops image_##name##_ops;
#include "formats.def"
#undef IMAGE_FORMAT

static const struct image_ops *const formats[] = {
#define IMAGE_FORMAT(name) &image_##name##_ops,
#include "formats.def"
#undef IMAGE_FORMAT
};

static const struct foreign {
	const char *name;
	size_t offset;
	const char *magic;
	size_t length;
	const char *suffixes;
} foreign[] = {
#define IMAGE_FOREIGN(name, offset, magic, suffixes)                           \
	{name, offset, magic, sizeof(magic) - 1, suffixes},
#include "foreign.def"
#undef IMAGE_FOREIGN
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct image_ops *
image_format(size_t index)
{
	return index < COUNT(formats) ? formats[index] : NULL;
}

const struct image_ops *
image_format_by_name(const char *name)
{
	for (size_t i = 0; i < COUNT(formats); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

/* The ending with its dot; "" if there is none. */
static const char *
suffix_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	return dot && dot != name ? dot : "";
}

/* Tell whether a space separated list holds a word, whatever its case. */
static bool
listed(const char *list, const char *word)
{
	size_t length = strlen(word);
	while (length && *list) {
		size_t n = strcspn(list, " ");
		if (n == length && strncasecmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

static const struct foreign *
foreign_by_magic(const unsigned char *head, size_t length)
{
	for (size_t i = 0; i < COUNT(foreign); i++) {
		const struct foreign *f = &foreign[i];
		if (f->length && f->offset + f->length <= length &&
			memcmp(head + f->offset, f->magic, f->length) == 0)
			return f;
	}
	return NULL;
}

/* The format of foreign.def that a file's ending claims, or NULL. */
static const struct foreign *
foreign_by_suffix(const char *path)
{
	for (size_t i = 0; i < COUNT(foreign); i++)
		if (listed(foreign[i].suffixes, suffix_of(path)))
			return &foreign[i];
	return NULL;
}

const struct image_ops *
image_format_by_suffix(const char *path)
{
	for (size_t i = 0; i < COUNT(formats); i++)
		if (listed(formats[i]->suffixes, suffix_of(path)))
			return formats[i];
	/* "debian-12.5" and "disk.old" name no format: they are raw. */
	return foreign_by_suffix(path) ? NULL : &image_raw_ops;
}

/* Name of the format that a file's ending claims; NULL for raw or none. */
static const char *
claimed_by_suffix(const char *path)
{
	const struct foreign *f = foreign_by_suffix(path);
	if (f)
		return f->name;
	const struct image_ops *format = image_format_by_suffix(path);
	return format->probe ? format->name : NULL;
}

/* The head of the file, as much as there is. */
static ssize_t
read_head(struct image *img, unsigned char *head, struct image_error *err)
{
	size_t done = 0;
	while (done < HEAD_SIZE) {
		ssize_t n = pread(
			img->fd, head + done, HEAD_SIZE - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return image_fail(err, -errno,
				"cannot read at offset %zu: %s", done,
				strerror(errno));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int
probe(struct image *img, const char *path, struct image_error *err)
{
	unsigned char head[HEAD_SIZE];
	ssize_t length = read_head(img, head, err);
	if (length < 0)
		return (int)length;

	for (size_t i = 0; i < COUNT(formats); i++) {
		img->ops = formats[i];
		if (img->ops->probe && img->ops->probe(head, (size_t)length))
			return 0;
	}
	const struct foreign *f = foreign_by_magic(head, (size_t)length);
	if (f)
		return image_fail(err, -ENOTSUP,
			"begins like a %s image, which this release cannot "
			"read; " RAW_HINT,
			f->name);
	const char *claimed = claimed_by_suffix(path);
	if (claimed)
		return image_fail(err, -EINVAL,
			"is named like a %s image but does not begin like "
			"one; " RAW_HINT,
			claimed);
	img->ops = &image_raw_ops;
	return 0;
}

static const char *
kind_of_file(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISSOCK(mode))
		return "a socket";
	return "a character device";
}

static int
check_kind(const struct stat *st, struct image_error *err)
{
	if (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode))
		return 0;
	return image_fail(err, -EINVAL,
		"is %s; an image is a regular file or a block device",
		kind_of_file(st->st_mode));
}

/* Files that the kernel makes up as they are read, as in /proc, say size 0. */
static int
check_empty(struct image *img, struct image_error *err)
{
	unsigned char head[HEAD_SIZE];
	ssize_t length = read_head(img, head, err);
	if (length < 0)
		return (int)length;
	if (length > 0)
		return image_fail(err, -EINVAL,
			"has bytes but no size; a copy of it can be read");
	return 0;
}

static int
open_file(struct image *img, const char *path, struct image_error *err)
{
	struct stat st;
	/* It may be a FIFO without a writer by the time it is opened. */
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

	/* Before open(), which a socket refuses and a tape would notice. */
	if (stat(path, &st) == 0) {
		if (check_kind(&st, err) < 0)
			return -EINVAL;
		/* To a device it may mean: open without a medium. */
		if (S_ISBLK(st.st_mode))
			flags &= ~O_NONBLOCK;
	}
	do
		img->fd = open(path, flags);
	while (img->fd < 0 && errno == EINTR);
	if (img->fd < 0 || fstat(img->fd, &st) < 0)
		return image_fail(
			err, -errno, "cannot be opened: %s", strerror(errno));
	int rc = check_kind(&st, err);
	if (rc == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
		rc = check_empty(img, err);
	return rc;
}

/* Finish a failed or successful open or create. */
static int
conclude(int rc, struct image *img, struct image **out)
{
	if (rc < 0) {
		image_close(img);
		img = NULL;
	}
	*out = img;
	return rc;
}

static struct image *
new_image(const struct image_ops *format, int fd, struct image_error *err)
{
	struct image *img = calloc(1, sizeof(*img));
	if (!img) {
		image_fail(err, -ENOMEM, "there is not enough memory");
		return NULL;
	}
	img->ops = format;
	img->fd = fd;
	return img;
}

/* Bytes that only look like a format's header may still be wanted. */
static void
add_hint(struct image_error *err)
{
	size_t length = strlen(err->text);
	snprintf(err->text + length, sizeof(err->text) - length, "; %s",
		RAW_HINT);
}

int
image_open(const char *path, const struct image_ops *format, struct image **out,
	struct image_error *err)
{
	struct image *img = new_image(format, -1, err);
	if (!img)
		return conclude(-ENOMEM, NULL, out);
	img->owns_fd = true;
	int rc = open_file(img, path, err);
	if (rc == 0 && !format)
		rc = probe(img, path, err);
	if (rc == 0) {
		rc = img->ops->open(img, err);
		if (rc == -EINVAL && !format)
			add_hint(err);
	}
	return conclude(rc, img, out);
}

int
image_readable(struct image *img, struct image_error *err)
{
	if (img->ops->read)
		return 0;
	return image_blame(err, img,
		image_fail(err, -ENOTSUP,
			"is a %s image, which this release cannot "
			"read; " RAW_HINT,
			img->ops->name));
}

int
image_create(int fd, const struct image_ops *format,
	const struct image_create *create, struct image **out,
	struct image_error *err)
{
	struct image *img = new_image(format, fd, err);
	if (!img)
		return conclude(-ENOMEM, NULL, out);
	return conclude(format->create(img, create, err), img, out);
}

void
image_close(struct image *img)
{
	if (!img)
		return;
	if (img->ops && img->ops->close)
		img->ops->close(img);
	if (img->owns_fd && img->fd >= 0)
		close(img->fd);
	free(img);
}

int
image_finish(struct image *img, struct image_error *err)
{
	if (!img->ops->finish)
		return 0;
	return image_blame(err, img, img->ops->finish(img, err));
}

int
image_flush(struct image *img, struct image_error *err)
{
	return image_blame(err, img, img->ops->flush(img, err));
}

int
image_extents(struct image *img, uint64_t offset, struct image_extent *extent,
	struct image_error *err)
{
	assert(offset < img->size);
	int rc = img->ops->extents(img, offset, extent, err);
	assert(rc < 0 || (extent->offset == offset && extent->length &&
				 extent->length <= img->size - offset));
	return image_blame(err, img, rc);
}

int
image_recheck(struct image *img, struct image_error *err)
{
	return image_blame(err, img, img->ops->recheck(img, err));
}

int
image_usage(
	struct image *img, struct image_usage *usage, struct image_error *err)
{
	struct stat st;
	int rc = image_file_stat(img, &st, &usage->file_size, err);
	if (rc < 0)
		return image_blame(err, img, rc);
	usage->disk_usage = S_ISREG(st.st_mode) ? (uint64_t)st.st_blocks * 512
						: usage->file_size;
	return 0;
}
