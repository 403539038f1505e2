/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_ARCHIVE_PUT_H
#define HONE_IMAGE_ARCHIVE_PUT_H
/* Headers of new tar archives, in the old GNU format: "GNU tar: an archiver
 * tool", appendix "Basic Tar Format". Nothing has a time. */
#include "archive/tar.h"

/* Bytes of a number of the format. */
#define TAR_NUMBER 12

struct tar_entry {
	/* at most 100 bytes */
	const char *name;
	/* TAR_REGULAR, '5' for a directory, 'S' for a sparse file */
	char type;
	unsigned mode;
	/* user and group */
	unsigned owner;
	uint64_t size;
};

/* Set what the entry has in a block that is zero there, and its checksum. */
void tar_put(unsigned char *block, const struct tar_entry *entry);
/* Set the checksum again, after other fields were set. */
void tar_put_sum(unsigned char *block);
/* Octal, or binary with a mark where that is too short. */
void tar_put_number(unsigned char *to, uint64_t n);

/* Returns the bytes of padding behind a member. */
static inline uint64_t
tar_padding(uint64_t size)
{
	return -size % TAR_BLOCK;
}

#endif
