/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a file is read into: its size and its growth. */
#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include "stream/read_file.h"

/*
 * First capacity if the size is unknown: what a pipe holds. With a smaller one
 * more files of /proc/sys would have to be read again: see read_file.c.
 */
#define FIRST_CAPACITY ((size_t)64 << 10)

/* Huge pages have 2 MiB on x86-64 and on aarch64 with 4 KiB pages. Memory of
 * less than two huge pages may not contain an aligned one. */
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_MIN ((size_t)4 << 20)

static void *
from_malloc(size_t size, void *arg)
{
	(void)arg;
	return malloc(size);
}

static void *
by_realloc(void *memory, size_t size, void *arg)
{
	(void)arg;
	return realloc(memory, size);
}

static void
by_free(void *memory, void *arg)
{
	(void)arg;
	free(memory);
}

const struct hone_read_attr hone_read_defaults = {
	.dirfd = AT_FDCWD,
	.limit = SIZE_MAX,
	.allocate = from_malloc,
	.resize = by_realloc,
	.release = by_free,
};

void
hone_read_attr_init(struct hone_read_attr *attr)
{
	*attr = hone_read_defaults;
}

const struct hone_read_attr *
hone_read_complete(
	const struct hone_read_attr *attr, struct hone_read_attr *all)
{
	if (!attr)
		return &hone_read_defaults;
	if (attr->allocate || attr->resize || attr->release)
		return attr;
	*all = *attr;
	all->allocate = from_malloc;
	all->resize = by_realloc;
	all->release = by_free;
	if (all->dirfd == 0)
		all->dirfd = AT_FDCWD;
	if (all->limit == 0)
		all->limit = SIZE_MAX;
	return all;
}

/* Most bytes of a file: with its zero byte, the size of a C object. */
static size_t
most(const struct hone_read_attr *attr)
{
	size_t addressable = PTRDIFF_MAX - 1;

	return attr->limit < addressable ? attr->limit : addressable;
}

static void
advise(const struct hone_file_buffer *f)
{
	uintptr_t first, end;

	if (!(f->attr->flags & HONE_READ_HUGE_ADVISE) || f->capacity < HUGE_MIN)
		return;
	first = ((uintptr_t)f->data + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	end = ((uintptr_t)f->data + f->capacity) & ~(HUGE_PAGE - 1);
	/* Only advice: a kernel without huge pages returns EINVAL. */
	(void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

int
hone_file_buffer_begin(struct hone_file_buffer *f,
	const struct hone_read_attr *attr, uint64_t expected)
{
	size_t limit = most(attr);

	if (expected > limit)
		return -EFBIG;
	f->attr = attr;
	f->size = 0;
	f->expected = (size_t)expected;
	f->capacity = f->expected + 1;
	if (f->expected == 0)
		f->capacity =
			limit < FIRST_CAPACITY ? limit + 1 : FIRST_CAPACITY;
	f->data = attr->allocate(f->capacity, attr->arg);
	if (!f->data)
		return -ENOMEM;
	advise(f);
	return 0;
}

int
hone_file_buffer_grow(struct hone_file_buffer *f)
{
	size_t limit = most(f->attr), capacity = f->capacity;
	void *larger;

	if (f->size > limit)
		return -EFBIG;
	if (capacity > limit)
		return 0;
	/* Doubled, so that each byte is moved about once, however long the file
	 * is. */
	capacity =
		capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : 2 * capacity;
	if (capacity > limit)
		capacity = limit + 1;
	larger = f->attr->resize(f->data, capacity, f->attr->arg);
	if (!larger)
		return -ENOMEM;
	f->data = larger;
	f->capacity = capacity;
	advise(f);
	return 0;
}

void
hone_file_buffer_cut(struct hone_file_buffer *f)
{
	void *exact = f->attr->resize(f->data, f->size + 1, f->attr->arg);

	/* If this fails, the memory is larger than needed, but valid. */
	if (exact)
		f->data = exact;
}

void
hone_file_buffer_drop(struct hone_file_buffer *f)
{
	f->attr->release(f->data, f->attr->arg);
}
