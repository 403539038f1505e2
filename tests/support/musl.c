/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests call by the names that glibc has for large files, and musl has
 * not. The linker replaces lseek() and the others by functions of the test,
 * which call these: these make the system calls.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

off_t lseek64(int fd, off_t offset, int whence);
int open64(const char *path, int flags, ...);
int openat64(int dirfd, const char *path, int flags, ...);
int fstat64(int fd, struct stat *st);
int fstatat64(int dirfd, const char *path, struct stat *st, int flags);
int fallocate64(int fd, int mode, off_t offset, off_t length);

off_t
lseek64(int fd, off_t offset, int whence)
{
	return syscall(SYS_lseek, fd, offset, whence);
}

/* No test creates a file by it. */
int
openat64(int dirfd, const char *path, int flags, ...)
{
	return (int)syscall(SYS_openat, dirfd, path, flags, 0);
}

int
open64(const char *path, int flags, ...)
{
	return openat64(AT_FDCWD, path, flags);
}

/* Here, struct stat of musl is that of the kernel: with 64 bits. */
int
fstatat64(int dirfd, const char *path, struct stat *st, int flags)
{
	return (int)syscall(SYS_newfstatat, dirfd, path, st, flags);
}

int
fstat64(int fd, struct stat *st)
{
	return fstatat64(fd, "", st, AT_EMPTY_PATH);
}

int
fallocate64(int fd, int mode, off_t offset, off_t length)
{
	return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}
