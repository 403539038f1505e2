/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new folder: the file without a name becomes the first of its files. The
 * folder has a temporary name until all of them are synced, with signals
 * blocked, so that only a crash leaves it behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output/output.h"

static const char *const inside[] = {"blobs", "blobs/sha256"};

void
output_remove_folder(const struct output *output, const char *name)
{
	int fd = openat(output->directory, name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* Without a descriptor, these calls fail. */
	for (int i = 0; i < IMAGE_LAYOUT_FILES; i++)
		unlinkat(fd, output->layout->files[i].name, 0);
	unlinkat(fd, inside[1], AT_REMOVEDIR);
	unlinkat(fd, inside[0], AT_REMOVEDIR);
	close(fd);
	unlinkat(output->directory, name, AT_REMOVEDIR);
}

/* Give the new file, which may have a name, its name in the folder. */
static int
move_in(struct output *output, int folder, const char *file)
{
	const char *name = output->layout->files[0].name;

	int rc = file ? renameat(output->directory, file, folder, name)
		      : output_link(output->fd, folder, name);
	if (rc < 0)
		return -1;
	signals_remove(-1, NULL);
	output->named = false;
	/* Linux closes the descriptor even if close() returns EINTR. */
	rc = close(output->fd);
	output->fd = -1;
	return rc < 0 && errno != EINTR ? -1 : 0;
}

static int
put_file(int folder, const struct image_layout_file *file)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	size_t length = strlen(file->text);
	int fd = openat(folder, file->name, flags, 0666);

	if (fd < 0)
		return -1;
	ssize_t n = write(fd, file->text, length);
	if (n >= 0 && (size_t)n < length)
		errno = ENOSPC;
	int rc = n == (ssize_t)length ? output_sync(fd) : -1;
	int code = errno;
	if (close(fd) < 0 && rc == 0 && errno != EINTR)
		return -1;
	errno = code;
	return rc;
}

static int
sync_folder(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : output_sync(fd);
	int code = errno;

	if (fd >= 0)
		close(fd);
	errno = code;
	/* Some file systems cannot sync a directory. */
	return rc < 0 && (code == EINVAL || code == EROFS) ? 0 : rc;
}

static int
fill(struct output *output, int folder, const char *file)
{
	int rc = mkdirat(folder, inside[0], 0777);

	if (rc == 0)
		rc = mkdirat(folder, inside[1], 0777);
	if (rc == 0)
		rc = move_in(output, folder, file);
	for (int i = 1; rc == 0 && i < IMAGE_LAYOUT_FILES; i++)
		rc = put_file(folder, &output->layout->files[i]);
	if (rc == 0)
		rc = sync_folder(folder, inside[1]);
	if (rc == 0)
		rc = sync_folder(folder, inside[0]);
	return rc == 0 ? sync_folder(folder, ".") : rc;
}

/* Make the folder, fill it, and give it its name. Returns -1 with errno. */
static int
publish(struct output *output, const char *file)
{
	int at = output->directory;

	if (output_draw_name(output) < 0 ||
		mkdirat(at, output->temporary, 0777) < 0)
		return -1;
	int folder = openat(at, output->temporary,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = folder < 0 ? -1 : fill(output, folder, file);
	if (rc == 0)
		rc = output_rename(output);
	int code = errno;
	if (folder >= 0)
		close(folder);
	if (rc < 0)
		output_remove_folder(output, output->temporary);
	errno = code;
	return rc;
}

int
output_publish_folder(struct output *output)
{
	char *file = output->temporary;
	sigset_t all, old;

	/* of the folder from now on */
	output->temporary = NULL;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	int rc = publish(output, file);
	int code = errno;
	free(output->temporary);
	output->temporary = file;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		return 0;
	if (code == EEXIST)
		return output_refuse(output, OUTPUT_FOLDER_EXISTS);
	return output_refuse(output, "cannot be created: %s", strerror(code));
}
