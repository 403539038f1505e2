/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zeros in a file or block device that may have other bytes there. BLKDISCARD
 * is not used: what a device returns after a discard is not defined.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <linux/falloc.h>
#include "store/file.h"

/* Shorter ranges are written: the device gets them together with their
 * neighbours. */
#define ASK_LEAST ((uint64_t)64 << 10)
/* The kernel may write the zeros itself, and no signal ends such a call. */
#define ASK_MOST ((uint64_t)256 << 20)

enum { PUNCH, ZERO, WRITE };

static int
ask_kernel(const struct image_file *file, int way, uint64_t offset,
	uint64_t length)
{
	int mode = way == PUNCH ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
	int rc = IMAGE_RETRY(fallocate(file->fd, mode | FALLOC_FL_KEEP_SIZE,
		(off_t)offset, (off_t)length));

	return rc < 0 ? errno : 0;
}

static int
write_zeros(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	/* Never written, so that it takes no memory. */
	static _Alignas(IMAGE_ALIGN) unsigned char zeros[256 << 10];
	int rc = 0;

	while (rc == 0 && length) {
		size_t part =
			length < sizeof(zeros) ? (size_t)length : sizeof(zeros);
		rc = image_store_write(store, offset, zeros, part, err);
		offset += part;
		length -= part;
	}
	return rc;
}

/*
 * The kernel is asked for whole pages alone. A part of a page is written
 * through the page cache: otherwise another thread's write to the same page
 * could bring back what the page had before. A way that is not supported is not
 * tried again. After another error the next way follows.
 */
static int
zero_in_place(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	struct image_file *file = image_file(store);
	uint64_t first =
		(offset + IMAGE_ALIGN - 1) & ~(uint64_t)(IMAGE_ALIGN - 1);
	uint64_t last = (offset + length) & ~(uint64_t)(IMAGE_ALIGN - 1);

	if (first >= last || last - first < ASK_LEAST)
		return write_zeros(store, offset, length, err);
	int rc = write_zeros(store, offset, first - offset, err);
	for (uint64_t part; rc == 0 && first < last; first += part) {
		int code = 1;
		int way = __atomic_load_n(&file->zeroing, __ATOMIC_RELAXED);
		part = last - first < ASK_MOST ? last - first : ASK_MOST;
		for (; code && way != WRITE; way++) {
			code = ask_kernel(file, way, first, part);
			if (code == EOPNOTSUPP || code == ENOSYS ||
				code == ENODEV)
				__atomic_store_n(&file->zeroing, way + 1,
					__ATOMIC_RELAXED);
		}
		if (code)
			rc = write_zeros(store, first, part, err);
	}
	return rc ? rc : write_zeros(store, last, offset + length - last, err);
}

int
image_file_zero(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	if (store->fixed)
		return zero_in_place(store, offset, length, err);
	/* The range becomes a hole, as the rest of a new file is. */
	int code = ask_kernel(image_file(store), PUNCH, offset, length);
	return code ? image_fail(err, store->name, -code,
			      "cannot be zeroed at offset %" PRIu64 ": %s",
			      offset, strerror(code))
		    : 0;
}
