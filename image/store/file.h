/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FILE_H
#define HONE_IMAGE_FILE_H
/* A store that is a regular file or a block device; shared by its files. */
#include <pthread.h>
#include <sys/stat.h>
#include "store/store.h"

struct image_file {
	struct image_store store;
	int fd;
	bool owns_fd;
	/* the same file with O_DIRECT, or -1 */
	int direct_fd;
	bool regular;
	/* as found when it was opened */
	struct stat st;
	/* pages leave the page cache once they are read or written */
	bool drop_cache;
	/* RWF_DONTCACHE was refused: 0 not yet, 1 refused. Atomic. */
	int no_dontcache;
	/* under the lock: whether each window was in the page cache before it
	 * was read; NULL until that matters */
	unsigned char *windows;

	pthread_mutex_t lock;
	/* under the lock: bytes written since writeback was last begun, and
	 * the range that they lie in */
	uint64_t unsent;
	uint64_t unsent_from;
	uint64_t unsent_to;
	/* the range before that, whose writeback has begun */
	uint64_t sent_from;
	uint64_t sent_to;
};

static inline struct image_file *
image_file(struct image_store *store)
{
	return (struct image_file *)store;
}

/* open.c: fails if st is neither a regular file nor a block device. */
int image_file_check_kind(
	const char *name, const struct stat *st, struct image_error *err);
/* size.c: bytes of an open file or block device. */
int image_file_size(int fd, const char *name, struct stat *st, uint64_t *size,
	struct image_error *err);

/* cache.c: keep the disk busy, and the page cache bounded. */
void image_file_wrote(
	struct image_file *file, uint64_t offset, uint64_t length);
void image_file_drop(struct image_file *file, uint64_t offset, uint64_t length);
/*
 * Whether most pages around offset were in the page cache before this file read
 * there: other programs use them, so they stay. Any thread.
 */
bool image_file_was_cached(struct image_file *file, uint64_t offset);
/* What image_file_was_cached() returns for offset is true up to here. */
uint64_t image_file_window_end(uint64_t offset);
/* Drop what was read there, and the pages before it that are one with it. */
void image_file_drop_read(
	struct image_file *file, uint64_t offset, uint64_t length);
/* After the last read: drop what readahead brought. */
void image_file_drop_windows(struct image_file *file);

extern const struct image_store_ops image_file_ops;

#endif
