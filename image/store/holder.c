/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names the process that holds a lock. The kernel does not report the owner of
 * a lock of an open file description: l_pid is -1. /proc/PID/fdinfo/FD has a
 * line for each lock of that description:
 *
 *	lock:	1: OFDLCK ADVISORY  READ -1 fe:00:10018885 100 101
 *
 * The sixth word identifies the file and is the same in every process. On some
 * file systems st_dev is not the same. The last two words are the range.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "store/holder.h"

struct lock_line {
	char file[64];
	uint64_t first;
	uint64_t last;
};

static bool
parse_lock(const char *line, struct lock_line *lock)
{
	char last[24];

	if (sscanf(line, "lock: %*s OFDLCK %*s %*s %*s %63s %" SCNu64 " %23s",
		    lock->file, &lock->first, last) != 3)
		return false;
	/* Otherwise the word is EOF. */
	if (sscanf(last, "%" SCNu64, &lock->last) != 1)
		lock->last = UINT64_MAX;
	return true;
}

/* Find a lock in a file of fdinfo. Returns false if match() accepts none. */
static bool
find_lock(const char *path, struct lock_line *lock,
	bool (*match)(const struct lock_line *lock, const void *opaque),
	const void *opaque)
{
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (!found && getline(&line, &size, file) > 0)
		found = parse_lock(line, lock) && match(lock, opaque);
	free(line);
	fclose(file);
	return found;
}

static bool
any(const struct lock_line *lock, const void *opaque)
{
	(void)lock;
	(void)opaque;
	return true;
}

static bool
overlaps(const struct lock_line *lock, const void *opaque)
{
	const struct lock_line *wanted = opaque;
	return strcmp(lock->file, wanted->file) == 0 &&
	       lock->first <= wanted->last && wanted->first <= lock->last;
}

static bool
process_holds(const char *pid, const struct lock_line *wanted)
{
	char path[64 + 2 * NAME_MAX];
	struct lock_line lock;
	struct dirent *entry;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	DIR *folder = opendir(path);
	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid,
			entry->d_name);
		found = find_lock(path, &lock, overlaps, wanted);
	}
	closedir(folder);
	return found;
}

/* Returns another process that holds the lock, or 0 if none is found. */
static int
find_process(const struct lock_line *wanted)
{
	struct dirent *entry;
	int found = 0;
	DIR *proc = opendir("/proc");

	if (!proc)
		return 0;
	while (!found && (entry = readdir(proc))) {
		int pid = atoi(entry->d_name);
		if (pid > 0 && pid != getpid() &&
			process_holds(entry->d_name, wanted))
			found = pid;
	}
	closedir(proc);
	return found;
}

void
image_holder(int fd, const struct flock *held, char name[IMAGE_HOLDER])
{
	struct lock_line wanted;
	char path[64], command[32] = "a process";
	int pid = held->l_pid;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (pid <= 0 && find_lock(path, &wanted, any, NULL)) {
		wanted.first = (uint64_t)held->l_start;
		/* A length of 0 reaches to the end of the file. */
		wanted.last = wanted.first + (uint64_t)held->l_len - 1;
		if (held->l_len == 0)
			wanted.last = UINT64_MAX;
		pid = find_process(&wanted);
	}
	if (pid <= 0) {
		snprintf(name, IMAGE_HOLDER, "another process");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	FILE *file = fopen(path, "re");
	if (file) {
		if (fgets(command, sizeof(command), file))
			command[strcspn(command, "\n")] = '\0';
		fclose(file);
	}
	snprintf(name, IMAGE_HOLDER, "%s (pid %d)", command, pid);
}
