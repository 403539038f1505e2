/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that the page cache can use. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "convert/convert.h"

/* Returns the number after `key` in a file of lines, 0 if there is none. */
static uint64_t
read_number(const char *path, const char *key)
{
	char line[256];
	uint64_t value = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		size_t n = strlen(key);
		if (strncmp(line, key, n) == 0 &&
			sscanf(line + n, " %" SCNu64, &value) == 1)
			break;
	}
	fclose(file);
	return value;
}

/* Returns the smaller of two limits; 0 is no limit. */
static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/*
 * Returns the lowest limit of a cgroup and of the cgroups that enclose it. In a
 * container without a cgroup namespace, the mount begins at the container's
 * cgroup. The folders of the path are then missing, and only the limit of the
 * mount itself is found.
 */
static uint64_t
walk(const char *mount, char *cgroup, const char *file)
{
	uint64_t limit = 0;
	char path[PATH_MAX];

	/* The kernel's path of a cgroup outside the namespace's root begins
	 * with "/..". */
	if (strcmp(cgroup, "/..") == 0 || strncmp(cgroup, "/../", 4) == 0)
		*cgroup = '\0';
	for (;;) {
		int n = snprintf(
			path, sizeof(path), "%s%s/%s", mount, cgroup, file);
		/* "max", which is not a number, means no limit */
		if (n > 0 && (size_t)n < sizeof(path))
			limit = smaller(read_number(path, ""), limit);
		char *slash = strrchr(cgroup, '/');
		if (!slash)
			return limit;
		*slash = '\0';
	}
}

/* Returns whether a comma separated list has the word "memory". */
static bool
has_memory(const char *controllers)
{
	static const char word[] = "memory";
	size_t length = strlen(word);

	for (const char *c = controllers; *c; c += *c == ',') {
		size_t n = strcspn(c, ",");
		if (n == length && memcmp(c, word, n) == 0)
			return true;
		c += n;
	}
	return false;
}

/*
 * Returns the limit of a line of /proc/self/cgroup: "0::/a/b" (v2),
 * "4:memory:/a/b" (v1).
 */
static uint64_t
limit_of_line(const char *root, char *line)
{
	char mount[PATH_MAX];
	char *controllers = strchr(line, ':');
	char *cgroup = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!cgroup)
		return 0;
	*cgroup++ = '\0';
	cgroup[strcspn(cgroup, "\n")] = '\0';
	bool v2 = strcmp(controllers, ":") == 0;
	if (!v2 && !has_memory(controllers + 1))
		return 0;
	snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup%s", root,
		v2 ? "" : "/memory");
	return walk(mount, cgroup, v2 ? "memory.max" : "memory.limit_in_bytes");
}

static uint64_t
cgroup_limit(const char *root)
{
	char path[PATH_MAX];
	char *line = NULL;
	size_t size = 0;
	uint64_t limit = 0;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	while (getline(&line, &size, file) > 0)
		limit = smaller(limit_of_line(root, line), limit);
	free(line);
	fclose(file);
	return limit;
}

uint64_t
memory_available(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	return smaller(
		read_number(path, "MemAvailable:") * 1024, cgroup_limit(root));
}
