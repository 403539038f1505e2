/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_READ_INTO_SUPPORT_H
#define HONE_TESTS_READ_INTO_SUPPORT_H
/*
 * The system calls that hone_read_into() and its siblings make, counted and
 * made to fail, and their buffer. The linker puts the functions below in the
 * way of the library.
 */
#include <errno.h>
#include "read_file_support.h"

#define TRUTH ((int64_t)-1)
#define CAPACITY ((size_t)4096)

/* How the next calls behave, and how many there were. */
static struct {
	int64_t size;     /* from fstat(); TRUTH: that of the file */
	int fail_at;      /* the call that fails, counted from 1; 0: none */
	int error;        /* how it fails */
	size_t most;      /* bytes from one read(); 0: as many as it can */
	uint64_t pretend; /* bytes that reads return without touching memory */
	int calls, stats, reads;
} world;

static inline bool
fails(void)
{
	if (++world.calls != world.fail_at)
		return false;
	errno = world.error;
	return true;
}

STANDS_FOR(int, fstat64, int fd, struct stat *st)
{
	int result;

	world.stats++;
	if (fails())
		return -1;
	result = __real_fstat64(fd, st);
	if (world.size != TRUTH)
		st->st_size = world.size;
	return result;
}

STANDS_FOR(ssize_t, read, int fd, void *buf, size_t n)
{
	world.reads++;
	if (fails())
		return -1;
	if (world.most > 0 && n > world.most)
		n = world.most;
	if (world.pretend > 0) {
		/* as Linux: no read returns more than this */
		if (n > 0x7ffff000)
			n = 0x7ffff000;
		if (n > world.pretend - 1)
			n = (size_t)(world.pretend - 1);
		world.pretend -= n;
		return (ssize_t)n;
	}
	return __real_read(fd, buf, n);
}

static inline void
fresh_world(void)
{
	memset(&world, 0, sizeof(world));
	world.size = TRUTH;
}

static inline int
open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static unsigned char buffer[CAPACITY + 64];

enum way { INTO, SIZED, SMALL };

/* Reads into a fresh buffer; bytes after `capacity` of them stay as they are.
 * With SIZED the capacity is that of a file with one byte less. */
static inline int
read_by(enum way way, int fd, size_t capacity, size_t *size)
{
	struct hone_read_result result;

	memset(buffer, 0x5a, sizeof(buffer));
	if (way == INTO)
		result = hone_read_into(fd, buffer, capacity);
	else if (way == SIZED)
		result = hone_read_sized(fd, buffer, capacity - 1);
	else
		result = hone_read_small(fd, buffer, capacity);
	for (size_t i = capacity; i < sizeof(buffer); i++)
		assert_int_equal(buffer[i], 0x5a);
	*size = result.size;
	return result.found;
}

static inline void
assert_bytes(size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (buffer[i] != content(i))
			fail_msg("byte %zu of %zu", i, size);
}

#endif
