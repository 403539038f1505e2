/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_STATE_H
#define PHP_HONE_FILEREAD_STATE_H
/* The part of the module's globals that belongs to fileread*.c. */
#include <stdbool.h>
#include <stdint.h>

/* More than there are functions or reasons; fileread.c checks. */
#define HONE_FILEREAD_COUNTS 16

struct hone_fileread {
	/* INI hone.file_reads */
	bool on;
	/* INI hone.file_reads_huge_pages */
	bool huge_pages;
	/* PHP looks paths up in its realpath cache, in this request */
	bool realpath_cache;
	/* it never will again */
	bool no_realpath_cache;
	/* calls of each function that took the short way, and that PHP served
	 * for each reason, since the process or thread began */
	uint64_t taken[HONE_FILEREAD_COUNTS];
	uint64_t passed[HONE_FILEREAD_COUNTS];
};

#endif
