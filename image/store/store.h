/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_STORE_H
#define HONE_IMAGE_STORE_H
/*
 * The lowest seam: a store of bytes, such as a file or a block device. A format
 * lies on a store and knows nothing of descriptors, alignment, the page cache
 * or durability.
 *
 * Every function may be called by several threads at once, except open and
 * close. Offsets plus lengths stay at or below INT64_MAX: callers check sums of
 * values that come from a file.
 */
#include "error.h"

/* Buffers that begin at a multiple of this can be read and written directly. */
#define IMAGE_ALIGN 4096

struct image_store;

/* What a kind of store can do. Every member is set unless it says otherwise. */
struct image_store_ops {
	/* Read exactly length bytes. The end of the store inside the range is
	 * an error. */
	int (*read)(struct image_store *store, uint64_t offset, void *buf,
		size_t length, struct image_error *err);

	/* Write exactly length bytes; a store that can grow grows. NULL if the
	 * store is for reading only. */
	int (*write)(struct image_store *store, uint64_t offset,
		const void *buf, size_t length, struct image_error *err);

	/*
	 * Make a range read as zeros, without taking space where that can be.
	 * NULL as for write.
	 */
	int (*zero)(struct image_store *store, uint64_t offset, uint64_t length,
		struct image_error *err);

	/* Make the store this long. NULL as for write. */
	int (*resize)(struct image_store *store, uint64_t size,
		struct image_error *err);

	/*
	 * Describe the range that begins at offset, which is below the size:
	 * *length is set to 1 to limit bytes that are alike, and *hole to true
	 * if they are known to read as zeros.
	 */
	int (*extent)(struct image_store *store, uint64_t offset,
		uint64_t limit, uint64_t *length, bool *hole,
		struct image_error *err);

	/*
	 * Share length bytes of another store, whose blocks are then used by
	 * both until one of them is written. Returns -EOPNOTSUPP if that
	 * cannot be done here, and changes nothing then. NULL: never.
	 */
	int (*share)(struct image_store *store, uint64_t offset,
		struct image_store *from, uint64_t from_offset, uint64_t length,
		struct image_error *err);

	/* Make durable what was written. NULL as for write. */
	int (*flush)(struct image_store *store, struct image_error *err);

	/* Fail with -EIO if the store is seen to have changed since it was
	 * opened: another length, or another time of modification. */
	int (*unchanged)(struct image_store *store, struct image_error *err);

	/* What the file system says of it. */
	int (*usage)(const struct image_store *store, struct image_usage *usage,
		struct image_error *err);

	/* True if the descriptor is open on this very file or device. */
	bool (*same)(const struct image_store *store, int fd);

	void (*close)(struct image_store *store);
};

/* Set by the kind of store when it is opened; constant after that. */
struct image_store {
	const struct image_store_ops *ops;
	/* for sentences */
	char *name;
	/* bytes at the time it was opened */
	uint64_t size;
	/* true if writes by several threads at once are faster than by one:
	 * buffered writes to one file only wait for each other */
	bool parallel_writes;
};

/* How image_store_file() opens. */
struct image_store_how {
	bool force_share;
	bool direct;
	bool drop_cache;
};

/*
 * Open a regular file or block device for reading, below the directory `below`
 * if that is not NULL: the resolved path must lie in it, and only a regular
 * file will do. Refuses every other kind of file without opening it.
 */
int image_store_open(const char *path, const char *below,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err);

/*
 * Use fd, an empty regular file that is open for reading and writing and stays
 * the caller's.
 */
int image_store_use(int fd, const char *name, const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

/* The members of ops, with the checks that every store needs. */
int image_store_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err);
int image_store_write(struct image_store *store, uint64_t offset,
	const void *buf, size_t length, struct image_error *err);
/* True if both are open on the same file or device. */
bool image_store_same(const struct image_store *a, const struct image_store *b);
/* NULL is fine. */
void image_store_close(struct image_store *store);

#endif
