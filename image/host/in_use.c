/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The uses of a block device: mounts, swap space, and devices that are made of
 * it (dm, md). What cannot be read is not in use: the kernel refuses O_EXCL for
 * most of these devices in any case.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "host/host.h"

/* Bytes of a message that names one thing. */
#define NAME 256

static bool
is_device(const char *path, dev_t device)
{
	struct stat st;

	/* Not a name such as "tmpfs", which might be a file of the working
	 * directory. */
	return path[0] == '/' && stat(path, &st) == 0 && S_ISBLK(st.st_mode) &&
	       st.st_rdev == device;
}

/* Replace the kernel's octal escapes of blanks and backslashes: "\040". */
static void
unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned code;
		if (sscanf(text, "\\%3o", &code) == 1 && code < 256) {
			*to++ = (char)code;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/*
 * A line of mountinfo: "36 35 98:0 /root /mnt rw - ext4 /dev/vda1 rw". A file
 * system of several devices, or of FUSE, has its own number, and names a device
 * as its source.
 */
static bool
is_mount_of(char *line, dev_t device, const char **where)
{
	unsigned major_number, minor_number;
	char *source = strstr(line, " - ");
	int at = 0, end = 0;

	if (sscanf(line, "%*s %*s %u:%u %*s %n%*s%n", &major_number,
		    &minor_number, &at, &end) != 2 ||
		end == 0 || !source)
		return false;
	source = strchr(source + 3, ' ');
	if (!source)
		return false;
	source++;
	source[strcspn(source, " \n")] = '\0';
	unescape(source);
	bool found = makedev(major_number, minor_number) == device ||
		     is_device(source, device);
	line[end] = '\0';
	unescape(line + at);
	*where = line + at;
	return found;
}

static bool
is_swap_of(char *line, dev_t device, const char **where)
{
	line[strcspn(line, " \t\n")] = '\0';
	unescape(line);
	*where = line;
	return is_device(line, device);
}

/*
 * Find a line of a file of /proc that is about the device, and copy what it
 * names into where.
 */
static bool
find_line(const char *path, dev_t device,
	bool (*match)(char *line, dev_t device, const char **where),
	char where[NAME])
{
	FILE *file = fopen(path, "re");
	const char *found = NULL;
	char *line = NULL;
	size_t size = 0;
	bool is_found = false;

	if (!file)
		return false;
	while (!is_found && getline(&line, &size, file) > 0)
		is_found = match(line, device, &found);
	if (is_found)
		snprintf(where, NAME, "%s", found);
	free(line);
	fclose(file);
	return is_found;
}

DIR *
image_sysfs_folder(dev_t device, const char *below)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(device),
		minor(device), below);
	return opendir(path);
}

bool
image_sysfs_line(char *line, size_t size, dev_t device, const char *below)
{
	char path[64 + NAME];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%.250s",
		major(device), minor(device), below);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool found = fgets(line, (int)size, file);
	fclose(file);
	if (found)
		line[strcspn(line, "\n")] = '\0';
	return found;
}

/* Find a device that is made of this one. */
static bool
find_holder(dev_t device, char where[NAME])
{
	DIR *folder = image_sysfs_folder(device, "holders");
	struct dirent *entry;
	bool found = false;

	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		found = entry->d_name[0] != '.';
		if (found)
			snprintf(where, NAME, "%s", entry->d_name);
	}
	closedir(folder);
	return found;
}

static bool
find_use(dev_t device, char *text, size_t size)
{
	char where[NAME];

	if (find_line("/proc/self/mountinfo", device, is_mount_of, where))
		snprintf(text, size, "is mounted on %s", where);
	else if (find_line("/proc/swaps", device, is_swap_of, where))
		snprintf(text, size, "is used as swap space");
	else if (find_holder(device, where))
		snprintf(text, size, "is in use by the device %s", where);
	else
		return false;
	return true;
}

/* Returns the device of a partition in the sysfs folder of its disk, or 0. */
static dev_t
partition_of(dev_t disk, const char *name)
{
	char below[NAME], line[32];
	unsigned major_number, minor_number;

	snprintf(below, sizeof(below), "%.200s/partition", name);
	if (!image_sysfs_line(line, sizeof(line), disk, below))
		return 0;
	snprintf(below, sizeof(below), "%.200s/dev", name);
	if (!image_sysfs_line(line, sizeof(line), disk, below) ||
		sscanf(line, "%u:%u", &major_number, &minor_number) != 2)
		return 0;
	return makedev(major_number, minor_number);
}

bool
image_device_in_use(dev_t device, char *text, size_t size)
{
	struct dirent *entry;
	char use[NAME + 32];
	bool found = find_use(device, text, size);

	if (found)
		return true;
	DIR *folder = image_sysfs_folder(device, "");
	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		dev_t part = partition_of(device, entry->d_name);
		found = part && find_use(part, use, sizeof(use));
		if (found)
			snprintf(text, size, "has a partition in use: %s %s",
				entry->d_name, use);
	}
	closedir(folder);
	return found;
}
