/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restricts the permissions of an access ACL in the form of the extended
 * attribute: a version of 4 bytes, then entries of 8 bytes, little endian
 * (linux/posix_acl_xattr.h).
 */
#include <endian.h>
#include <stdint.h>
#include <string.h>
#include "output/output.h"

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

static void
put16(unsigned char *at, unsigned value)
{
	uint16_t stored = htole16((uint16_t)value);
	memcpy(at, &stored, sizeof(stored));
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
			put16(acl + at + 2, get16(acl + at + 2) & most);
}

void
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

unsigned
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

mode_t
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
