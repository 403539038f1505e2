/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds where a path leads, one component after the other, each by its own
 * descriptor: nobody can exchange a component between the check and the use.
 *
 * In a sticky directory that everybody may write to, such as /tmp, a symbolic
 * link of another user would choose the file that is written. The rule is that
 * of the kernel's fs.protected_symlinks, which not every system sets.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "store/store.h"

/* As the kernel's MAXSYMLINKS. */
#define MAX_LINKS 40

struct walk {
	const char *path;
	struct image_path *place;
	/* what is left of the path, and of the targets of its links */
	char *rest;
	unsigned n_links;
};

static int
fail_walk(const struct walk *w, int code, struct image_error *err)
{
	if (!w->place->is_link)
		return image_fail(err, w->path, -code,
			"its directory cannot be opened: %s", strerror(code));
	if (code == ENOENT || code == ELOOP)
		return image_fail(
			err, w->path, -code, "is a broken symbolic link");
	return image_fail(
		err, w->path, -code, "cannot be resolved: %s", strerror(code));
}

static void
enter(struct walk *w, int fd)
{
	if (w->place->directory >= 0)
		close(w->place->directory);
	w->place->directory = fd;
}

/* The walk goes on with path, and then with what is left. */
static int
walk_from(struct walk *w, const char *path, struct image_error *err)
{
	bool is_absolute = path[0] == '/';
	char *joined;

	if (asprintf(&joined, "%s%s", path, w->rest ? w->rest : "") < 0)
		return image_no_memory(err);
	free(w->rest);
	w->rest = joined;
	if (w->place->directory >= 0 && !is_absolute)
		return 0;
	int fd =
		open(is_absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_walk(w, errno, err);
	enter(w, fd);
	return 0;
}

/* Of a link of /proc, the text need not be a path to the file. */
static bool
is_of_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Follow the link of fd, which is the component `name`. Takes fd over. */
static int
follow(struct walk *w, int fd, const struct stat *link, const char *name,
	struct image_error *err)
{
	bool direct = w->rest[0] == '\0' && w->n_links == 0;
	char target[PATH_MAX];
	struct stat st;
	ssize_t n = 0;
	int rc = 0;

	w->place->is_link |= w->rest[0] == '\0';
	/* As fs.protected_symlinks. */
	bool planted =
		fstat(w->place->directory, &st) < 0 ||
		((st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH) &&
			link->st_uid != geteuid() && link->st_uid != st.st_uid);
	if (planted)
		rc = image_fail(err, w->path, -EACCES,
			"%s%s%s a symbolic link of another user (%u) in a "
			"sticky directory",
			direct ? "is" : "leads through '", direct ? "" : name,
			direct ? "" : "',", (unsigned)link->st_uid);
	else if (++w->n_links > MAX_LINKS)
		rc = fail_walk(w, ELOOP, err);
	else
		n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		rc = fail_walk(w, errno, err);
	close(fd);
	if (rc < 0)
		return rc;
	target[n] = '\0';
	return walk_from(w, target, err);
}

static int
look(const struct walk *w, const char *name, struct stat *st)
{
	int fd = openat(
		w->place->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st) == 0)
		return fd;
	int code = errno;
	close(fd);
	errno = code;
	return -1;
}

/* O_DIRECTORY makes the kernel mount what is mounted on demand. */
static int
step(struct walk *w, const char *name, struct image_error *err)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	struct stat st;

	int fd = openat(w->place->directory, name, flags | O_NOFOLLOW);
	if (fd < 0 && errno == ENOTDIR) {
		int link = look(w, name, &st);
		if (link < 0)
			return fail_walk(w, errno, err);
		if (S_ISLNK(st.st_mode) && !is_of_proc(link))
			return follow(w, link, &st, name, err);
		close(link);
		errno = ENOTDIR;
		if (S_ISLNK(st.st_mode))
			fd = openat(w->place->directory, name, flags);
	}
	if (fd < 0)
		return fail_walk(w, errno, err);
	enter(w, fd);
	return 0;
}

/* Open what the last component names, or follow it if it is a link. */
static int
finish(struct walk *w, const char *name, struct image_error *err)
{
	struct image_path *place = w->place;

	/* A link to a directory, with a slash at its end. */
	if (!*name && place->is_link)
		name = ".";
	int fd = look(w, name, &place->st);
	if (fd >= 0 && S_ISLNK(place->st.st_mode)) {
		if (!is_of_proc(fd))
			return follow(w, fd, &place->st, name, err);
		close(fd);
		place->is_link = place->is_magic = true;
		fd = openat(place->directory, name, O_PATH | O_CLOEXEC);
	}
	place->fd = fd;
	place->code = fd < 0 ? -errno : 0;
	if ((fd < 0 && place->is_link) ||
		(place->is_magic && fstat(fd, &place->st) < 0))
		return fail_walk(w, errno, err);
	place->name = strdup(name);
	return place->name ? 0 : image_no_memory(err);
}

int
image_path_find(
	const char *path, struct image_path *place, struct image_error *err)
{
	struct walk w = {.path = path, .place = place};

	*place = (struct image_path){.directory = -1, .fd = -1};
	int rc = walk_from(&w, path, err);
	while (rc == 0 && w.rest && !place->name) {
		char *at = w.rest + strspn(w.rest, "/");
		size_t length = strcspn(at, "/");
		bool is_last = at[length] == '\0';
		char *name = strndup(at, length);
		memmove(w.rest, at + length, strlen(at + length) + 1);
		rc = !name     ? image_no_memory(err)
		     : is_last ? finish(&w, name, err)
			       : step(&w, name, err);
		free(name);
	}
	free(w.rest);
	if (rc < 0)
		image_path_close(place);
	return rc;
}

void
image_path_close(struct image_path *place)
{
	if (place->fd >= 0)
		close(place->fd);
	if (place->directory >= 0)
		close(place->directory);
	free(place->name);
	*place = (struct image_path){.directory = -1, .fd = -1};
}

int
image_path_open(const struct image_path *place, int flags)
{
	int nofollow = place->is_magic ? 0 : O_NOFOLLOW;
	int fd = IMAGE_RETRY(openat(
		place->directory, place->name, flags | nofollow | O_CLOEXEC));

	return fd < 0 ? -errno : fd;
}

bool
image_path_is_foreign(const struct image_path *place)
{
	struct stat st;

	if (!S_ISREG(place->st.st_mode) || place->st.st_uid == geteuid())
		return false;
	return fstat(place->directory, &st) < 0 ||
	       ((st.st_mode & S_ISVTX) && (st.st_mode & (S_IWGRP | S_IWOTH)) &&
		       place->st.st_uid != st.st_uid);
}
