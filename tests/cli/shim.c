/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into `hone` by test_shim.py. Does to the calls of libc what a
 * kernel may do and hardly ever does:
 *
 * SHIM_CUT=PATH SHIM_AT=N SHIM_LEFT=M   call N first cuts PATH to M bytes
 * SHIM_STARVE=N        allocation N finds no memory
 * SHIM_COUNT=PATH      receives two numbers at the end: calls (with STARVE,
 *                      allocations) seen, and calls bent
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned long calls;
static unsigned long bent;

static unsigned long
setting(const char *name, unsigned long absent)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : absent;
}

static void *
next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Count a call, cut the file when its turn has come. */
static void
turn(void)
{
	const char *path = getenv("SHIM_CUT");

	if (setting("SHIM_STARVE", 0))
		return;
	calls++;
	if (path && calls == setting("SHIM_AT", 0) &&
		truncate(path, (off_t)setting("SHIM_LEFT", 0)) == 0)
		bent++;
}

/* Neither stdio, which allocates, nor the calls wrapped here. */
__attribute__((destructor)) static void
report(void)
{
	const char *path = getenv("SHIM_COUNT");
	char text[64];
	int length = snprintf(text, sizeof(text), "%lu %lu\n", calls, bent);
	int fd;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (syscall(SYS_write, fd, text, length) != length)
		abort();
	close(fd);
}

#define WRAP(name, declared, given)                                            \
	ssize_t name declared                                                  \
	{                                                                      \
		ssize_t(*real) declared =                                      \
			(ssize_t(*) declared)(size_t)next(#name);              \
		turn();                                                        \
		return real given;                                             \
	}

WRAP(read, (int fd, void *to, size_t n), (fd, to, n))
WRAP(write, (int fd, const void *of, size_t n), (fd, of, n))
WRAP(pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
WRAP(pwrite, (int fd, const void *of, size_t n, off_t at), (fd, of, n, at))
WRAP(pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
WRAP(pwrite64, (int fd, const void *of, size_t n, off64_t at), (fd, of, n, at))
WRAP(copy_file_range,
	(int in, off64_t *from, int fd, off64_t *to, size_t n, unsigned f),
	(in, from, fd, to, n, f))
WRAP(writev, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(readv, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(pwritev64, (int fd, const struct iovec *v, int n, off64_t at),
	(fd, v, n, at))
WRAP(preadv64, (int fd, const struct iovec *v, int n, off64_t at),
	(fd, v, n, at))

/* These move no bytes; they are moments at which a file may be cut. */
void *
mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	void *(*real)(void *, size_t, int, int, int, off_t) = (void *(*)(void *,
		size_t, int, int, int, off_t))(size_t)next("mmap");
	void *got = real(at, n, protection, flags, fd, offset);

	if (fd >= 0)
		turn();
	return got;
}

void *
mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t offset)
{
	return mmap(at, n, protection, flags, fd, offset);
}

off_t
lseek(int fd, off_t offset, int whence)
{
	off_t (*real)(int, off_t, int) =
		(off_t(*)(int, off_t, int))(size_t)next("lseek");

	turn();
	return real(fd, offset, whence);
}

off64_t
lseek64(int fd, off64_t offset, int whence)
{
	return lseek(fd, offset, whence);
}

int
madvise(void *at, size_t n, int advice)
{
	int (*real)(void *, size_t, int) =
		(int (*)(void *, size_t, int))(size_t)next("madvise");

	turn();
	return real(at, n, advice);
}

/* glibc's own names: dlsym() itself allocates, and would come back here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *of, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static int
starved(void)
{
	unsigned long victim = setting("SHIM_STARVE", 0);

	if (!victim)
		return 0;
	if (++calls != victim)
		return 0;
	bent++;
	errno = ENOMEM;
	return 1;
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
