/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The destination of the output: a directory, opened once, and a name in the
 * directory. Later calls use the descriptor, so that no temporary file stays in
 * a directory that was renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output/output.h"

/*
 * Resolve a link of /proc, such as the end of /dev/stdout, by its text: a new
 * file needs a directory. The text has to lead to the same file.
 */
static int
resolve_magic(
	struct output *output, struct image_path *path, struct image_error *err)
{
	struct stat opened = path->st;
	char text[PATH_MAX];

	ssize_t n =
		readlinkat(path->directory, path->name, text, sizeof(text) - 1);
	image_path_close(path);
	text[n < 0 ? 0 : n] = '\0';
	if (text[0] == '/' && image_path_find(text, path, err) == 0 &&
		path->fd >= 0 && path->st.st_dev == opened.st_dev &&
		path->st.st_ino == opened.st_ino) {
		path->is_link = true;
		return 0;
	}
	return output_refuse(output,
		"is a link to something that is not a file; '-' is the "
		"standard output");
}

static int
find(struct output *output, const char *name, struct image_path *path)
{
	struct image_error err;

	if (image_path_find(name, path, &err) < 0)
		return output_refuse(output, "%s", err.text);
	return path->is_magic ? resolve_magic(output, path, &err) : 0;
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
