/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_READ_FILE_H
#define HONE_SRC_READ_FILE_H
/* Reading one file: shared with reading many files. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <hone/read_file.h>

/* Defaults, with malloc() and free(); hone_read_attr_init() copies them. */
extern const struct hone_read_attr hone_read_defaults;

/* Returns true if no member is used that a later release may define. */
static inline bool
hone_reserved_are_zero(void *const reserved[4])
{
	return !reserved[0] && !reserved[1] && !reserved[2] && !reserved[3];
}

/*
 * Returns attributes in which each member has its value: attr, the defaults if
 * it is NULL, or *all if attr has no function of an allocator.
 */
const struct hone_read_attr *hone_read_complete(
	const struct hone_read_attr *attr, struct hone_read_attr *all);

/* Returns the flags for open(); -EINVAL if attr has unknown flags or reserved
 * members, or lacks a function. */
int hone_read_open_flags(const struct hone_read_attr *attr);

/*
 * The memory of a file that is being read. data has capacity bytes, and the
 * first size of them are read. At most attr->limit + 1 bytes are allocated: a
 * byte in the place of the zero byte shows that the file is too long.
 */
struct hone_file_buffer {
	const struct hone_read_attr *attr;
	unsigned char *data;
	size_t capacity;
	size_t size;
	/* the size from fstat; 0: unknown */
	size_t expected;
};

/* Most bytes of one read: Linux's MAX_RW_COUNT with pages of 64 KiB, so that no
 * kernel cuts a read short before the end of the file. */
#define HONE_READ_MAX ((size_t)0x7fff0000)

/*
 * Allocates memory for the expected size (0: unknown). Returns 0 or a negative
 * errno; after an error nothing is allocated.
 */
int hone_file_buffer_begin(struct hone_file_buffer *f,
	const struct hone_read_attr *attr, uint64_t expected);

/*
 * Enlarges the memory, unless it reaches the limit and has a free byte. Returns
 * 0, -EFBIG or -ENOMEM; after an error everything is unchanged.
 */
int hone_file_buffer_grow(struct hone_file_buffer *f);

/* Cuts the memory to the size of the file and its zero byte. */
void hone_file_buffer_cut(struct hone_file_buffer *f);

/*
 * The steps of a read are inline: if the kernel invalidates the branch
 * predictors at each system call, calls and returns cost more (12 bytes on Zen
 * 4: 1.009 times the bare system calls, not 1.015).
 */

/* Returns true if reads of fd must be aligned, as with O_DIRECT. */
bool hone_reads_directly(int fd, const struct stat *st);

/* Returns true if a regular file may lack bytes of its size: a file in /sys
 * claims a page, of 64 KiB at most, and has no blocks. */
static inline bool
hone_size_is_claim(const struct stat *st)
{
	return st->st_blocks == 0 && st->st_size <= 65536;
}

/*
 * Returns the size of a regular file, or 0 if the size is above the limit and
 * may be wrong. Reading then shows whether the file has more bytes than the
 * limit.
 */
static inline int64_t
hone_read_size(const struct stat *st, size_t limit)
{
	if (st->st_size <= 0 ||
		((uint64_t)st->st_size > limit && hone_size_is_claim(st)))
		return 0;
	return st->st_size;
}

/* Least room for a read if the size is unknown: /dev/kmsg loses a record that
 * does not fit (the kernel's PRINTKRB_RECORD_MAX and CONSOLE_EXT_LOG_MAX). */
#define HONE_READ_RECORD ((size_t)8 << 10)

/* Makes room for the next read. Returns 0 or a negative errno. */
static inline int
hone_file_buffer_make_room(struct hone_file_buffer *f)
{
	size_t least = f->expected > 0 ? 1 : HONE_READ_RECORD;

	return f->capacity - f->size >= least ? 0 : hone_file_buffer_grow(f);
}

/* Number of bytes that the next read requests. */
static inline size_t
hone_file_buffer_request(const struct hone_file_buffer *f)
{
	size_t room = f->capacity - f->size;

	return room < HONE_READ_MAX ? room : HONE_READ_MAX;
}

/* Counts the bytes of a read. Returns true at the end: the read returned
 * nothing, or less than requested and exactly up to the expected size. */
static inline bool
hone_file_buffer_add(struct hone_file_buffer *f, size_t requested, size_t got)
{
	f->size += got;
	return got == 0 || (got < requested && f->size == f->expected);
}

/* Passes the data to the caller, cut to its size. */
static inline void
hone_file_buffer_finish(struct hone_file_buffer *f, struct hone_file_data *out)
{
	if (f->capacity > f->size + 1)
		hone_file_buffer_cut(f);
	f->data[f->size] = 0;
	out->data = f->data;
	out->size = f->size;
}

/* Frees the memory. */
void hone_file_buffer_drop(struct hone_file_buffer *f);

#endif
