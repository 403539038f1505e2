/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loop devices. A loop device and the file or device behind it are one disk
 * under two names. The kernel lets both be written at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "host/host.h"
#include "store/file.h"

/* Most loop devices on top of each other. */
#define MAX_LEVELS 8

/* What keeps the bytes of a file or device, and their range there. */
struct place {
	struct stat st;
	uint64_t first;
	uint64_t length;
};

/* Returns the number in a file of sysfs about the device, or 0. */
static uint64_t
read_number(dev_t device, const char *below)
{
	char line[32];

	return image_sysfs_line(line, sizeof(line), device, below)
		       ? strtoull(line, NULL, 10)
		       : 0;
}

/* Set *path to the name of a device, such as "/dev/loop0". */
static bool
device_path(dev_t device, char path[300])
{
	char link[64], target[256];

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(device),
		minor(device));
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = '\0';
	const char *slash = strrchr(target, '/');
	snprintf(path, 300, "/dev/%s", slash ? slash + 1 : target);
	return n >= 0;
}

/* Open a loop device for reading. Returns -1 and sets errno on failure. */
static int
open_loop(dev_t loop, int flags)
{
	char path[300];
	struct stat st;

	if (!device_path(loop, path))
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == loop)
		return fd;
	close(fd);
	errno = ENODEV;
	return -1;
}

/*
 * Set st to what is behind a device. Returns false if nothing is, as with each
 * device that is not a loop device.
 */
static bool
find_backing(dev_t loop, struct stat *st)
{
	struct loop_info64 info;
	char path[4096];

	if (!image_sysfs_line(path, sizeof(path), loop, "loop/backing_file"))
		return false;
	int fd = open_loop(loop, 0);
	int rc = fd < 0 ? -1 : ioctl(fd, LOOP_GET_STATUS64, &info);
	if (fd >= 0)
		close(fd);
	/* Only the path is public. It may name another file by now, or name one
	 * in another mount namespace. */
	if (rc < 0)
		return stat(path, st) == 0;
	*st = (struct stat){.st_dev = (dev_t)info.lo_device,
		.st_ino = (ino_t)info.lo_inode,
		.st_rdev = (dev_t)info.lo_rdevice,
		.st_mode = info.lo_rdevice ? S_IFBLK : S_IFREG};
	return true;
}

static struct place
find_place(const struct stat *st)
{
	struct place place = {*st, 0, UINT64_MAX};
	struct stat below;

	for (int i = 0; i < MAX_LEVELS && S_ISBLK(place.st.st_mode) &&
			find_backing(place.st.st_rdev, &below);
		i++) {
		if (i == 0)
			place.length = 512 * read_number(st->st_rdev, "size");
		place.first += read_number(place.st.st_rdev, "loop/offset");
		place.st = below;
	}
	return place;
}

static bool
is_one_inode(const struct stat *a, const struct stat *b)
{
	if (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode))
		return a->st_rdev == b->st_rdev;
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool
image_is_same_disk(const struct stat *a, const struct stat *b)
{
	if (is_one_inode(a, b))
		return true;
	struct place p = find_place(a), q = find_place(b);
	/* Loop devices may show different parts of a file. */
	bool overlap = p.first < q.first ? q.first - p.first < p.length
					 : p.first - q.first < q.length;
	return overlap && is_one_inode(&p.st, &q.st);
}

static bool
is_used(dev_t loop, char *text, size_t size)
{
	if (image_device_in_use(loop, text, size))
		return true;
	int fd = open_loop(loop, O_EXCL);
	bool used = fd < 0 && errno == EBUSY;
	if (used)
		snprintf(text, size,
			"is in use by the system or by another process");
	if (fd < 0)
		return used;
	used = image_lock_exclusive(fd, text, size) == -EBUSY;
	close(fd);
	return used;
}

bool
image_loop_in_use(const struct stat *st, char *text, size_t size)
{
	char path[300], use[300];
	unsigned major_number, minor_number;
	struct dirent *entry;
	bool found = false;
	DIR *folder = opendir("/sys/dev/block");

	while (folder && !found && (entry = readdir(folder))) {
		if (sscanf(entry->d_name, "%u:%u", &major_number,
			    &minor_number) != 2 ||
			major_number != LOOP_MAJOR)
			continue;
		struct stat loop = {.st_mode = S_IFBLK,
			.st_rdev = makedev(major_number, minor_number)};
		found = !is_one_inode(&loop, st) &&
			image_is_same_disk(&loop, st) &&
			is_used(loop.st_rdev, use, sizeof(use)) &&
			device_path(loop.st_rdev, path);
		if (found)
			snprintf(text, size, "is the same disk as %s, which %s",
				path, use);
	}
	if (folder)
		closedir(folder);
	return found;
}
