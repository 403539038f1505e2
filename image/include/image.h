/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_H
#define HONE_IMAGE_H
/*
 * Disk images: open, walk, copy, compare.
 *
 * The one header of image/ that others may include. Nothing here prints or
 * exits. What can fail returns a negative errno and leaves one sentence in a
 * struct image_error.
 *
 * A format is one file that defines `const struct image_ops image_NAME_ops`
 * and one row in formats.def.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;

/* Why a call failed. Set it to {0} before the first call. */
struct image_error {
	/* the image it is about; NULL if none was open yet */
	const struct image *image;
	/* one sentence with field and value, without the file's name */
	char text[256];
};

enum image_kind {
	/* bytes that are not all zero, or have not been looked at */
	IMAGE_DATA,
	/* read, and found zero */
	IMAGE_ZERO,
	/* known to read as zeros without reading: a hole, an absent cluster */
	IMAGE_HOLE
};

struct image_extent {
	uint64_t offset;
	uint64_t length;
	enum image_kind kind;
};

/* A view of a part of an image, as map() gives it. */
struct image_window {
	const unsigned char *bytes;
	/* for unmap() alone */
	void *base;
	size_t length;
};

/* What a new image shall be. Set it to {0}, then size, then the options. */
struct image_create {
	/* bytes of the virtual disk, 0 to INT64_MAX */
	uint64_t size;
	/* bytes, 0 for the format's default; only for formats with clusters */
	uint64_t cluster_size;
};

/* One line of what a format knows about its file. */
struct image_field {
	const char *name;
	uint64_t value;
};

#define IMAGE_MAX_FIELDS 8

/*
 * What a format can do. Every format has name and suffixes, and open, be it
 * only to be recognised.
 *
 * A source has extents, read and recheck; image_readable() looks at read. It
 * may have map with unmap, and prefetch. A destination has create, write,
 * write_zeroes and flush; it may have option and finish. Other members that
 * are not needed are NULL too.
 *
 * extents, read, map, unmap and prefetch may be called by several threads at
 * once. create, write, write_zeroes, finish and flush belong to one thread.
 * Offsets and lengths lie inside the image: the engine asserts it.
 */
struct image_ops {
	/* lower case; what -f, -O and the output call it */
	const char *name;

	/* file name endings, space separated: ".qcow2 .qcow" */
	const char *suffixes;

	/*
	 * Tell whether a file that begins with these bytes is in this format.
	 * NULL for raw, which is what remains. Reads nothing else.
	 */
	bool (*probe)(const unsigned char *head, size_t length);

	/*
	 * Check the headers of img->fd and set img->size. Everything read from
	 * the file is checked here, once; later calls trust the state.
	 */
	int (*open)(struct image *img, struct image_error *err);

	/*
	 * Set one option of struct image_create, or refuse it. NULL if the
	 * format has none.
	 */
	int (*option)(struct image_create *create, const char *key,
		uint64_t value, struct image_error *err);

	/*
	 * Begin a new image in img->fd, an empty file open for reading and
	 * writing. Sets img->size, which may be rounded up, and img->unit. What
	 * is never written reads as zeros.
	 */
	int (*create)(struct image *img, const struct image_create *create,
		struct image_error *err);

	/*
	 * Describe the image at offset: *extent begins there and is as long as
	 * one question to the system tells, at least 1 byte. The kind is
	 * IMAGE_DATA or IMAGE_HOLE.
	 */
	int (*extents)(struct image *img, uint64_t offset,
		struct image_extent *extent, struct image_error *err);

	/* Read exactly length bytes, or fail. */
	int (*read)(struct image *img, uint64_t offset, void *buf,
		size_t length, struct image_error *err);

	/*
	 * Show length bytes without copying them. May refuse for any reason:
	 * the caller then reads. Touching the bytes raises SIGBUS if the file
	 * was truncated or its disk fails, so that is done under
	 * image_guard_call() alone. The window lives until unmap().
	 */
	int (*map)(struct image *img, uint64_t offset, size_t length,
		struct image_window *window);
	void (*unmap)(struct image *img, struct image_window *window);

	/* A hint: this range is read soon. */
	void (*prefetch)(struct image *img, uint64_t offset, size_t length);

	/*
	 * Write length bytes. Offsets ascend from call to call. The bytes may
	 * be a window: -EFAULT means that they could not be touched, and the
	 * same call may then be made again with a copy.
	 */
	int (*write)(struct image *img, uint64_t offset, const void *buf,
		size_t length, struct image_error *err);

	/* The same for zeros: takes no space in the file where that can be. */
	int (*write_zeroes)(struct image *img, uint64_t offset, uint64_t length,
		struct image_error *err);

