/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies the properties of a replaced file to the new one: owner and group,
 * permissions or ACL, and the extended attributes of the user.
 */
#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "output/output.h"

#define ACL "system.posix_acl_access"
#define USER_PREFIX "user."

bool
attribute_is_absent(int code)
{
	return code == ENODATA || code == EOPNOTSUPP || code == ENOSYS;
}

static bool
forbidden(int code)
{
	return code == EPERM || code == EACCES;
}

static int
keep_attribute(struct output *output, const char *name, void *value)
{
	ssize_t n = fgetxattr(output->old.fd, name, value, XATTR_SIZE_MAX);

	if (n >= 0 && fsetxattr(output->fd, name, value, (size_t)n, 0) == 0)
		return 0;
	if (attribute_is_absent(errno) || forbidden(errno))
		return 0;
	return output_refuse(output, "its attribute %s cannot be kept: %s",
		name, strerror(errno));
}

static int
keep_attributes(struct output *output, void *value)
{
	if (!output->old.readable)
		return 0;
	char *names = malloc(XATTR_LIST_MAX);
	if (!names)
		return output_refuse(output, "out of memory");

	int rc = 0;
	ssize_t n = flistxattr(output->old.fd, names, XATTR_LIST_MAX);
	if (n < 0 && !attribute_is_absent(errno))
		rc = output_refuse(output, "its attributes cannot be read: %s",
			strerror(errno));
	for (ssize_t at = 0; rc == 0 && at < n;
		at += (ssize_t)strlen(names + at) + 1)
		if (strncmp(names + at, USER_PREFIX, strlen(USER_PREFIX)) == 0)
			rc = keep_attribute(output, names + at, value);
	free(names);
	return rc;
}

/* Only a privileged process may set any owner and group. */
static int
keep_owner(struct output *output, bool *keeps_owner, bool *keeps_group)
{
	const struct stat *old = &output->old.st;
	struct stat st;
	int fd = output->fd;

	if (fstat(fd, &st) < 0)
		return output_refuse(output, "its owner cannot be read: %s",
			strerror(errno));
	*keeps_owner = st.st_uid == old->st_uid;
	*keeps_group = st.st_gid == old->st_gid;
	if (*keeps_owner && *keeps_group)
		return 0;
	if (fchown(fd, old->st_uid, old->st_gid) == 0)
		*keeps_owner = *keeps_group = true;
	else if (!*keeps_group && fchown(fd, (uid_t)-1, old->st_gid) == 0)
		*keeps_group = true;
	return 0;
}

/* Also works for a file that is open with O_PATH alone. */
static ssize_t
read_acl(const struct output *output, void *acl)
{
	char path[32];

	if (output->old.readable)
		return fgetxattr(output->old.fd, ACL, acl, XATTR_SIZE_MAX);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->old.fd);
	return getxattr(path, ACL, acl, XATTR_SIZE_MAX);
}

/* The new file may have inherited an ACL from its directory. */
static int
set_mode(struct output *output, mode_t mode)
{
	if (fremovexattr(output->fd, ACL) < 0 && !attribute_is_absent(errno))
		return output_refuse(output, "its ACL cannot be removed: %s",
			strerror(errno));
	if (fchmod(output->fd, mode) < 0)
		return output_refuse(output, "its mode cannot be set to %o: %s",
			(unsigned)mode, strerror(errno));
	return 0;
}

/*
 * With an ACL, the group bits of the mode are the mask of the ACL, not the
 * permissions of the group.
 */
static int
keep_permissions(
	struct output *output, bool keeps_owner, bool keeps_group, void *acl)
{
	mode_t mode = output->old.st.st_mode & 0777;
	ssize_t n = read_acl(output, acl);

	if (n < 0 && attribute_is_absent(errno))
		return set_mode(
			output, mode_restrict(mode, keeps_owner, keeps_group));
	/* Without /proc the ACL is unknown, so the group bits may be a mask. */
	if (n < 0 && errno == ENOENT)
		return set_mode(output, mode & 0700);
	if (n < 0)
		return output_refuse(
			output, "its ACL cannot be read: %s", strerror(errno));
	acl_restrict(acl, (size_t)n, keeps_owner, keeps_group);
	if (fsetxattr(output->fd, ACL, acl, (size_t)n, 0) < 0)
		return output_refuse(
			output, "its ACL cannot be kept: %s", strerror(errno));
	return 0;
}

int
output_inherit(struct output *output)
{
	bool keeps_owner = false, keeps_group = false;

	if (output->old.fd < 0)
		return 0;
	void *value = malloc(XATTR_SIZE_MAX);
	if (!value)
		return output_refuse(output, "out of memory");
	int rc = keep_attributes(output, value);
	if (rc == 0)
		rc = keep_owner(output, &keeps_owner, &keeps_group);
	if (rc == 0)
		rc = keep_permissions(output, keeps_owner, keeps_group, value);
	free(value);
	return rc;
}
