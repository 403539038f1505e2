/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FILE_H
#define HONE_IMAGE_FILE_H
/* The store of a regular file or a block device. */
#include <pthread.h>
#include <sys/stat.h>
#include "store/store.h"

/* Bytes of a file that are all in one hole, or all data. */
struct image_file_part {
	uint64_t begin;
	uint64_t end;
	bool hole;
	/* after a failure: the end of data was searched for */
	bool in_data;
	/* times that it was found to begin farther in front */
	unsigned descents;
};

/* Threads read at several places. */
#define IMAGE_FILE_PARTS 8

struct image_file {
	struct image_store store;
	int fd;
	bool owns_fd;
	/* the same file with O_DIRECT, or -1 */
	int direct_fd;
	bool regular;
	/* open for reading only: the parts that were found stay as they are */
	bool remembers;
	/* has fewer blocks than bytes: a read first looks for a hole */
	bool sparse;
	struct stat st;
	/* remove pages from the page cache after a read or write */
	bool drop_cache;
	/* 1 after RWF_DONTCACHE was refused. Atomic. */
	int no_dontcache;
	/* the first way of store/zero.c that was not refused. Atomic. */
	int zeroing;

	/* the parts that were found last, under their lock; empty: none */
	pthread_mutex_t parts_lock;
	struct image_file_part parts[IMAGE_FILE_PARTS];
	size_t next_part;
	/* what was read without a search for holes */
	size_t unasked;

	pthread_mutex_t lock;
	/* under the lock: for each window, whether it was in the page cache
	 * before the first read; NULL until needed */
	unsigned char *windows;
	/* under the lock: bytes written since the last writeback began, their
	 * range, and the previous range, whose writeback has begun */
	uint64_t unsent;
	struct image_file_part written;
	struct image_file_part sent;
};

static inline struct image_file *
image_file(struct image_store *store)
{
	return (struct image_file *)store;
}

int image_file_zero(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err);

/*
 * holes.c: set *part to the part of the file with the byte at offset, from
 * there or from before. It is data if the file system does not support holes.
 * Returns a negative errno if the search failed. Any thread.
 */
int image_file_find(
	struct image_file *file, uint64_t offset, struct image_file_part *part);
/*
 * Returns how many of the *length bytes at offset are zeros in a hole. If it
 * returns 0, the bytes are to be read, and *length ends in front of a long
 * hole. Any thread.
 */
size_t image_file_hole(
	struct image_file *file, uint64_t offset, size_t *length);

/* Begin writeback early. */
void image_file_wrote(
	struct image_file *file, uint64_t offset, uint64_t length);

extern const struct image_store_ops image_file_ops;

#endif
