/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: a copy_file_range() that does not copy everything, as on some
 * systems. COPY_FAULT is the most that one call copies; if it is negative, the
 * negative errno of the call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t
copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t len,
	unsigned flags)
{
	long most = atol(getenv("COPY_FAULT"));

	if (most < 0) {
		errno = (int)-most;
		return -1;
	}
	if (len > (size_t)most)
		len = (size_t)most;
	return syscall(
		SYS_copy_file_range, from, from_at, to, to_at, len, flags);
}

/* PHP loads its modules so that they search their own libraries first: without
 * this they would not find the function above. */
void *
dlopen(const char *name, int flags)
{
	void *(*next)(const char *, int) = NULL;

	*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next(name, flags & ~RTLD_DEEPBIND);
}
