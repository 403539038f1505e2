/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The permissions of a new file: at most those that the files of the source
 * give. A secret disk stays secret, whatever the umask is.
 */
#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "output/output.h"

#define ACL "system.posix_acl_access"
#define DEFAULT_ACL "system.posix_acl_default"

struct limit {
	/* of the new file */
	gid_t group;
	mode_t mode;
	/* a file was visited */
	bool is_set;
};

static mode_t
with_both(mode_t mode, mode_t bits)
{
	return (mode & 0600) | bits << 3 | bits;
}

/*
 * Returns the mode of a file of the source. If it has an ACL, group and others
 * get what each of its entries gives.
 */
static mode_t
mode_of(int fd, const struct stat *st)
{
	mode_t mode = st->st_mode & 0666;
	void *acl = malloc(XATTR_SIZE_MAX);

	if (!acl)
		return mode & 0600;
	ssize_t n = fgetxattr(fd, ACL, acl, XATTR_SIZE_MAX);
	if (n >= 0)
		mode = with_both(mode, acl_least(acl, (size_t)n) & 6);
	else if (!attribute_is_absent(errno))
		mode &= 0600;
	free(acl);
	return mode;
}

static void
visit(void *opaque, int fd)
{
	struct limit *limit = opaque;
	struct stat st;
	mode_t mode = 0600;

	if (fstat(fd, &st) == 0)
		mode = mode_of(fd, &st);
	else
		st = (struct stat){.st_uid = (uid_t)-1, .st_gid = (gid_t)-1};
	/* The old group and the old owner are others for the new file, and
	 * others may be in the new group. */
	mode_t owner = mode >> 6, group = mode >> 3 & 7, other = mode & 7;
	if (st.st_gid != limit->group)
		mode = with_both(mode, group & other);
	if (st.st_uid != geteuid())
		mode &= owner << 6 | owner << 3 | owner;
	/* Backing files are often for reading only. */
	limit->mode &= limit->is_set ? mode | 0600 : mode;
	limit->is_set = true;
}

/* Its entries give permissions to more users than a group has. */
static bool
has_default_acl(const struct output *output)
{
	char path[32];

	/* The directory may be open with O_PATH alone. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->directory);
	ssize_t n = output->may_sync
			    ? fgetxattr(output->directory, DEFAULT_ACL, NULL, 0)
			    : getxattr(path, DEFAULT_ACL, NULL, 0);
	return n >= 0 || !attribute_is_absent(errno);
}

gid_t
output_group(const struct output *output)
{
	struct stat st;

	if (fstat(output->directory, &st) == 0 && (st.st_mode & S_ISGID))
		return st.st_gid;
	return getegid();
}

mode_t
output_mode(const struct output *output, gid_t group)
{
	struct limit limit = {.group = group, .mode = 0666};

	output->how.visit_source(output->how.source, visit, &limit);
	if (limit.is_set && has_default_acl(output))
		limit.mode =
			with_both(limit.mode, limit.mode >> 3 & limit.mode & 6);
	return limit.mode;
}
