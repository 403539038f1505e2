/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that gets its name only when it is complete. An error or a signal
 * before that leaves no file. A failure that is predictable is reported at the
 * beginning.
 *
 * The new file has no name until then (O_TMPFILE), so that no file is left
 * however the process ends. Without O_TMPFILE in the file system, the file has
 * a temporary name, which is removed after an error or a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output/output.h"

#define ENDING ".hone-"
#define RANDOM 6
/* A limit as in mkostemp(3). 100 is more than enough for random names. */
#define ATTEMPTS 100

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
discard(struct output *output)
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
	discard(output);
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

int
output_draw_name(struct output *output)
{
	static const char digits[32] = "abcdefghijklmnopqrstuvwxyz234567";
	long limit = fpathconf(output->directory, _PC_NAME_MAX);
	size_t room = (size_t)(limit > 0 ? limit : NAME_MAX) - 1 -
		      strlen(ENDING) - RANDOM;
	size_t length = strlen(output->name);
	char random[RANDOM + 1] = "";
	uint64_t bits;

	if (length > room)
		length = room;
	/* Some file systems refuse a part of a UTF-8 sequence. */
	while (length && (output->name[length] & 0xc0) == 0x80)
		length--;
	/* The name must be free, not secret: nothing waits for entropy. */
	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) < 0)
		bits = cli_now_ns();
	for (int i = 0; i < RANDOM; i++)
		random[i] = digits[bits >> (5 * i) & 31];
	free(output->temporary);
	if (asprintf(&output->temporary, ".%.*s" ENDING "%s", (int)length,
		    output->name, random) < 0) {
		output->temporary = NULL;
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

const char *
output_path(char path[OUTPUT_PATH_TEXT], int fd)
{
	snprintf(path, OUTPUT_PATH_TEXT, "/proc/self/fd/%d", fd);
	return path;
}

int
output_link(int fd, int directory, const char *name)
{
	return linkat(
		AT_FDCWD, OUTPUT_PATH(fd), directory, name, AT_SYMLINK_FOLLOW);
}

/*
 * Create an empty file under the temporary name if fd is -1; otherwise link the
 * file of fd.
 */
static int
make_name(struct output *output, int fd, mode_t mode)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

	return fd < 0 ? openat(output->directory, output->temporary, flags,
				mode)
		      : output_link(fd, output->directory, output->temporary);
}

/* Returns the result of make_name(), or -1 with errno. */
static int
take_name(struct output *output, int fd, mode_t mode)
{
	sigset_t all, old;
	int code = EEXIST, rc = -1;

	sigfillset(&all);
	for (int i = 0; i < ATTEMPTS && rc < 0 && code == EEXIST; i++) {
		if (output_draw_name(output) < 0)
			return -1;
		/* No signal may arrive between the creation and
		 * signals_remove(). */
		sigprocmask(SIG_BLOCK, &all, &old);
		rc = make_name(output, fd, mode);
		code = errno;
		output->named = rc >= 0;
		if (rc >= 0)
			signals_remove(output->directory, output->temporary);
		sigprocmask(SIG_SETMASK, &old, NULL);
	}
	errno = code;
	return rc;
}

