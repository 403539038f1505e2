/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into `hone` by test_shim.py:
 *
 * SHIM_STARVE=N        allocation N finds no memory
 * SHIM_COUNT=PATH      receives two numbers at the end: allocations, and those
 *                      that failed
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own names: dlsym() itself allocates, and would come back here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *of, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long calls;
static unsigned long failed;

static int
starved(void)
{
	const char *text = getenv("SHIM_STARVE");
	unsigned long victim = text ? strtoul(text, NULL, 0) : 0;

	if (!victim || ++calls != victim)
		return 0;
	failed++;
	errno = ENOMEM;
	return 1;
}

/* Without stdio, which allocates. */
__attribute__((destructor)) static void
report(void)
{
	const char *path = getenv("SHIM_COUNT");
	char text[64];
	int length = snprintf(text, sizeof(text), "%lu %lu\n", calls, failed);

	if (!path)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (syscall(SYS_write, fd, text, length) != length)
		abort();
	close(fd);
}

void *
malloc(size_t size)
{
	return starved() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
	return starved() ? NULL : __libc_calloc(count, size);
}

void *
realloc(void *of, size_t size)
{
	return starved() ? NULL : __libc_realloc(of, size);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
	return starved() ? NULL : __libc_memalign(alignment, size);
}

int
posix_memalign(void **to, size_t alignment, size_t size)
{
	void *got = starved() ? NULL : __libc_memalign(alignment, size);

	if (!got)
		return ENOMEM;
	*to = got;
	return 0;
}
