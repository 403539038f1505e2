/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The destination of the output: a directory, opened once, and a name in the
 * directory. Later calls use the descriptor, so that no temporary file stays in
 * a directory that was renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output/output.h"

/* A new file needs a directory, which a link of /proc does not have. */
static int
find(struct output *output, const char *name, struct image_path *path)
{
	struct image_error err;

	if (image_path_find(name, path, &err) < 0)
		return output_refuse(output, "%s", err.text);
	return path->is_magic
		       ? output_refuse(output,
				 "is a link to an open file: use '-' for "
				 "stdout, or -n for a file or block device")
		       : 0;
}

/*
 * Set what leads to the directory: the folder's "." or, if the user's path is a
 * link, the link.
 */
static int
set_folder(struct output *output, const char *name, bool is_link)
{
	const char *slash = strrchr(name, '/');
	int length = is_link ? (int)strlen(name)
		     : slash ? (int)(slash + 1 - name)
			     : 0;

	if (asprintf(&output->folder, "%.*s%s", length, name,
		    is_link ? "" : ".") >= 0)
		return 0;
	output->folder = NULL;
	return output_refuse(output, "out of memory");
}

/* The directory may allow creation of files but not reading. */
static int
open_directory(struct output *output, struct image_path *path)
{
	output->directory = openat(
		path->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	output->may_sync = output->directory >= 0;
	if (output->directory >= 0)
		return 0;
	if (errno != EACCES)
		return output_refuse(output,
			"its directory cannot be opened: %s", strerror(errno));
	output->directory = path->directory;
	path->directory = -1;
	return 0;
}

bool
output_is_of_devices(const char *folder)
{
	char *real = realpath(folder, NULL);
	bool found =
		real &&
		(strcmp(real, "/dev") == 0 || strncmp(real, "/dev/", 5) == 0) &&
		strcmp(real, "/dev/shm") != 0 &&
		strncmp(real, "/dev/shm/", 9) != 0;

	free(real);
	return found;
}

static int
check_name(struct output *output, const struct image_path *path)
{
	if (!*path->name)
		return output_refuse(output, "is not the name of a file");
	/* A file there would take memory, and be gone at the next start. */
	if (path->fd < 0 && output_is_of_devices(output->folder))
		return output_refuse(
			output, "does not exist; hone makes no file in /dev");
	return 0;
}

int
output_find_place(struct output *output, const char *name)
{
	struct image_path path;

	int rc = find(output, name, &path);
	if (rc == 0)
		rc = set_folder(output, name, path.is_link);
	if (rc == 0)
		rc = check_name(output, &path);
	if (rc == 0)
		rc = open_directory(output, &path);
	if (rc == 0) {
		output->name = path.name;
		path.name = NULL;
	}
	image_path_close(&path);
	return rc;
}

int
output_check_place(struct output *output)
{
	struct image_path path;
	struct stat named, opened;

	int rc = find(output, output->folder, &path);
	bool is_same = rc == 0 && fstat(path.directory, &named) == 0 &&
		       fstat(output->directory, &opened) == 0 &&
		       named.st_dev == opened.st_dev &&
		       named.st_ino == opened.st_ino;

	image_path_close(&path);
	if (rc < 0 || is_same)
		return rc;
	return output_refuse(
		output, "its directory was moved while the image was written");
}

/* Whether an existing file may be replaced. */

uint64_t
output_attributes(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, 0, &st) < 0)
		return 0;
	return st.stx_attributes & st.stx_attributes_mask;
}

static int
refuse_kind(struct output *output, mode_t mode)
{
	const char *kind = "is not a regular file";

	if (S_ISDIR(mode))
		kind = "is a directory";
	if (S_ISLNK(mode))
		kind = "has become a symbolic link";
	return output_refuse(
		output, "%s; only a regular file can be replaced", kind);
}

