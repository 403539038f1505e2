/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The properties of a new file: those of the file that it replaces (owner and
 * group, permissions or ACL, the extended attributes of the user), or
 * permissions that the files of the source limit.
 */
#include <endian.h>
#include <errno.h>
#include <linux/limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "output/output.h"

#define ACL "system.posix_acl_access"
#define USER_PREFIX "user."

/*
 * Restricts the permissions of an access ACL in the form of the extended
 * attribute: a version of 4 bytes, then entries of 8 bytes, little endian
 * (linux/posix_acl_xattr.h).
 */

#define HEADER 4
#define ENTRY 8

/* Tags of entries: linux/posix_acl.h */
enum {
	USER_OBJ = 0x01,
	USER = 0x02,
	GROUP_OBJ = 0x04,
	GROUP = 0x08,
	MASK = 0x10,
	OTHER = 0x20
};

static unsigned
get16(const unsigned char *at)
{
	uint16_t value;
	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

/*
 * Returns the permission bits of the first entry with that tag; 7 if there is
 * none.
 */
static unsigned
permissions(const unsigned char *acl, size_t size, unsigned tag)
{
	for (size_t at = HEADER; at + ENTRY <= size; at += ENTRY)
		if (get16(acl + at) == tag)
			return get16(acl + at + 2);
	return 7;
}

static void
limit(unsigned char *acl, size_t size, unsigned tags, unsigned most)
{
	for (size_t at = HEADER; at + ENTRY <= size; at += ENTRY)
		if (get16(acl + at) & tags)
			acl[at + 2] &= (unsigned char)most;
}

/* acl: the value of the attribute, changed in place. */
static void
acl_restrict(
	unsigned char *acl, size_t size, bool keeps_owner, bool keeps_group)
{
	unsigned owner = permissions(acl, size, USER_OBJ);
	unsigned mask = permissions(acl, size, MASK);

	if (!keeps_owner)
		limit(acl, size, GROUP_OBJ | GROUP | OTHER, owner);
	if (!keeps_group) {
		unsigned group = permissions(acl, size, GROUP_OBJ) & mask;
		limit(acl, size, OTHER, group);
		limit(acl, size, GROUP_OBJ, 0);
	}
}

/* Returns the permissions that each entry but the owner's gives, 0 to 7. */
static unsigned
acl_least(const unsigned char *acl, size_t size)
{
	const unsigned of_group = USER | GROUP_OBJ | GROUP;
	unsigned mask = permissions(acl, size, MASK);
	unsigned least = permissions(acl, size, OTHER);

	for (size_t at = HEADER; at + ENTRY <= size; at += ENTRY)
		if (get16(acl + at) & of_group)
			least &= get16(acl + at + 2) & mask;
	return least;
}

/*
 * The nine permission bits of a copy that may get another owner or group, of a
 * file without an ACL. The new group must not get the permissions of the old
 * group. A user without access by the bits of the old owner or group must not
 * get access by other bits.
 */
static mode_t
mode_restrict(mode_t mode, bool keeps_owner, bool keeps_group)
{
	mode_t owner = mode >> 6 & 7, group = mode >> 3 & 7, other = mode & 7;

	if (!keeps_owner) {
		group &= owner;
		other &= owner;
	}
	if (!keeps_group) {
		other &= group;
		group = 0;
	}
	return owner << 6 | group << 3 | other;
}

/*
 * Returns whether the errno of a call about an extended attribute means that
 * the file system has no such attributes, or the file does not have this one.
 */
static bool
attribute_is_absent(int code)
{
	return code == ENODATA || code == EOPNOTSUPP || code == ENOSYS;
}

static int
keep_attribute(struct output *output, const char *name, void *value)
{
	ssize_t n = fgetxattr(output->old.fd, name, value, XATTR_SIZE_MAX);

	if (n >= 0 && fsetxattr(output->fd, name, value, (size_t)n, 0) == 0)
		return 0;
	if (attribute_is_absent(errno) || errno == EPERM || errno == EACCES)
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
	if (output->old.readable)
		return fgetxattr(output->old.fd, ACL, acl, XATTR_SIZE_MAX);
	return getxattr(OUTPUT_PATH(output->old.fd), ACL, acl, XATTR_SIZE_MAX);
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

/*
 * The permissions of a new file: at most those that the files of the source
 * give. A secret disk stays secret, whatever the umask is.
 */

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
	return (mode & 0700) | bits << 3 | bits;
}

/* Returns the mode of a file. If it has an ACL, group and others get what each
 * of its entries gives. */
static mode_t
mode_of(int fd, const struct stat *st)
{
	mode_t mode = st->st_mode & 0777;
	void *acl = malloc(XATTR_SIZE_MAX);

	if (!acl)
		return mode & 0700;
	ssize_t n = fgetxattr(fd, ACL, acl, XATTR_SIZE_MAX);
	if (n >= 0)
		mode = with_both(mode, acl_least(acl, (size_t)n));
	else if (!attribute_is_absent(errno))
		mode &= 0700;
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
		mode = mode_of(fd, &st) & 0666;
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
	/* The directory may be open with O_PATH alone. */
	ssize_t n = output->may_sync
			    ? fgetxattr(output->directory, DEFAULT_ACL, NULL, 0)
			    : getxattr(OUTPUT_PATH(output->directory),
				      DEFAULT_ACL, NULL, 0);
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

	image_source_visit(output->how.source, visit, &limit);
	if (limit.is_set && has_default_acl(output))
		limit.mode =
			with_both(limit.mode, limit.mode >> 3 & limit.mode & 6);
	return limit.mode;
}
