/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes a regular file or a block device. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "host/host.h"
#include "store/file.h"

/* Linux 6.14; older headers lack it. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif

/* Long enough for efficient writes, short enough to begin them early. */
#define WINDOW ((uint64_t)16 << 20)
/* Most bytes of a folio, whose pages are dropped together or not at all. */
#define FOLIO ((uint64_t)4 << 20)

/* A hint: failure is ignored. */
static void
drop(struct image_file *file, uint64_t offset, uint64_t length)
{
	posix_fadvise(
		file->fd, (off_t)offset, (off_t)length, POSIX_FADV_DONTNEED);
}

/*
 * Without RWF_DONTCACHE, pages that were there before stay, since other
 * programs use them. The page cache is examined once for each window of this
 * size, before the first read there. Readahead is a small part of a window.
 */
#define READ_WINDOW ((uint64_t)64 << 20)

enum { UNKNOWN, WAS_CACHED, WAS_NOT_CACHED };

/* Holes do not count, because a window may have few pages of data. */
static bool
most_are_present(struct image_file *file, uint64_t from)
{
	uint64_t left = (uint64_t)file->st.st_size - from;
	size_t length = (size_t)(left < READ_WINDOW ? left : READ_WINDOW);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 0, present = 0;
	struct image_file_part part = {.end = 0};
	void *map = mmap(
		NULL, length, PROT_READ, MAP_SHARED, file->fd, (off_t)from);
	unsigned char *list = malloc(length / page + 1);
	bool known =
		map != MAP_FAILED && list && mincore(map, length, list) == 0;

	for (size_t at = 0; known && at < length; at += page) {
		if (from + at >= part.end)
			known = image_file_find(file, from + at, &part) == 0;
		present += !part.hole && list[at / page] & 1;
		pages += !part.hole;
	}
	free(list);
	if (map != MAP_FAILED)
		munmap(map, length);
	return known && present > pages / 2;
}

static bool
was_cached(struct image_file *file, uint64_t offset)
{
	/* the size at open; 0 for a block device */
	uint64_t size = (uint64_t)file->st.st_size;
	uid_t user = geteuid();
	bool cached = false;

	/* To a process that may not write the file, every page is present. */
	if (offset >= size || (user != 0 && user != file->st.st_uid))
		return false;
	pthread_mutex_lock(&file->lock);
	if (!file->windows)
		file->windows = calloc(size / READ_WINDOW + 1, 1);
	if (file->windows) {
		unsigned char *window = &file->windows[offset / READ_WINDOW];
		if (*window == UNKNOWN)
			*window = most_are_present(
					  file, offset & ~(READ_WINDOW - 1))
					  ? WAS_CACHED
					  : WAS_NOT_CACHED;
		cached = *window == WAS_CACHED;
	}
	pthread_mutex_unlock(&file->lock);
	return cached;
}

/* After the last read: drop the pages that readahead has read. */
static void
drop_ahead(struct image_file *file)
{
	uint64_t size = (uint64_t)file->st.st_size;

	pthread_mutex_lock(&file->lock);
	for (uint64_t i = 0; file->windows && i * READ_WINDOW < size; i++)
		if (file->windows[i] == WAS_NOT_CACHED)
			drop(file, i * READ_WINDOW, READ_WINDOW);
	pthread_mutex_unlock(&file->lock);
}

static bool
may_dontcache(struct image_file *file)
{
	return file->drop_cache &&
	       !__atomic_load_n(&file->no_dontcache, __ATOMIC_RELAXED);
}

