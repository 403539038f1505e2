/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that gets its name only when it is complete. An error or a signal
 * before that leaves no file. A failure that is predictable is reported at the
 * beginning.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output/output.h"

int
output_begin(
	struct output *output, const char *name, const struct output_how *how)
{
	*output = (struct output){
		.fd = -1, .directory = -1, .old.fd = -1, .how = *how};

	signals_catch();
	/* Ignored, so that write() past the file size limit returns EFBIG. */
	signal(SIGXFSZ, SIG_IGN);

	int rc = output_find_place(output, name);
	if (rc == 0)
		rc = output_judge(output);
	if (rc == 0)
		rc = output_make(output);
	if (rc == 0)
		rc = output_inherit(output);
	if (rc < 0)
		output_abandon(output);
	return rc;
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
output_discard(struct output *output)
{
	if (output->named)
		unlinkat(output->directory, output->temporary, 0);
	signals_remove(-1, NULL);
	output->named = false;
	close_fd(&output->fd);
}

void
output_abandon(struct output *output)
{
	output_discard(output);
	close_fd(&output->old.fd);
	close_fd(&output->directory);
	free(output->temporary);
	free(output->folder);
	free(output->name);
	output->temporary = output->folder = output->name = NULL;
}

int
output_sync(int fd)
{
	int rc;

	do
		rc = fsync(fd);
	while (rc < 0 && errno == EINTR);
	return rc;
}

/* The name may belong to another file than at the beginning. */
static int
judge_again(struct output *output)
{
	if (!output->how.force || output_judged(output))
		return 0;
	if (output_judge(output) < 0 || output_inherit(output) < 0)
		return -1;
	if (output_sync(output->fd) < 0)
		return output_refuse(output, "cannot be synced to disk: %s",
			strerror(errno));
	return 0;
}

static int
sync_directory(struct output *output)
{
	/* Some file systems cannot sync a directory. */
	if (!output->may_sync || output_sync(output->directory) == 0 ||
		errno == EINVAL || errno == EROFS)
		return 0;
	int code = errno;
	/* A replaced file is lost, but a new file can be removed. */
	if (output->how.folder)
		output_remove_folder(output, output->name);
	else if (!output->how.force)
		unlinkat(output->directory, output->name, 0);
	return output_refuse(
		output, "its directory cannot be synced: %s", strerror(code));
}

/*
 * Called after the last close(), because XFS then frees the blocks that it had
 * allocated past the end of the file.
 */
static void
measure(struct output *output)
{
	bool folder = output->how.folder;
	char path[NAME_MAX + IMAGE_LAYOUT_NAME + 2];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s%s", output->name, folder ? "/" : "",
		folder ? output->layout->files[0].name : "");
	if (fstatat(output->directory, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	output->usage.file_size = (uint64_t)st.st_size;
	output->usage.disk_usage = (uint64_t)st.st_blocks * 512;
}

int
output_commit(struct output *output)
{
	int rc = output_check_place(output);

	if (rc == 0)
		rc = judge_again(output);
	if (rc == 0)
		rc = output->how.folder ? output_publish_folder(output)
					: output_publish(output);
	if (rc == 0)
		rc = sync_directory(output);
	if (rc == 0)
		measure(output);
	output_abandon(output);
	return rc;
}
