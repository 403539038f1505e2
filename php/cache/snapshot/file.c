/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is written completely or not at all, and is read only if no other user
 * can write it. */
#include "format.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <hone/hone.h>

#define BUFFER ((size_t)64 << 10)
#define SAY(...) snprintf(problem, PHP_HONE_PROBLEM, __VA_ARGS__)

/* rename() would also replace a device. */
static int
check_target(const struct php_hone_output *output)
{
	struct stat st;

	if (fstatat(output->folder, output->name, &st, AT_SYMLINK_NOFOLLOW) !=
		0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) ? 0 : -EEXIST;
}

static int
create_temporary(struct php_hone_output *output, size_t head)
{
	struct timespec now;
	uint32_t number;
	int error, fd;

	/* A filter of system calls may refuse it. O_EXCL checks the number. */
	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		number = (uint32_t)now.tv_nsec;
	}
	if ((size_t)snprintf(output->temporary, sizeof output->temporary,
		    ".%s.%08" PRIx32, output->name,
		    number) >= sizeof output->temporary)
		return -ENAMETOOLONG;
	fd = openat(output->folder, output->temporary,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	output->file = fdopen(fd, "w");
	if (output->file != NULL &&
		setvbuf(output->file, output->buffer, _IOFBF, BUFFER) == 0 &&
		fseeko(output->file, (off_t)head, SEEK_SET) == 0)
		return 0;
	error = -errno;
	if (output->file == NULL)
		close(fd);
	unlinkat(output->folder, output->temporary, 0);
	return error;
}

static int
close_all(struct php_hone_output *output, int error)
{
	if (output->file != NULL)
		fclose(output->file);
	free(output->buffer);
	if (output->folder >= 0)
		close(output->folder);
	return error;
}

int
php_hone_output_open(
	struct php_hone_output *output, const char *path, size_t head)
{
	const char *name = strrchr(path, '/') + 1;
	char *folder;
	int error;

	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EINVAL;
	output->name = name;
	output->size = head;
	output->file = NULL;
	output->folder = -1;
	folder = strndup(path, (size_t)(name - path));
	output->buffer = malloc(BUFFER);
	if (folder != NULL && output->buffer != NULL)
		output->folder =
			open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = output->folder < 0 ? -errno : check_target(output);
	free(folder);
	if (error == 0)
		error = create_temporary(output, head);
	return error < 0 ? close_all(output, error) : 0;
}

/* If a file system returns EINTR, the save fails, and the earlier file stays.
 */
int
php_hone_output_write(
	struct php_hone_output *output, const void *bytes, size_t size)
{
	output->size += size;
	return fwrite(bytes, 1, size, output->file) == size ? 0 : -errno;
}

void
php_hone_output_discard(struct php_hone_output *output)
{
	unlinkat(output->folder, output->temporary, 0);
	close_all(output, 0);
}

/* On some file systems, a failed close() reports a failed write. */
static bool
complete(struct php_hone_output *output, const void *head, size_t size)
{
	FILE *file = output->file;

	if (fseeko(file, 0, SEEK_SET) != 0 ||
		fwrite(head, 1, size, file) != size || fflush(file) != 0 ||
		fsync(fileno(file)) != 0)
		return false;
	output->file = NULL;
	return fclose(file) == 0 && renameat(output->folder, output->temporary,
					    output->folder, output->name) == 0;
}

int
php_hone_output_finish(
	struct php_hone_output *output, const void *head, size_t size)
{
	int error;

	if (!complete(output, head, size)) {
		error = -errno;
		php_hone_output_discard(output);
		return error;
	}
	return close_all(output, fsync(output->folder) != 0 ? -errno : 0);
}

/* A user who can write the file decides which bytes scripts unserialize. */
static bool
check_owner(const struct stat *st, char *problem)
{
	if (!S_ISREG(st->st_mode))
		SAY("it is not a regular file");
	else if (st->st_uid != 0 && st->st_uid != geteuid())
		SAY("its owner is %ld, not 0 or %ld, the user of this "
		    "process",
			(long)st->st_uid, (long)geteuid());
	else if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		SAY("its mode is %03o: others may write to the file",
			(unsigned)(st->st_mode & 0777));
	else
		return true;
	return false;
}

int
php_hone_snapshot_read(const char *path, size_t limit,
	struct hone_file_data *data, char *problem)
{
	/* The check and the read use one descriptor, so that the file cannot be
	 * replaced between them. O_NONBLOCK, so that open() does not wait for
	 * the writer of a FIFO. */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int error = -EPERM;
	struct hone_read_attr attr;
	struct stat st;

	hone_read_attr_init(&attr);
	attr.limit = limit;
	attr.flags = HONE_READ_HUGE_ADVISE;
	*problem = '\0';
	if (fd < 0 || fstat(fd, &st) != 0)
		error = -errno;
	else if (check_owner(&st, problem))
		error = hone_read_fd(data, fd, &attr);
	if (fd >= 0)
		close(fd);
	if (error == -EFBIG)
		SAY("size is %lld bytes, more than four times the size of "
		    "the cache",
			(long long)st.st_size);
	else if (error == -ELOOP)
		SAY("it is a symbolic link");
	else if (error != 0 && *problem == '\0')
		SAY("%s", strerror(-error));
	return error;
}