/* Without O_NONBLOCK, open() would wait for a lease of another process. */
static int
open_old(struct output *output)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	struct old *old = &output->old;

	do
		old->fd = openat(output->directory, output->name, flags);
	while (old->fd < 0 && errno == EINTR);
	old->readable = old->fd >= 0;
	if (old->fd < 0 && errno == EACCES)
		old->fd = openat(output->directory, output->name,
			O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (old->fd < 0 && errno == EWOULDBLOCK)
		return output_refuse(output, "is in use by another process");
	if (old->fd < 0 || fstat(old->fd, &old->st) < 0)
		return output_refuse(
			output, "cannot be opened: %s", strerror(errno));
	if (!S_ISREG(old->st.st_mode))
		return refuse_kind(output, old->st.st_mode);
	return 0;
}

/*
 * In a sticky directory such as /tmp, the kernel lets only the owner of a file
 * or of the directory replace the file. Root may replace any file, and would
 * give the output to the user who created that file. So refuse such a file, as
 * fs.protected_regular does.
 */
static int
check_sticky(struct output *output)
{
	struct stat directory;
	uid_t me = geteuid(), owner = output->old.st.st_uid;

	if (fstat(output->directory, &directory) < 0)
		return output_refuse(output,
			"its directory cannot be examined: %s",
			strerror(errno));
	if (!(directory.st_mode & S_ISVTX) || owner == me)
		return 0;
	bool may = me == 0 || me == directory.st_uid;
	bool open_to_others = directory.st_mode & (S_IWGRP | S_IWOTH);
	if (may && (!open_to_others || owner == directory.st_uid))
		return 0;
	return output_refuse(output,
		"belongs to another user (%u) in a sticky directory; only your "
		"own files can be replaced there",
		(unsigned)owner);
}

static int
check_attributes(struct output *output)
{
	uint64_t file = output_attributes(output->old.fd);

	if (file & STATX_ATTR_IMMUTABLE)
		return output_refuse(
			output, "is immutable and cannot be replaced");
	if (file & STATX_ATTR_APPEND)
		return output_refuse(
			output, "is append-only and cannot be replaced");
	if (output_attributes(output->directory) & STATX_ATTR_APPEND)
		return output_refuse(output, "its directory is append-only: no "
					     "file there can be replaced");
	return 0;
}

int
output_judge(struct output *output)
{
	struct stat st;

	if (output->old.fd >= 0)
		close(output->old.fd);
	output->old.fd = -1;
	if (output->how.folder &&
		(output_attributes(output->directory) & STATX_ATTR_APPEND))
		return output_refuse(output,
			"its directory is append-only, and a folder needs a "
			"temporary name");
	if (fstatat(output->directory, output->name, &st, AT_SYMLINK_NOFOLLOW) <
		0)
		return errno == ENOENT
			       ? 0
			       : output_refuse(output, "cannot be created: %s",
					 strerror(errno));
	if (output->how.folder)
		return output_refuse(output, OUTPUT_FOLDER_EXISTS);
	/* Before open(), which has side effects on some devices. */
	if (!S_ISREG(st.st_mode))
		return refuse_kind(output, st.st_mode);
	if (open_old(output) < 0)
		return -1;
	if (image_source_uses(output->how.source, output->old.fd))
		return output_refuse(output,
			"is the source itself; choose another name for DST");
	if (!output->how.force)
		return output_refuse(
			output, "already exists; --force replaces it");
	if (check_sticky(output) < 0 || check_attributes(output) < 0)
		return -1;
	/* A file that may not be read cannot be locked for reading. */
	if (!output->old.readable)
		return 0;
	return image_lock_exclusive(
		       output->old.fd, output->text, sizeof(output->text)) < 0
		       ? -1
		       : 0;
}

bool
output_judged(const struct output *output)
{
	const struct stat *old = &output->old.st;
	struct stat now;

	if (fstatat(output->directory, output->name, &now,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return output->old.fd < 0 && errno == ENOENT;
	return output->old.fd >= 0 && now.st_dev == old->st_dev &&
	       now.st_ino == old->st_ino &&
	       now.st_ctim.tv_sec == old->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == old->st_ctim.tv_nsec;
}