static ssize_t
some(struct image_file *file, bool writes, uint64_t offset, void *buf,
	size_t length)
{
	size_t direct = length - length % IMAGE_ALIGN;
	struct iovec iov = {buf, length};
	ssize_t n;

	if (file->direct_fd >= 0 && direct && offset % IMAGE_ALIGN == 0 &&
		(uintptr_t)buf % IMAGE_ALIGN == 0) {
		n = writes ? pwrite(file->direct_fd, buf, direct, (off_t)offset)
			   : pread(file->direct_fd, buf, direct, (off_t)offset);
		/* Some file systems accept O_DIRECT at open and refuse it at a
		 * read; the end of a file may be unaligned. */
		if (n > 0 || (n < 0 && errno != EINVAL))
			return n;
	}
	if (may_dontcache(file)) {
		n = (writes ? pwritev2 : preadv2)(
			file->fd, &iov, 1, (off_t)offset, RWF_DONTCACHE);
		if (n >= 0 || (errno != EOPNOTSUPP && errno != EINVAL &&
				      errno != ENOSYS))
			return n;
		__atomic_store_n(&file->no_dontcache, 1, __ATOMIC_RELAXED);
	}
	if (writes)
		return pwrite(file->fd, buf, length, (off_t)offset);
	bool drops = file->drop_cache && !was_cached(file, offset);
	uint64_t left = READ_WINDOW - offset % READ_WINDOW;
	if (file->drop_cache && length > left)
		length = (size_t)left;
	n = pread(file->fd, buf, length, (off_t)offset);
	if (n > 0 && drops)
		drop(file, offset & ~(FOLIO - 1), offset % FOLIO + (uint64_t)n);
	return n;
}

static int
file_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	struct image_file *file = image_file(store);
	size_t done = 0;

	while (done < length) {
		size_t left = length - done;
		size_t zeros = image_file_hole(file, offset + done, &left);
		if (zeros) {
			memset((char *)buf + done, 0, zeros);
			done += zeros;
			continue;
		}
		ssize_t n = some(
			file, false, offset + done, (char *)buf + done, left);
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return image_fail(err, store->name, -errno,
				"cannot be read at offset %" PRIu64 ": %s",
				offset + done, strerror(errno));
		return image_fail(err, store->name, -EIO,
			"has no data at offset %" PRIu64
			": the file was truncated while it was read",
			offset + done);
	}
	return 0;
}

/*
 * Writeback begins during the copy, so that the last fsync() has little to
 * write: a copy of 1 GiB takes 0.36 s instead of 0.54 s (docs/design/image.md).
 */
void
image_file_wrote(struct image_file *file, uint64_t offset, uint64_t length)
{
	struct image_file_part *part = &file->written;

	pthread_mutex_lock(&file->lock);
	if (file->unsent == 0)
		*part = (struct image_file_part){.begin = offset};
	if (offset < part->begin)
		part->begin = offset;
	if (offset + length > part->end)
		part->end = offset + length;
	file->unsent += length;
	bool due = file->unsent >= WINDOW;
	const struct image_file_part now = *part, before = file->sent;
	if (due) {
		file->unsent = 0;
		file->sent = now;
	}
	pthread_mutex_unlock(&file->lock);

	if (!due)
		return;
	sync_file_range(file->fd, (off_t)now.begin,
		(off_t)(now.end - now.begin), SYNC_FILE_RANGE_WRITE);
	if (!file->drop_cache || before.end == 0)
		return;
	/* Wait until the previous window is on disk, then drop its pages. */
	sync_file_range(file->fd, (off_t)before.begin,
		(off_t)(before.end - before.begin),
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			SYNC_FILE_RANGE_WAIT_AFTER);
	drop(file, before.begin, before.end - before.begin);
}

static int
file_write(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	struct image_file *file = image_file(store);
	size_t done = 0;

	while (done < length) {
		ssize_t n = some(file, true, offset + done,
			(char *)(uintptr_t)buf + done, length - done);
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		/* POSIX allows 0 only for length 0. */
		int code = n < 0 ? errno : ENOSPC;
		return image_fail(err, store->name, -code,
			"cannot be written at offset %" PRIu64 ": %s",
			offset + done, strerror(code));
	}
	image_file_wrote(file, offset, length);
	return 0;
}

static int
file_resize(struct image_store *store, uint64_t size, struct image_error *err)
{
	if (IMAGE_RETRY(ftruncate(image_file(store)->fd, (off_t)size)) < 0)
		return image_fail(err, store->name, -errno,
			"cannot be resized to %s: %s",
			IMAGE_COUNT(size, "byte"), strerror(errno));
	return 0;
}

/* unchanged() reports a change of the file since it was opened, at the end. */
static int
file_extent(struct image_store *store, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole, struct image_error *err)
{
	struct image_file_part part;

	int rc = image_file_find(image_file(store), offset, &part);
	if (rc < 0)
		return image_fail(err, store->name, rc,
			"cannot be searched for %s from offset %" PRIu64 ": %s",
			part.in_data ? "a hole" : "data", offset,
			strerror(-rc));
	*hole = part.hole;
	*length = limit;
	if (part.end > offset && part.end - offset < limit)
		*length = part.end - offset;
	return 0;
}