	/*
	 * Write the metadata; the image is complete, though not yet durable.
	 * NULL if nothing is left to be done.
	 */
	int (*finish)(struct image *img, struct image_error *err);

	/* Make durable everything written. */
	int (*flush)(struct image *img, struct image_error *err);

	/*
	 * Fail if the image is not as open() saw it: another length, or, for a
	 * file, another time of modification. What writes through a mapping
	 * changed may go unnoticed, and so may writes to a block device.
	 */
	int (*recheck)(struct image *img, struct image_error *err);

	/* Fill in at most IMAGE_MAX_FIELDS fields; returns how many. */
	size_t (*info)(struct image *img, struct image_field *fields);

	/*
	 * Free img->state, which may be NULL. Never writes: a failed copy is
	 * closed too.
	 */
	void (*close)(struct image *img);
};

/* An open image. Only formats write to it. */
struct image {
	const struct image_ops *ops;
	/* bytes of the virtual disk */
	uint64_t size;
	/*
	 * bytes that a format allocates at once, a power of two; 0 if it does
	 * not matter
	 */
	uint64_t unit;
	int fd;
	bool owns_fd;
	/* bytes written, and where the first, since writeback last began */
	uint64_t unsent;
	uint64_t unsent_from;
	/* the format's own */
	void *state;
};

/* How a source is read. */
enum image_method {
	/* the faster one, which is IMAGE_READ: docs/design/convert.md */
	IMAGE_AUTO,
	/* through mapped windows; reads where that is refused */
	IMAGE_MAP,
	/* into one reused buffer that stays in the CPU's caches */
	IMAGE_READ
};

/* How a walk over one or two images is to be done. */
struct image_run {
	/* bytes, a power of two: zero runs are made of such aligned blocks */
	size_t block;
	enum image_method method;
	/* called often, with the offset reached; may be NULL */
	void (*progress)(void *opaque, uint64_t done);
	void *opaque;
};

/* Bytes of each kind that a copy met; the sum is the source's size. */
struct image_copied {
	uint64_t data;
	uint64_t zero;
	uint64_t hole;
};

/* Outcome of a comparison. */
struct image_compared {
	bool equal;
	bool same_size;
	/* valid if not equal */
	uint64_t first_difference;
};

/* What the file system says of an image's file. */
struct image_usage {
	/* length as ls shows it; that of the device for a block device */
	uint64_t file_size;
	/* bytes that its blocks take */
	uint64_t disk_usage;
};

/*
 * Formats known, in the order of formats.def.
 * Returns NULL past the last one.
 */
const struct image_ops *image_format(size_t index);

/* The format of that name, or NULL. */
const struct image_ops *image_format_by_name(const char *name);

/*
 * The format that a new file's name asks for: raw if its ending says nothing.
 * Returns NULL for the ending of a format that cannot be written here.
 */
const struct image_ops *image_format_by_suffix(const char *path);

/*
 * Open an image to read it.
 *
 * format: NULL to tell from the first bytes and the name. A file that is, or
 * by its name should be, in another format is then refused, since its bytes
 * taken as raw are hardly what the user means.
 *
 * Regular files and block devices only. On success *out is closed by
 * image_close(); on failure it is NULL.
 */
int image_open(const char *path, const struct image_ops *format,
	struct image **out, struct image_error *err);

/*
 * Fail if the image's format is one that can only be recognised here, so that
 * image_copy(), image_map() and image_compare() would refuse it.
 */
int image_readable(struct image *img, struct image_error *err);

/*
 * Begin a new image in fd: an empty regular file, open for reading and
 * writing, that stays the caller's and is not closed.
 */
int image_create(int fd, const struct image_ops *format,
	const struct image_create *create, struct image **out,
	struct image_error *err);

/* Close and free; NULL is fine. */
void image_close(struct image *img);

int image_finish(struct image *img, struct image_error *err);
int image_flush(struct image *img, struct image_error *err);
int image_usage(
	struct image *img, struct image_usage *usage, struct image_error *err);

/*
 * Copy src into dst, an image just created that is at least as long.
 * Does not finish dst. Fails if src was seen to change meanwhile.
 */
int image_copy(struct image *src, struct image *dst,
	const struct image_run *run, struct image_copied *copied,
	struct image_error *err);

/*
 * Report all extents in order, each of another kind than the one before; they
 * cover the image. report() returns 0 to go on; anything else is returned.
 */
int image_map(struct image *img, const struct image_run *run,
	int (*report)(void *opaque, const struct image_extent *extent),
	void *opaque, struct image_error *err);

/*
 * Find the first byte in which two images differ. The shorter one is taken
 * to go on with zeros.
 */
int image_compare(struct image *a, struct image *b, const struct image_run *run,
	struct image_compared *compared, struct image_error *err);

#endif
