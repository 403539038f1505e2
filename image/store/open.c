/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens regular files and block devices only. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "host/host.h"
#include "store/file.h"
#include "blocks/blocks.h"

/* Fails if st is neither a regular file nor a block device. */
static int
check_kind(const char *name, const struct stat *st, struct image_error *err)
{
	if (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode))
		return 0;
	return image_fail(err, name, -EINVAL,
		"is %s; an image is a regular file or a block device%s",
		S_ISDIR(st->st_mode)    ? "a directory"
		: S_ISFIFO(st->st_mode) ? "a FIFO"
		: S_ISSOCK(st->st_mode) ? "a socket"
					: "a character device",
		S_ISFIFO(st->st_mode) ? ", and '-' reads a pipe as stdin" : "");
}

/* Files that the kernel generates during a read, as in /proc, have size 0. */
static int
check_empty(int fd, const char *name, struct image_error *err)
{
	char byte;
	ssize_t n = IMAGE_RETRY(pread(fd, &byte, 1, 0));

	if (n < 0)
		return image_fail(err, name, -errno,
			"cannot be read at offset 0: %s", strerror(errno));
	if (n > 0)
		return image_fail(err, name, -EINVAL,
			"has data but its size is 0; copy the file and read "
			"the copy");
	return 0;
}

static int
open_path(const char *path, struct image_error *err)
{
	struct stat st;
	/* The path may have become a FIFO without a writer. */
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

	/* open() fails for a socket and has side effects on a tape. */
	if (stat(path, &st) == 0) {
		int rc = check_kind(path, &st, err);
		if (rc < 0)
			return rc;
		/* For a device, O_NONBLOCK may mean: open without a medium. */
		if (S_ISBLK(st.st_mode))
			flags &= ~O_NONBLOCK;
	}
	int fd = IMAGE_RETRY(open(path, flags));
	if (fd < 0)
		return image_fail(err, path, -errno, "cannot be opened: %s",
			strerror(errno));
	return fd;
}

static int
open_resolved(const char *path, const char *resolved, const char *below,
	const char *directory, struct image_error *err)
{
	/* "/" ends with the separating slash */
	size_t length = directory[1] ? strlen(directory) : 0;
	const char *part = resolved + length + 1;
	struct stat st;

	/* Both paths are canonical. */
	if (strncmp(resolved, directory, length) != 0 ||
		resolved[length] != '/')
		return image_fail(err, path, -EPERM,
			"is not below the allowed directory %s", below);
	int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return image_fail(err, below, -errno, "cannot be opened: %s",
			strerror(errno));
	int rc;
	if (fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISREG(st.st_mode)) {
		rc = image_fail(err, path, -EPERM,
			"is not a regular file; an image may refer to regular "
			"files only");
	} else {
		/* The part has no symbolic links. */
		struct open_how how = {
			.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
			.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
		};
		long fd;

		do
			fd = syscall(SYS_openat2, at, part, &how, sizeof(how));
		while (fd < 0 && (errno == EINTR || errno == EAGAIN));
		/* Linux before 5.6 and some sandboxes have no openat2(). */
		if (fd < 0 && (errno == ENOSYS || errno == EPERM))
			fd = openat(at, part, (int)how.flags);
		rc = (int)fd;
		if (rc < 0)
			rc = image_fail(err, path, -errno,
				"cannot be opened: %s", strerror(errno));
	}
	close(at);
	return rc;
}

static int
open_below(const char *path, const char *below, struct image_error *err)
{
	char *directory = realpath(below, NULL);
	char *resolved = directory ? realpath(path, NULL) : NULL;
	int rc;

	if (!directory)
		rc = image_fail(err, below, -errno, "cannot be resolved: %s",
			strerror(errno));
	else if (!resolved)
		rc = image_fail(err, path, -errno, "cannot be opened: %s",
			strerror(errno));
	else
		rc = open_resolved(path, resolved, below, directory, err);
	free(resolved);
	free(directory);
	return rc;
}

/* Takes ownership of fd, also on failure, if owns_fd. */
static int
make_store(int fd, bool owns_fd, const char *name, int access,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err)
{
	struct image_file *file = calloc(1, sizeof(*file));

	*out = NULL;
	if (file)
		file->store.name = strdup(name);
	if (!file || !file->store.name) {
		free(file);
		if (owns_fd)
			close(fd);
		return image_no_memory(err);
	}
	file->store.ops = &image_file_ops;
	file->fd = fd;
	file->owns_fd = owns_fd;
	file->drop_cache = how->drop_cache;
	pthread_mutex_init(&file->lock, NULL);
	pthread_mutex_init(&file->parts_lock, NULL);
	/* O_DIRECT applies to every read of a descriptor. */
	char path[40];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file->direct_fd =
		how->direct ? open(path, access | O_DIRECT | O_CLOEXEC) : -1;
	file->store.direct = file->direct_fd >= 0;
	file->store.parallel_writes = file->store.direct;
	/* A file that is written is a new one. */
	file->store.zeros = true;

	int rc = image_file_size(fd, name, &file->st, &file->store.size, err);
	if (rc == 0)
		rc = check_kind(name, &file->st, err);
	file->regular = rc == 0 && S_ISREG(file->st.st_mode);
	file->remembers = access == O_RDONLY;
	file->sparse = file->regular && file->remembers &&
		       (uint64_t)file->st.st_blocks < file->store.size / 512;
	file->store.device = rc == 0 && S_ISBLK(file->st.st_mode);
	if (rc == 0 && access == O_RDONLY && file->store.size == 0 &&
		file->regular)
		rc = check_empty(fd, name, err);
	if (rc < 0) {
		image_store_close(&file->store);
		return rc;
	}
	*out = &file->store;
	return 0;
}

/* Lock the store against writers; close the store on failure. */
static int
lock(struct image_store **store, struct image_error *err)
{
	char text[sizeof(err->text)];
	int rc = image_lock_shared(image_file(*store)->fd, text, sizeof(text));

	if (rc < 0) {
		image_fail(err, (*store)->name, rc, "%s", text);
		image_store_close(*store);
		*store = NULL;
	}
	return rc;
}

int
image_store_open(const char *path, const char *below,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err)
{
	*out = NULL;
	int fd = below ? open_below(path, below, err) : open_path(path, err);
	if (fd < 0)
		return fd;
	int rc = make_store(fd, true, path, O_RDONLY, how, out, err);
	return rc < 0 || how->force_share ? rc : lock(out, err);
}

int
image_store_open_stdin(const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	static const char name[] = "stdin";
	struct stat st;

	*out = NULL;
	if (fstat(STDIN_FILENO, &st) < 0)
		return image_fail(err, name, -errno, "cannot be read: %s",
			strerror(errno));
	if (S_ISDIR(st.st_mode))
		return check_kind(name, &st, err);
	if (isatty(STDIN_FILENO))
		return image_fail(err, name, -EINVAL,
			"is a terminal; an image comes from a pipe or a file");
	if ((!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) ||
		lseek(STDIN_FILENO, 0, SEEK_CUR) != 0) {
		struct image_stream *stream;
		int rc = image_stream_of_fd(
			STDIN_FILENO, false, name, &stream, err);
		return rc < 0 ? rc
			      : image_blocks_open(
					stream, how->memory, out, err);
	}
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return image_fail(err, name, -errno, "cannot be opened: %s",
			strerror(errno));
	int rc = make_store(fd, true, name, O_RDONLY, how, out, err);
	return rc < 0 || how->force_share ? rc : lock(out, err);
}

int
image_store_use(int fd, const char *name, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	return make_store(fd, how->takes_fd, name, O_RDWR, how, out, err);
}
