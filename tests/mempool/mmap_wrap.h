/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_MEMPOOL_MMAP_WRAP_H
#define HONE_TESTS_MEMPOOL_MMAP_WRAP_H
/*
 * Counts the bytes that the library has mapped, and makes a mapping fail. One
 * file of a program may include it.
 */
#include "mempool_support.h"

static size_t mapped;
static bool (*mapping_fails)(void); /* NULL: none does */

STANDS_FOR(void *, mmap, void *addr, size_t size, int prot, int flags, int fd,
	off_t at)
{
	void *got;

	if (mapping_fails && mapping_fails())
		return MAP_FAILED;
	got = __real_mmap(addr, size, prot, flags, fd, at);
	/* A fixed mapping replaces what is there. */
	if (got != MAP_FAILED && !(flags & MAP_FIXED))
		mapped += size;
	return got;
}

/* The name of mmap() where off_t has 64 bits by choice. */
STANDS_FOR(void *, mmap64, void *addr, size_t size, int prot, int flags, int fd,
	off_t at)
{
	return __wrap_mmap(addr, size, prot, flags, fd, at);
}

STANDS_FOR(int, munmap, void *addr, size_t size)
{
	int error = __real_munmap(addr, size);

	assert_int_equal(error, 0);
	mapped -= size;
	return error;
}

#endif
