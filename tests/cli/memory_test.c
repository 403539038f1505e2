/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of cgroups, in a folder in place of /: cli/convert/memory.c. */
#include <limits.h>
#include "support.h"
#include "convert/convert.h"

static char root[] = "/tmp/hone-memory-XXXXXX";

/* Write a file below root, and make its folders. */
static void
put(const char *name, const char *text)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", root, name);

	assert_in_range(n, 1, sizeof(path) - 1);
	for (char *slash = path + strlen(root); slash;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_ok(fclose(file));
}

FIXTURE(begin)
{
	memcpy(root + sizeof(root) - 7, "XXXXXX", 7);
	assert_non_null(mkdtemp(root));
	put("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
	return 0;
}

FIXTURE(end)
{
	char command[sizeof(root) + 16];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command); /* NOLINT(cert-env33-c): a fixed name */
}

TEST_WITH(without_cgroups_the_machine_decides, begin, end)
{
	assert_int_equal(memory_available(root), 8000 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	assert_int_equal(memory_available(root), 8000 * 1024);
	put("sys/fs/cgroup/a/memory.max", "max\n");
	assert_int_equal(memory_available(root), 8000 * 1024);
	put("sys/fs/cgroup/a/memory.max", "9000000000\n");
	assert_int_equal(memory_available(root), 8000 * 1024);
}

TEST_WITH(the_least_limit_of_the_enclosing_cgroups_counts, begin, end)
{
	put("proc/self/cgroup", "0::/system.slice/run.scope\n");
	put("sys/fs/cgroup/system.slice/run.scope/memory.max", "300000\n");
	assert_int_equal(memory_available(root), 300000);
	put("sys/fs/cgroup/system.slice/memory.max", "200000\n");
	assert_int_equal(memory_available(root), 200000);
	put("sys/fs/cgroup/memory.max", "100000\n");
	assert_int_equal(memory_available(root), 100000);
	put("sys/fs/cgroup/system.slice/run.scope/memory.max", "50000\n");
	assert_int_equal(memory_available(root), 50000);
	/* of another process */
	put("sys/fs/cgroup/user.slice/memory.max", "1000\n");
	assert_int_equal(memory_available(root), 50000);
}

/* The mount begins at the container's cgroup, the path at the host's. */
TEST_WITH(a_container_without_a_namespace_sees_its_mount, begin, end)
{
	put("proc/self/cgroup", "0::/docker/0123\n");
	put("sys/fs/cgroup/memory.max", "400000\n");
	assert_int_equal(memory_available(root), 400000);
	put("proc/self/cgroup", "0::/../../docker/0123\n");
	put("sys/docker/0123/memory.max", "1000\n");
	assert_int_equal(memory_available(root), 400000);
	put("proc/self/cgroup", "0::/\n");
	assert_int_equal(memory_available(root), 400000);
}

TEST_WITH(a_cgroup_may_have_two_dots_in_its_name, begin, end)
{
	put("proc/self/cgroup", "0::/..a/..b\n");
	put("sys/fs/cgroup/..a/..b/memory.max", "50000\n");
	assert_int_equal(memory_available(root), 50000);
}

TEST_WITH(version_1_has_a_hierarchy_for_memory, begin, end)
{
	put("proc/self/cgroup",
		"12:cpu,cpuacct:/c\n5:hugetlb,memory:/a/b\n3:memoryless:/d\n"
		"1:name=systemd:/e\n0::/f\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes",
		"9223372036854771712\n");
	assert_int_equal(memory_available(root), 8000 * 1024);
	put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "600000\n");
	put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "700000\n");
	put("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1000\n");
	put("sys/fs/cgroup/memory/d/memory.limit_in_bytes", "1000\n");
	assert_int_equal(memory_available(root), 600000);
}
