/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One whole file from a descriptor into memory of the caller.
 *
 * hone_read_into() saves only three registers: what needs more than one read()
 * is a function of its own. This matters for PHP's file_get_contents() of 12
 * bytes, which takes 700 instructions.
 */
#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "stream/read_file.h"

#define RARE __attribute__((cold, noinline)) static struct hone_read_result

static inline struct hone_read_result
found(int what, size_t size)
{
	return (struct hone_read_result){.size = size, .found = what};
}

/*
 * The first read() returned `got`, which does not prove the end. If `got` is
 * the most that Linux returns from one read(), there may be more to read.
 */
RARE
read_on(int fd, unsigned char *data, size_t capacity, size_t size, ssize_t got)
{
	size_t done = 0;

	while (got >= (ssize_t)HONE_READ_MAX && capacity - done > (size_t)got) {
		done += (size_t)got;
		got = read(fd, data + done, capacity - done);
	}
	if (got < 0 && done == 0)
		return found(-errno, 0);
	if (got > 0)
		done += (size_t)got;
	return found(
		got >= 0 && done == size ? HONE_READ_WHOLE : HONE_READ_PART,
		done);
}

/* A regular file for which one read() is not enough. */
RARE
read_huge(int fd, unsigned char *data, size_t capacity, uint64_t size)
{
	if (size >= SIZE_MAX / 2)
		return found(-EFBIG, 0);
	if (size >= capacity)
		return found(HONE_READ_LARGER, (size_t)size);
	return read_on(
		fd, data, capacity, (size_t)size, read(fd, data, capacity));
}

/* The read requests at least one byte more than the size: if it returns exactly
 * the size, this proves the end. */
struct hone_read_result
hone_read_into(int fd, void *data, size_t capacity)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) < 0)
		return found(-errno, 0);
	if (!S_ISREG(st.st_mode))
		return found(HONE_READ_NOT_REGULAR, 0);
	/* A negative size is huge as an unsigned one. */
	if ((uint64_t)st.st_size >= HONE_READ_MAX)
		return read_huge(fd, data, capacity, (uint64_t)st.st_size);
	if ((size_t)st.st_size >= capacity)
		return found(HONE_READ_LARGER, (size_t)st.st_size);
	got = read(fd, data, capacity);
	if (got != (ssize_t)st.st_size)
		return read_on(fd, data, capacity, (size_t)st.st_size, got);
	return found(HONE_READ_WHOLE, (size_t)got);
}

struct hone_read_result
hone_read_sized(int fd, void *data, size_t size)
{
	ssize_t got = read(fd, data, size + 1);

	if (got != (ssize_t)size || size >= HONE_READ_MAX)
		return read_on(fd, data, size + 1, size, got);
	return found(HONE_READ_WHOLE, size);
}

/*
 * The second read is the last, although a third one might return more: a file
 * that replaced the small one may be a terminal, and a read of it would wait.
 */
struct hone_read_result
hone_read_small(int fd, void *data, size_t capacity)
{
	ssize_t got, more;

	assert(capacity > 0);
	got = read(fd, data, capacity);
	if (got < 0)
		return found(-errno, 0);
	if (got == 0 || (size_t)got == capacity)
		return found(got == 0 ? HONE_READ_WHOLE : HONE_READ_PART,
			(size_t)got);
	more = read(fd, (unsigned char *)data + got, capacity - (size_t)got);
	if (more > 0)
		got += more;
	return found(more == 0 ? HONE_READ_WHOLE : HONE_READ_PART, (size_t)got);
}