static int
file_share(struct image_store *store, uint64_t offset, struct image_store *from,
	uint64_t from_offset, uint64_t length, struct image_error *err)
{
	struct file_clone_range range = {
		.src_offset = from_offset,
		.src_length = length,
		.dest_offset = offset,
	};

	if (from->ops != &image_file_ops || !image_file(from)->regular)
		return -EOPNOTSUPP;
	range.src_fd = image_file(from)->fd;
	if (IMAGE_RETRY(ioctl(image_file(store)->fd, FICLONERANGE, &range)) ==
		0)
		return 0;
	if (errno != EDQUOT && errno != ENOSPC && errno != EIO)
		return -EOPNOTSUPP;
	return image_fail(err, store->name, -errno,
		"cannot share blocks at offset %" PRIu64 ": %s", offset,
		strerror(errno));
}

static int
file_flush(struct image_store *store, struct image_error *err)
{
	struct image_file *file = image_file(store);

	if (IMAGE_RETRY(fsync(file->fd)) < 0)
		return image_fail(err, store->name, -errno,
			"cannot be synced to disk: %s", strerror(errno));
	if (file->drop_cache)
		drop(file, 0, 0);
	return 0;
}

/*
 * A file that was truncated and extended again was read as zeros in between;
 * only its modification time has changed. The time of a block device is that of
 * its device node, which writes do not change.
 */
static int
file_unchanged(struct image_store *store, struct image_error *err)
{
	struct image_file *file = image_file(store);
	struct stat st;
	uint64_t size;

	int rc = image_file_size(file->fd, store->name, &st, &size, err);
	if (rc < 0)
		return rc;
	if (file->drop_cache && !may_dontcache(file))
		drop_ahead(file);
	if (size != store->size)
		return image_fail(err, store->name, -EIO,
			"changed while it was read, from %" PRIu64 " to %s",
			store->size, IMAGE_COUNT(size, "byte"));
	if (file->regular &&
		(st.st_mtim.tv_sec != file->st.st_mtim.tv_sec ||
			st.st_mtim.tv_nsec != file->st.st_mtim.tv_nsec))
		return image_fail(
			err, store->name, -EIO, "changed while it was read");
	return 0;
}

static int
file_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	int fd = ((const struct image_file *)store)->fd;
	struct stat st;

	int rc = image_file_size(fd, NULL, &st, &usage->file_size, err);
	if (rc == 0)
		usage->disk_usage = S_ISREG(st.st_mode)
					    ? (uint64_t)st.st_blocks * 512
					    : usage->file_size;
	return rc;
}

static void
file_close(struct image_store *store)
{
	struct image_file *file = image_file(store);

	if (file->direct_fd >= 0)
		close(file->direct_fd);
	if (file->owns_fd && file->fd >= 0)
		close(file->fd);
	pthread_mutex_destroy(&file->parts_lock);
	pthread_mutex_destroy(&file->lock);
	free(file->windows);
	free(store->name);
	free(file);
}

int
image_store_fd(const struct image_store *store)
{
	const struct image_store *origin = image_store_origin(store);

	return origin->ops == &image_file_ops
		       ? ((const struct image_file *)origin)->fd
		       : -1;
}

bool
image_store_is(const struct image_store *store, int fd)
{
	const struct image_store *origin = image_store_origin(store);
	struct stat st;

	return origin->ops == &image_file_ops && fstat(fd, &st) == 0 &&
	       image_is_same_disk(
		       &st, &((const struct image_file *)origin)->st);
}

bool
image_store_same(const struct image_store *a, const struct image_store *b)
{
	if (a->ops != &image_file_ops || b->ops != &image_file_ops)
		return a == b;
	return image_is_same_disk(&((const struct image_file *)a)->st,
		&((const struct image_file *)b)->st);
}

const struct image_store_ops image_file_ops = {
	.read = file_read,
	.write = file_write,
	.zero = image_file_zero,
	.resize = file_resize,
	.extent = file_extent,
	.share = file_share,
	.flush = file_flush,
	.unchanged = file_unchanged,
	.usage = file_usage,
	.close = file_close,
};
