/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_OUTPUT_ACL_H
#define HONE_CLI_OUTPUT_ACL_H
/*
 * Permissions of a file whose copy may get another owner or group. The new
 * group must not get the permissions of the old group. A user without access by
 * the bits of the old owner or group must not get access by other bits.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* acl: the value of the attribute system.posix_acl_access, changed in place. */
void acl_restrict(
	unsigned char *acl, size_t size, bool keeps_owner, bool keeps_group);

/* Returns the permissions that each entry but the owner's gives, 0 to 7. */
unsigned acl_least(const unsigned char *acl, size_t size);

/* The nine permission bits of a file without an ACL. */
mode_t mode_restrict(mode_t mode, bool keeps_owner, bool keeps_group);

#endif
