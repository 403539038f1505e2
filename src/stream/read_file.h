/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_READ_FILE_H
#define HONE_SRC_READ_FILE_H
/* What reading one file and reading many share. */
#include <stdbool.h>
#include <stdint.h>
#include <hone/read_file.h>

/* What malloc() gives and free() takes; hone_read_attr_init() copies it. */
extern const struct hone_read_attr hone_read_defaults;

/* The bits for open(); -EINVAL if attr has others than there are. */
int hone_read_open_flags(const struct hone_read_attr *attr);

/*
 * One file, in whatever stage: data has capacity bytes, of which the first
 * size are read. At most attr->limit + 1 bytes are allocated: the place of the
 * zero byte holds the byte that proves that there are too many.
 */
struct hone_reading {
	const struct hone_read_attr *attr;
	unsigned char *data;
	size_t capacity;
	size_t size;
	/* what fstat told; 0: it does not know */
	size_t told;
};

/* Most bytes asked for at once: Linux's MAX_RW_COUNT with pages of 64 KiB, so
 * that no kernel cuts a read short that is not at the end. */
#define HONE_READ_MAX ((size_t)0x7fff0000)

/*
 * Begin: allocate for what fstat told (0: for what has no size). Returns 0 or
 * a negative errno, and then nothing is allocated.
 */
int hone_reading_begin(struct hone_reading *r,
	const struct hone_read_attr *attr, uint64_t told);

/*
 * Memory is full: enlarge it. On failure (-EFBIG, -ENOMEM) everything is as it
 * was.
 */
int hone_reading_grow(struct hone_reading *r);

/* The file turned out smaller than the memory: cut it. */
void hone_reading_cut(struct hone_reading *r);

/*
 * The steps of each reading are inline: where the kernel spoils the prediction
 * of branches at each system call, calls and returns cost more than they
 * otherwise do (12 bytes on Zen 4: 1.009 times the bare calls, not 1.015).
 */

/* See to it that there is room for at least one byte more. */
static inline int
hone_reading_make_room(struct hone_reading *r)
{
	return r->size < r->capacity ? 0 : hone_reading_grow(r);
}

/* Bytes that the next read is to ask for. */
static inline size_t
hone_reading_wish(const struct hone_reading *r)
{
	size_t room = r->capacity - r->size;

	return room < HONE_READ_MAX ? room : HONE_READ_MAX;
}

/* Count what a read that asked for `wish` bytes got. True at the end: nothing
 * came, or less than asked for, and that up to what fstat told. */
static inline bool
hone_reading_add(struct hone_reading *r, size_t wish, size_t got)
{
	r->size += got;
	return got == 0 || (got < wish && r->size == r->told);
}

/* Give the data to the caller, cut to its size. */
static inline void
hone_reading_finish(struct hone_reading *r, struct hone_file_data *out)
{
	if (r->capacity > r->size + 1)
		hone_reading_cut(r);
	r->data[r->size] = 0;
	out->data = r->data;
	out->size = r->size;
}

/* Give the memory back. */
void hone_reading_drop(struct hone_reading *r);

#endif
