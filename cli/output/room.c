/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "output/output.h"

/*
 * File systems on which n bytes that are not zero take n bytes of what statfs()
 * reports as free: magic numbers of linux/magic.h and of XFS. Others compress,
 * deduplicate, have quotas or report nothing, so that only the copy shows.
 */
static bool
counts_plainly(const struct statfs *fs)
{
	switch ((unsigned long)fs->f_type) {
	case 0xef53:     /* ext2, ext3, ext4 */
	case 0x58465342: /* XFS */
	case 0x01021994: /* tmpfs */
	case 0x4d44:     /* FAT */
	case 0x2011bab0: /* exFAT */
		return fs->f_blocks != 0;
	default:
		return false;
	}
}

int
output_check_room(int directory, uint64_t needed, char *text, size_t size)
{
	char wanted[CLI_SIZE_TEXT], has[CLI_SIZE_TEXT];
	struct statfs fs;
	uint64_t room;

	if (needed == 0 || fstatfs(directory, &fs) < 0 || !counts_plainly(&fs))
		return 0;
	/* Root may use what is reserved. */
	uint64_t blocks = geteuid() == 0 ? fs.f_bfree : fs.f_bavail;
	if (__builtin_mul_overflow(blocks, (uint64_t)fs.f_frsize, &room) ||
		needed <= room)
		return 0;
	snprintf(text, size,
		"takes at least %s, and its file system has %s left",
		cli_size_text(wanted, needed), cli_size_text(has, room));
	return -1;
}
