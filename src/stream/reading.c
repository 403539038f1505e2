/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a file is read into: how much, when to grow, when to stop. */
#include <assert.h>
#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include "stream/read_file.h"

/*
 * What is asked for first where no size is known: what a pipe holds. Not less,
 * since some files of /proc/sys give nothing more at a second read, whatever
 * did not fit into the first.
 */
#define FIRST_CAPACITY ((size_t)64 << 10)

/* Linux makes huge pages of 2 MiB where they matter here (x86-64, aarch64 with
 * 4 KiB pages); memory below two of them may have room for none. */
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

/* Bytes that a file may have: with its zero byte it is an object of C. */
static size_t
most(const struct hone_read_attr *attr)
{
	size_t addressable = PTRDIFF_MAX - 1;

	return attr->limit < addressable ? attr->limit : addressable;
}

static void
advise(const struct hone_reading *r)
{
	uintptr_t first, end;

	if (!(r->attr->flags & HONE_READ_HUGE_ADVISE) || r->capacity < HUGE_MIN)
		return;
	first = ((uintptr_t)r->data + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	end = ((uintptr_t)r->data + r->capacity) & ~(HUGE_PAGE - 1);
	/* Advice alone: a kernel without huge pages says EINVAL. */
	(void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

int
hone_reading_begin(struct hone_reading *r, const struct hone_read_attr *attr,
	uint64_t told)
{
	size_t limit = most(attr);

	assert(attr->allocate && attr->resize && attr->release);
	if (told > limit)
		return -EFBIG;
	r->attr = attr;
	r->size = 0;
	r->told = (size_t)told;
	r->capacity = r->told + 1;
	if (r->told == 0)
		r->capacity =
			limit < FIRST_CAPACITY ? limit + 1 : FIRST_CAPACITY;
	r->data = attr->allocate(r->capacity, attr->arg);
	if (!r->data)
		return -ENOMEM;
	advise(r);
	return 0;
}

int
hone_reading_grow(struct hone_reading *r)
{
	size_t limit = most(r->attr), capacity = r->capacity;
	void *larger;

	if (r->size > limit)
		return -EFBIG;
	/* Doubled, so that however long it gets, each byte moves once or so. */
	capacity =
		capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : 2 * capacity;
	if (capacity > limit)
		capacity = limit + 1;
	larger = r->attr->resize(r->data, capacity, r->attr->arg);
	if (!larger)
		return -ENOMEM;
	r->data = larger;
	r->capacity = capacity;
	advise(r);
	return 0;
}

void
hone_reading_cut(struct hone_reading *r)
{
	void *exact = r->attr->resize(r->data, r->size + 1, r->attr->arg);

	/* Too much memory, but all of the data: no reason to fail. */
	if (exact)
		r->data = exact;
}

void
hone_reading_drop(struct hone_reading *r)
{
	r->attr->release(r->data, r->attr->arg);
}
