/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the holes of a file, and remembers them. A read in a hole takes
 * no page of the page cache: the kernel gives a page of zeros for each of them,
 * and a file of a few KiB may have holes of TiB.
 *
 * Only a file that is open for reading is remembered. Another process may write
 * into a hole that was found; then file_unchanged() reports the change.
 */
#include <errno.h>
#include <unistd.h>
#include "store/file.h"

static off_t
seek(struct image_file *file, uint64_t offset, int whence)
{
	off_t found;
	do
		found = lseek(file->fd, (off_t)offset, whence);
	while (found == -1 && errno == EINTR);

	if (found == -1)
		return -errno;
	/* The hole after the last block of 8 EiB begins at 2^63. */
	return found < 0 ? INT64_MAX : found;
}

/* File systems and devices without support for holes return one of these. */
static bool
unsupported(off_t rc)
{
	return rc == -EINVAL || rc == -EOPNOTSUPP || rc == -ENOSYS;
}

/*
 * Ask the kernel for the part that begins at offset. The result is limited to
 * the size at open: the file may have become shorter or longer since then. A
 * file that is written has no limit.
 */
static int
ask(struct image_file *file, uint64_t offset, struct image_file_part *part)
{
	uint64_t size = file->remembers ? file->store.size : INT64_MAX;
	struct stat st;

	*part = (struct image_file_part){.begin = offset, .end = size};
	off_t data = seek(file, offset, SEEK_DATA);
	if (data == -ENXIO) {
		/* The read of a file that was cut fails. */
		part->hole = !file->remembers || !file->regular ||
			     (fstat(file->fd, &st) == 0 &&
				     (uint64_t)st.st_size >= file->store.size);
		return 0;
	}
	if (unsupported(data))
		return 0;
	if (data < 0)
		return (int)data;
	if ((uint64_t)data > offset) {
		part->hole = true;
		if ((uint64_t)data < size)
			part->end = (uint64_t)data;
		return 0;
	}
	off_t end = seek(file, offset, SEEK_HOLE);
	if (unsupported(end) || end == -ENXIO)
		return 0;
	if (end < 0) {
		part->in_data = true;
		return (int)end;
	}
	/* If end == offset, a hole was punched since: all is data. */
	if ((uint64_t)end > offset && (uint64_t)end < size)
		part->end = (uint64_t)end;
	return 0;
}

/* Fewer answers that begin one in front of the other are not worth it. */
#define DESCENTS 4
/* Holes begin at multiples of the blocks of a file system. */
#define BLOCK_LEAST 512

/*
 * Tables may be read from the last to the first: then each answer begins in
 * front of the one before, and has the same end. Find the begin of the part by
 * halves, so that the next read there asks for nothing.
 */
static void
find_begin(struct image_file *file, struct image_file_part *part)
{
	uint64_t low = 0;

	while (part->begin - low >= UINT64_C(2) * BLOCK_LEAST) {
		uint64_t middle =
			(low + part->begin) / 2 / BLOCK_LEAST * BLOCK_LEAST;
		off_t end =
			seek(file, middle, part->hole ? SEEK_DATA : SEEK_HOLE);
		bool same = end >= 0 ? (uint64_t)end >= part->end
				     : end == -ENXIO && part->hole;
		if (same)
			part->begin = middle;
		else
			low = middle;
	}
}

static bool
find_known(
	struct image_file *file, uint64_t offset, struct image_file_part *part)
{
	bool found = false;

	pthread_mutex_lock(&file->parts_lock);
	for (size_t i = 0; !found && i < IMAGE_FILE_PARTS; i++) {
		*part = file->parts[i];
		found = offset >= part->begin && offset < part->end;
	}
	pthread_mutex_unlock(&file->parts_lock);
	return found;
}

/* Returns the place of a part of the same kind with the same end, or of the
 * oldest part. Called with the lock. */
static struct image_file_part *
place_of(struct image_file *file, const struct image_file_part *part)
{
	for (size_t i = 0; i < IMAGE_FILE_PARTS; i++) {
		struct image_file_part *old = &file->parts[i];
		if (old->end == part->end && old->hole == part->hole)
			return old;
	}
	return &file->parts[file->next_part++ % IMAGE_FILE_PARTS];
}

static void
remember(struct image_file *file, struct image_file_part *part)
{
	pthread_mutex_lock(&file->parts_lock);
	struct image_file_part *place = place_of(file, part);
	bool same = place->end == part->end && place->hole == part->hole;
	/* Another thread may have found more of this part since then. */
	bool less = same && place->begin <= part->begin;
	if (same)
		part->descents = place->descents + 1;
	if (!less)
		*place = *part;
	pthread_mutex_unlock(&file->parts_lock);
	if (less || part->descents < DESCENTS)
		return;
	find_begin(file, part);
	pthread_mutex_lock(&file->parts_lock);
	*place_of(file, part) = *part;
	pthread_mutex_unlock(&file->parts_lock);
}

int
image_file_find(
	struct image_file *file, uint64_t offset, struct image_file_part *part)
{
	if (file->remembers && find_known(file, offset, part))
		return 0;
	int rc = ask(file, offset, part);
	if (rc == 0 && file->remembers && offset < file->store.size)
		remember(file, part);
	return rc;
}

/*
 * An image has a header and a few tables, with short holes between them. They
 * are read without a search, which would cost more calls than it saves.
 */
#define UNASKED_MOST ((size_t)512 << 10)
/* What a short read costs: the kernel reads ahead. */
#define UNASKED_LEAST ((size_t)16 << 10)

/* A shorter hole is read together with the data in front of the hole. */
#define SKIP_LEAST ((size_t)64 << 10)

size_t
image_file_hole(struct image_file *file, uint64_t offset, size_t *length)
{
	size_t cost = *length < UNASKED_LEAST ? UNASKED_LEAST : *length;
	struct image_file_part part;

	if (!file->sparse || offset >= file->store.size)
		return 0;
	if (!find_known(file, offset, &part)) {
		pthread_mutex_lock(&file->parts_lock);
		bool unasked = cost <= UNASKED_MOST - file->unasked;
		if (unasked)
			file->unasked += cost;
		pthread_mutex_unlock(&file->parts_lock);
		/* A search that fails skips nothing. */
		if (unasked || image_file_find(file, offset, &part) < 0)
			return 0;
	}
	uint64_t left = part.end - offset;
	if (part.hole)
		return *length < left ? *length : (size_t)left;
	if (*length > left && *length - left >= SKIP_LEAST)
		*length = (size_t)left;
	return 0;
}
