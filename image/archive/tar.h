/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_TAR_H
#define HONE_IMAGE_TAR_H
/*
 * The members of a tar archive, one after the other: ustar, PAX, and the
 * formats of GNU tar and of the 7th edition of Unix. Nothing is extracted.
 *
 * Each header is checked, and whatever two programs may read differently is
 * refused. Memory does not depend on the length of the archive.
 */
#include "store/store.h"

#define TAR_BLOCK ((size_t)512)

/* A range of a sparse member that is in the archive. */
struct tar_piece {
	/* in the member */
	uint64_t offset;
	uint64_t length;
	/* in the archive */
	uint64_t from;
};

struct tar_member {
	/* as in the archive: any bytes except NUL, not empty */
	char *name;
	/* the letter of the header; TAR_REGULAR for each kind of a file */
	char type;
	/* bytes of the file, with its holes */
	uint64_t size;
	/* where the archive has its bytes, and how many */
	uint64_t from;
	uint64_t stored;
	bool sparse;
	/* in ascending order; other ranges are holes. A member that is not
	 * sparse has one piece. */
	struct tar_piece *pieces;
	size_t n_pieces;
};

#define TAR_REGULAR '0'

struct tar {
	struct image_store *store;
	/* the next header */
	uint64_t at;
	/* a forward store has released what is before this */
	uint64_t released;
	uint64_t n_members;
	/* the user named a member: the file cannot be read as it is */
	bool named;
};

/* Returns whether the first bytes of a file have the magic of a tar header. */
bool tar_has_magic(const unsigned char *head, size_t length);

/* Returns whether they are one: its checksum holds, too. */
bool tar_begins(const unsigned char *head, size_t length);

/*
 * Get the next member, which the caller frees by tar_free(), after a failure
 * too. Sets name to NULL at the end of the archive, whose end is checked.
 *
 * The bytes of the member before are released.
 */
int tar_next(
	struct tar *tar, struct tar_member *member, struct image_error *err);
void tar_free(struct tar_member *member);

/* Parse decimal digits, all of the text. */
bool tar_decimal(const char *text, size_t length, uint64_t *value);

/* Returns what a type is, for messages: "a symbolic link". */
const char *tar_type_text(char type);

/* Headers of new tar archives, in the old GNU format: "GNU tar: an archiver
 * tool", appendix "Basic Tar Format". Nothing has a time. */

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
