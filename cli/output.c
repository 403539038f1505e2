/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output is written under a temporary name in the same directory and
 * renamed when it is complete. Whatever happens before, an error or a signal,
 * removes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"

#define TEMPORARY_ENDING ".hone-XXXXXX"

/* Those that end a process unless it says otherwise, crashes left out. */
static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGALRM,
	SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF};
#define N_DEADLY (sizeof(deadly) / sizeof(deadly[0]))

/* What a signal has to remove. */
static _Atomic(const char *) doomed;

static void
on_deadly_signal(int signal_number)
{
	const char *path = doomed;
	if (path)
		unlink(path);
	/* SA_RESETHAND: the second time it kills, with the right status. */
	raise(signal_number);
}

static void
catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_deadly_signal};
	struct sigaction old;

	action.sa_flags = (int)SA_RESETHAND;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < N_DEADLY; i++) {
		/* nohup and the like mean that it is to be ignored */
		if (sigaction(deadly[i], NULL, &old) == 0 &&
			old.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
	}
	/* Past the limit on file size, write() shall say EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
}

__attribute__((format(printf, 2, 3))) static int
refuse(struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(output->text, sizeof(output->text), format, args);
	va_end(args);
	return -1;
}

static bool
same_file(const struct stat *st, int fd)
{
	struct stat other;
	return fstat(fd, &other) == 0 && st->st_dev == other.st_dev &&
	       st->st_ino == other.st_ino;
}

/* errno tells why a link could not be followed. */
static int
refuse_link(struct output *output)
{
	if (errno == ENOENT || errno == ELOOP)
		return refuse(output, "is a symbolic link that leads nowhere");
	return refuse(output, "cannot be resolved: %s", strerror(errno));
}

/* What a new file gets from the one that it replaces. */
struct heritage {
	mode_t mode;
	/* -1 if there is none to replace */
	uid_t owner;
	gid_t group;
};

/* May what stands under that name be replaced? Sets path and heritage. */
static int
check_existing(struct output *output, const char *name, int source_fd,
	struct heritage *heritage)
{
	struct stat st;

	if (lstat(name, &st) < 0) {
		if (errno != ENOENT)
			return refuse(output, "cannot be created: %s",
				strerror(errno));
		mode_t mask = umask(0);
		umask(mask);
		*heritage =
			(struct heritage){0666 & ~mask, (uid_t)-1, (gid_t)-1};
		output->path = strdup(name);
		return output->path ? 0 : refuse(output, "out of memory");
	}
	output->path = realpath(name, NULL);
	if (!output->path || stat(name, &st) < 0)
		return refuse_link(output);
	if (same_file(&st, source_fd))
		return refuse(output, "is the source itself");
	if (!S_ISREG(st.st_mode))
		return refuse(output, "%s; only a regular file is replaced",
			S_ISDIR(st.st_mode) ? "is a directory"
					    : "is not a regular file");
	if (!output->replace)
		return refuse(output, "already exists; --force replaces it");
	*heritage = (struct heritage){st.st_mode & 0777, st.st_uid, st.st_gid};
	return 0;
}

/* Set the temporary's template from the path. */
static int
name_temporary(struct output *output)
{
	const char *slash = strrchr(output->path, '/');
	const char *name = slash ? slash + 1 : output->path;
	int directory = (int)(name - output->path);
	int room = NAME_MAX - 1 - (int)strlen(TEMPORARY_ENDING);

	if (!*name)
		return refuse(output, "is no name for a file");
	if (asprintf(&output->temporary, "%.*s.%.*s" TEMPORARY_ENDING,
		    directory, output->path, room, name) < 0) {
		output->temporary = NULL;
		return refuse(output, "out of memory");
	}
	return 0;
}

static int
open_directory(struct output *output)
{
	const char *slash = strrchr(output->path, '/');
	size_t length = slash ? (size_t)(slash - output->path) + 1 : 0;
	char *directory = slash ? strndup(output->path, length) : strdup(".");

	if (!directory)
		return refuse(output, "out of memory");
	output->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int code = errno;
	free(directory);
	/* One that may be written but not read is only not synced. */
	if (output->directory < 0 && code != EACCES)
		return refuse(output, "its directory cannot be opened: %s",
			strerror(code));
	return 0;
}

/*
 * Not everybody may give files away. Permission bits that meant the old
 * file's group must not be given to another one.
 */
static int
inherit(struct output *output, struct heritage heritage)
{
	struct stat st;
	int fd = output->fd;

	if (fstat(fd, &st) < 0)
		return refuse(
			output, "its owner is unknown: %s", strerror(errno));
	bool replaces = heritage.owner != (uid_t)-1;
	bool differs =
		st.st_uid != heritage.owner || st.st_gid != heritage.group;
	if (replaces && differs &&
		fchown(fd, heritage.owner, heritage.group) < 0 &&
		st.st_gid != heritage.group &&
		fchown(fd, (uid_t)-1, heritage.group) < 0)
		heritage.mode &= ~(mode_t)070;
	if (fchmod(fd, heritage.mode) < 0)
		return refuse(output, "cannot be given mode %o: %s",
			(unsigned)heritage.mode, strerror(errno));
	return 0;
}

static int
make_temporary(struct output *output)
{
	sigset_t all, old;

	/* None may come between the making and the noting of the file. */
	catch_signals();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	output->fd = mkostemp(output->temporary, O_CLOEXEC);
	int code = errno;
	if (output->fd >= 0)
		doomed = output->temporary;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (output->fd < 0)
		return refuse(output, "cannot be created: %s", strerror(code));
	return 0;
}

int
output_begin(struct output *output, const char *name, int source_fd, bool force)
{
	struct heritage heritage;

	*output = (struct output){.fd = -1, .directory = -1, .replace = force};
	int rc = check_existing(output, name, source_fd, &heritage);
	if (rc == 0)
		rc = name_temporary(output);
	if (rc == 0)
		rc = open_directory(output);
	if (rc == 0)
		rc = make_temporary(output);
	if (rc == 0)
		rc = inherit(output, heritage);
	if (rc < 0)
		output_abandon(output);
	return rc;
}

void
output_abandon(struct output *output)
{
	if (doomed)
		unlink(doomed);
	doomed = NULL;
	if (output->fd >= 0)
		close(output->fd);
	if (output->directory >= 0)
		close(output->directory);
	output->fd = output->directory = -1;
	free(output->temporary);
	free(output->path);
	output->temporary = output->path = NULL;
}

/* Give the file its name, unless somebody else took it meanwhile. */
static int
rename_no_replace(const char *from, const char *to)
{
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EPERM)
		return -1;
	/* Older NFS and others lack it; a second name cannot replace either. */
	if (link(from, to) == 0) {
		unlink(from);
		return 0;
	}
	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS &&
		errno != EMLINK)
		return -1;
	/*
	 * FAT and many FUSE file systems have neither. What appears under the
	 * name between these two calls is replaced: nothing here can tell.
	 */
	if (lstat(to, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	return errno == ENOENT ? rename(from, to) : -1;
}

static int
sync_directory(const struct output *output)
{
	int rc;

	if (output->directory < 0)
		return 0;
	do
		rc = fsync(output->directory);
	while (rc < 0 && errno == EINTR);
	/* Some file systems have no such thing. */
	return rc < 0 && errno != EINVAL && errno != EROFS ? -1 : 0;
}

/* Everything from close() on; errno tells why it failed. */
static int
publish(struct output *output)
{
	/* Linux closes the descriptor even if it says EINTR. */
	int rc = close(output->fd);
	output->fd = -1;
	if (rc < 0 && errno != EINTR)
		return refuse(output, "cannot be closed: %s", strerror(errno));

	/*
	 * No signal need be blocked: one that comes after the rename finds no
	 * temporary file to remove.
	 */
	rc = output->replace
		     ? rename(output->temporary, output->path)
		     : rename_no_replace(output->temporary, output->path);
	int code = errno;
	if (rc == 0)
		doomed = NULL;
	if (rc < 0 && code == EEXIST)
		return refuse(output, "already exists; --force replaces it");
	if (rc < 0)
		return refuse(
			output, "cannot be given its name: %s", strerror(code));

	if (sync_directory(output) < 0) {
		code = errno;
		/* What was replaced is gone; a new file need not stay. */
		if (!output->replace)
			unlink(output->path);
		return refuse(output, "its directory cannot be synced: %s",
			strerror(code));
	}
	return 0;
}

int
output_commit(struct output *output)
{
	int rc = publish(output);
	output_abandon(output);
	return rc;
}