/* linkat() needs /proc to find a file without a name. */
static bool
can_be_linked(int fd)
{
	struct stat named, opened;

	return stat(OUTPUT_PATH(fd), &named) == 0 && fstat(fd, &opened) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/*
 * Returns -1 if the file system has no such files, and if the new file may get
 * the owner of the old one: the kernel lets only the owner of a file link it
 * (fs.protected_hardlinks).
 */
static int
make_nameless(const struct output *output, mode_t mode)
{
	const int flags = O_TMPFILE | O_RDWR | O_CLOEXEC;

	if (geteuid() != 0 && output->old.fd >= 0 &&
		output->old.st.st_uid != geteuid())
		return -1;
	int fd = openat(output->directory, ".", flags, mode);
	if (fd >= 0 && !can_be_linked(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int
make(struct output *output, mode_t mode)
{
	uint64_t directory = output_attributes(output->directory);

	if (directory & STATX_ATTR_IMMUTABLE)
		return output_refuse(output, "its directory is immutable");
	output->fd = make_nameless(output, mode);
	if (output->fd >= 0)
		return 0;
	if (directory & STATX_ATTR_APPEND)
		return output_refuse(output,
			"its directory is append-only, and its file system "
			"needs a temporary name");
	output->fd = take_name(output, -1, mode);
	if (output->fd < 0)
		return output_refuse(
			output, "cannot be created: %s", strerror(errno));
	return 0;
}

/*
 * A new file gets the permissions of the source, restricted by the umask or by
 * the default ACL of the directory. A file that replaces another one is private
 * until output_inherit(). Whoever may open the file when it is empty may read
 * it later: it never has more permissions than in the end.
 */
static int
make_file(struct output *output)
{
	struct stat st;

	if (output->old.fd >= 0)
		return make(output, 0600);
	gid_t group = output_group(output);
	int rc = make(output, output_mode(output, group));
	if (rc < 0)
		return rc;
	if (fstat(output->fd, &st) < 0)
		return output_refuse(output, "its group cannot be read: %s",
			strerror(errno));
	/* The mount option grpid gives the file the group of the directory. */
	if (st.st_gid == group)
		return 0;
	discard(output);
	return make(output, output_mode(output, st.st_gid));
}

int
output_rename(const struct output *output)
{
	int at = output->directory;
	struct stat st;

	if (output->how.force)
		return renameat(at, output->temporary, at, output->name);
	if (renameat2(at, output->temporary, at, output->name,
		    RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EPERM)
		return -1;
	/* Older NFS and other file systems lack renameat2(). linkat() does not
	 * replace a file either. */
	if (linkat(at, output->temporary, at, output->name, 0) == 0) {
		unlinkat(at, output->temporary, 0);
		return 0;
	}
	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS &&
		errno != EMLINK)
		return -1;
	/*
	 * FAT and many FUSE file systems have neither call. A file that appears
	 * under the name between the next two calls is replaced, which cannot
	 * be detected.
	 */
	if (fstatat(at, output->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	if (errno != ENOENT)
		return -1;
	return renameat(at, output->temporary, at, output->name);
}

/* linkat() never replaces a file: a replacement needs a temporary name. */
static int
link_over(struct output *output, int fd)
{
	if (output_link(fd, output->directory, output->name) == 0)
		return 0;
	if (errno != EEXIST || !output->how.force)
		return -1;
	return take_name(output, fd, 0) < 0 ? -1 : output_rename(output);
}

/*
 * A file without a name must be open when it is linked. A second descriptor
 * stays open, so that an error of close() of the first is reported before.
 */
static int
publish(struct output *output)
{
	int again = -1;

	if (!output->named) {
		again = fcntl(output->fd, F_DUPFD_CLOEXEC, 0);
		if (again < 0)
			return output_refuse(output,
				"its descriptor cannot be duplicated: %s",
				strerror(errno));
	}
	/* Linux closes the descriptor even if close() returns EINTR. */
	int rc = close(output->fd);
	output->fd = -1;
	if (rc < 0 && errno != EINTR) {
		output_refuse(output, "cannot be closed: %s", strerror(errno));
		if (again >= 0)
			close(again);
		return -1;
	}
	rc = output->named ? output_rename(output) : link_over(output, again);
	int code = errno;
	if (again >= 0)
		close(again);
	if (rc == 0) {
		/* Before this line, a signal tries to remove a name that no
		 * longer exists. */
		signals_remove(-1, NULL);
		output->named = false;
		return 0;
	}
	if (code == EEXIST)
		return output_refuse(
			output, "already exists; --force replaces it");
	return output_refuse(output,
		"cannot be renamed or linked to its final name: %s",
		strerror(code));
}

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
		rc = make_file(output);
	if (rc == 0)
		rc = output_inherit(output);
	if (rc < 0)
		output_abandon(output);
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
					: publish(output);
	if (rc == 0)
		rc = sync_directory(output);
	if (rc == 0)
		measure(output);
	output_abandon(output);
	return rc;
}
