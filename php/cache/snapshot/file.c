/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is written completely or not at all, and is read only if no other user
 * can write it. */
#include "format.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <hone/hone.h>

#define BUFFER ((size_t)64 << 10)
#define TRIES 16

/* Opens the directory of a path. Returns the descriptor or a negative errno. */
static int
open_directory(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *directory;
	int fd;

	*name = slash != NULL ? slash + 1 : path;
	if (**name == '\0' || strcmp(*name, ".") == 0 ||
		strcmp(*name, "..") == 0)
		return -EINVAL;
	if (slash == NULL)
		directory = strdup(".");
	else
		directory = strndup(
			path, slash == path ? 1 : (size_t)(slash - path));
	if (directory == NULL)
		return -ENOMEM;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(directory);
	return fd;
}

/* rename() would also replace a device. */
static int
check_target(const struct php_hone_output *output)
{
	struct stat st;

	if (fstatat(output->dir, output->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) ? 0 : -EEXIST;
}

/* With O_EXCL, open() fails for an existing file and for a symbolic link. */
static int
create_temporary(struct php_hone_output *output)
{
	for (unsigned i = 0; i < TRIES; i++) {
		unsigned number = i;
		int n, fd;

		if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
			number = (unsigned)getpid() + i;
		n = snprintf(output->temporary, sizeof output->temporary,
			".%s.%08x", output->name, number);
		if (n < 0 || (size_t)n >= sizeof output->temporary)
			return -ENAMETOOLONG;
		fd = openat(output->dir, output->temporary,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int
php_hone_output_open(
	struct php_hone_output *output, const char *path, size_t head)
{
	int error;

	output->used = 0;
	output->size = head;
	output->fd = -1;
	output->buffer = NULL;
	output->dir = open_directory(path, &output->name);
	if (output->dir < 0)
		return output->dir;
	error = check_target(output);
	if (error == 0) {
		output->buffer = malloc(BUFFER);
		error = output->buffer != NULL ? create_temporary(output)
					       : -ENOMEM;
	}
	if (error < 0) {
		free(output->buffer);
		close(output->dir);
		return error;
	}
	output->fd = error;
	if (lseek(output->fd, (off_t)head, SEEK_SET) < 0) {
		error = -errno;
		php_hone_output_discard(output);
		return error;
	}
	return 0;
}

static int
write_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size != 0) {
		ssize_t n = write(fd, bytes, size);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

static int
flush(struct php_hone_output *output)
{
	int error = write_all(output->fd, output->buffer, output->used);

	output->used = 0;
	return error;
}

int
php_hone_output_write(
	struct php_hone_output *output, const void *bytes, size_t size)
{
	int error = 0;

	output->add(output->opaque, bytes, size);
	output->size += size;
	if (size > BUFFER - output->used)
		error = flush(output);
	if (error == 0 && size > BUFFER)
		return write_all(output->fd, bytes, size);
	if (error == 0 && size != 0) {
		memcpy(output->buffer + output->used, bytes, size);
		output->used += size;
	}
	return error;
}

static void
give_up_all(struct php_hone_output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	close(output->dir);
	free(output->buffer);
}

void
php_hone_output_discard(struct php_hone_output *output)
{
	unlinkat(output->dir, output->temporary, 0);
	give_up_all(output);
}

/* On some file systems, a failed close() reports a failed write. */
static int
complete(struct php_hone_output *output, const void *head, size_t size)
{
	int error = flush(output), fd = output->fd;

	if (error < 0)
		return error;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	error = write_all(fd, head, size);
	if (error < 0)
		return error;
	if (fsync(fd) != 0)
		return -errno;
	output->fd = -1;
	if (close(fd) != 0)
		return -errno;
	if (renameat(output->dir, output->temporary, output->dir,
		    output->name) != 0)
		return -errno;
	return 0;
}

int
php_hone_output_finish(
	struct php_hone_output *output, const void *head, size_t size)
{
	int error = complete(output, head, size);

	if (error < 0) {
		php_hone_output_discard(output);
		return error;
	}
	if (fsync(output->dir) != 0)
		error = -errno;
	give_up_all(output);
	return error;
}

/* A user who can write the file decides which bytes scripts unserialize. */
static bool
check_owner(const struct stat *st, char *problem, size_t room)
{
	if (!S_ISREG(st->st_mode)) {
		snprintf(problem, room, "it is not a regular file");
		return false;
	}
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		snprintf(problem, room,
			"its owner is %ld, not 0 or %ld, the user of this "
			"process",
			(long)st->st_uid, (long)geteuid());
		return false;
	}
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		snprintf(problem, room,
			"its mode is %03o: others may write to the file",
			(unsigned)(st->st_mode & 0777));
		return false;
	}
	return true;
}

bool
php_hone_snapshot_read(const char *path, size_t limit, void **bytes,
	size_t *size, int *error, char *problem, size_t room)
{
	/* The check and the read use one descriptor, so that the file cannot be
	 * replaced between them. O_NONBLOCK, so that open() does not wait for
	 * the writer of a FIFO. */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct hone_read_attr attr;
	struct hone_file_data data;
	struct stat st;

	*error = fd < 0 ? -errno : 0;
	if (fd < 0 || fstat(fd, &st) != 0) {
		if (fd >= 0)
			*error = -errno;
	} else if (!check_owner(&st, problem, room)) {
		close(fd);
		return false;
	} else {
		hone_read_attr_init(&attr);
		attr.limit = limit;
		attr.flags = HONE_READ_HUGE_ADVISE;
		*error = hone_read_fd(&data, fd, &attr);
	}
	if (fd >= 0)
		close(fd);
	if (*error == 0) {
		*bytes = data.data;
		*size = data.size;
		return true;
	}
	if (*error == -EFBIG)
		snprintf(problem, room,
			"size is %lld bytes, more than four times the size of "
			"the cache",
			(long long)st.st_size);
	else if (*error == -ELOOP)
		snprintf(problem, room, "it is a symbolic link");
	else
		snprintf(problem, room, "%s", strerror(-*error));
	return false;
}
