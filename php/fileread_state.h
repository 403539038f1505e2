/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_STATE_H
#define PHP_HONE_FILEREAD_STATE_H
/* The part of the module's globals that belongs to fileread*.c. */
#include <stdbool.h>
#include <stdint.h>

/* More than there are functions or reasons; fileread.c checks. */
#define HONE_FILEREAD_COUNTS 16

/* Paths that are remembered; a power of two. */
#define HONE_FILEREAD_PATHS 256

/* What is remembered of a path by its hash: fileread_known.c. */
struct hone_fileread_path {
	/* of the hash, what its place does not tell */
	uint32_t tag;
	/* where PHP's realpath cache had it */
	uint16_t chain;
	/* PHP could not open it the last time, and may try again at once */
	bool failed;
	/* it was a regular file of less than a chunk the last time */
	bool small;
};

struct hone_fileread {
	/* INI hone.file_reads */
	bool on;
	/* INI hone.file_reads_huge_pages */
	bool huge_pages;
	/* loaded by dl(): no function is wrapped */
	bool by_dl;
	/* PHP looks paths up in its realpath cache, in this request */
	bool realpath_cache;
	/* it never will again */
	bool no_realpath_cache;
	/* one whose files can be mapped; 0: none is known in this request */
	uint64_t device;
	/* calls of each function that took the short way, and that PHP served
	 * for each reason, since the process or thread began */
	uint64_t taken[HONE_FILEREAD_COUNTS];
	uint64_t passed[HONE_FILEREAD_COUNTS];
	struct hone_fileread_path paths[HONE_FILEREAD_PATHS];
	/* the one of the path that was asked for last */
	struct hone_fileread_path *last;
};

#endif
