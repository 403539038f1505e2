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

static int
open_directory(struct output *output)
{
	output->directory =
		open(output->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	output->may_sync = output->directory >= 0;
	/* The directory may allow creation of files but not reading. */
	if (output->directory < 0 && errno == EACCES)
		output->directory =
			open(output->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (output->directory < 0)
		return output_refuse(output,
			"its directory cannot be opened: %s", strerror(errno));
	return 0;
}

/* Split a path, which must not be output->folder or output->name. */
static int
set_place(struct output *output, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	free(output->folder);
	free(output->name);
	output->folder =
		slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	output->name = strdup(name);
	if (!output->folder || !output->name)
		return output_refuse(output, "out of memory");
	if (output->directory >= 0)
		close(output->directory);
	return open_directory(output);
}

/*
 * A link that another user created in /tmp would replace a file of that user's
 * choice. The kernel refuses such a link only if fs.protected_symlinks is set.
 */
static bool
planted(const struct output *output, const struct stat *link)
{
	struct stat st;

	return fstat(output->directory, &st) < 0 ||
	       ((st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH) &&
		       link->st_uid != geteuid() && link->st_uid != st.st_uid);
}

/* errno has the reason why the link could not be followed. */
static int
refuse_link(struct output *output)
{
	struct stat st;

	if (errno == ENOENT &&
		fstatat(output->directory, output->name, &st, 0) == 0)
		return output_refuse(output,
			"is a link to what is no file; '-' is the standard "
			"output");
	if (errno == ENOENT || errno == ELOOP)
		return output_refuse(output, "is a broken symbolic link");
	return output_refuse(output, "cannot be resolved: %s", strerror(errno));
}

/* Returns whether the directory is one of devices. /dev/shm has files. */
static bool
has_devices(const struct output *output)
{
	char *folder = realpath(output->folder, NULL);
	bool found = folder &&
		     (strcmp(folder, "/dev") == 0 ||
			     strncmp(folder, "/dev/", 5) == 0) &&
		     strcmp(folder, "/dev/shm") != 0 &&
		     strncmp(folder, "/dev/shm/", 9) != 0;

	free(folder);
	return found;
}

/* A name that is no link. */
static int
check_name(struct output *output)
{
	if (!*output->name)
		return output_refuse(output, "is not the name of a file");
	/* A file there would take memory, and be gone at the next start. */
	if (has_devices(output) &&
		faccessat(output->directory, output->name, F_OK, 0) < 0)
		return output_refuse(output,
			"does not exist, and no file is made among devices");
	return 0;
}

int
output_find_place(struct output *output, const char *name)
{
	struct stat st;

	int rc = set_place(output, name);
	if (rc < 0)
		return rc;
	if (fstatat(output->directory, output->name, &st, AT_SYMLINK_NOFOLLOW) <
			0 ||
		!S_ISLNK(st.st_mode))
		return check_name(output);
	if (planted(output, &st))
		return output_refuse(output,
			"is a symbolic link of another user in a sticky "
			"directory");
	char *resolved = realpath(name, NULL);
	if (!resolved)
		return refuse_link(output);
	rc = set_place(output, resolved);
	free(resolved);
	return rc;
}

int
output_check_place(struct output *output)
{
	struct stat named, opened;

	if (stat(output->folder, &named) < 0 ||
		fstat(output->directory, &opened) < 0)
		return output_refuse(output,
			"its directory cannot be found again: %s",
			strerror(errno));
	if (named.st_dev == opened.st_dev && named.st_ino == opened.st_ino)
		return 0;
	return output_refuse(
		output, "its directory was moved while the image was written");
}
