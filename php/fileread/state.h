/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_STATE_H
#define PHP_HONE_FILEREAD_STATE_H
/* The globals of the file reads. */
#include <stdbool.h>
#include <stdint.h>

enum php_hone_function {
#define PHP_HONE_FUNCTION(constant, name, after_php) PHP_HONE_##constant,
#include "functions.def"
#undef PHP_HONE_FUNCTION
	PHP_HONE_FUNCTIONS
};

enum php_hone_reason {
#define PHP_HONE_REASON(constant, text) PHP_HONE_REASON_##constant,
#include "reasons.def"
#undef PHP_HONE_REASON
	PHP_HONE_REASONS
};

/* Entries in the table of known paths; a power of two. */
#define PHP_HONE_PATHS 256

/* An entry of the table of known paths: path.c. */
struct php_hone_path {
	/* the part of the hash that the place in the table does not
	 * determine */
	uint32_t tag;
	/* the chain of PHP's realpath cache that had the path */
	uint16_t chain;
	/* PHP could not open the path the last time */
	bool failed;
	/* the path was a regular file of less than a chunk the last time */
	bool small;
};

struct php_hone_fileread {
	/* INI hone.file_reads */
	bool on;
	/* INI hone.file_reads_huge_pages */
	bool huge_pages;
	/* the module was loaded by dl(): no function is wrapped */
	bool by_dl;
	/* PHP uses its realpath cache in this request */
	bool realpath_cache;
	/* PHP has disabled its realpath cache permanently */
	bool no_realpath_cache;
	/* a device whose files can be mapped; 0: none is known */
	uint64_t device;
	/* calls of each function on the fast path, and calls that fell back for
	 * each reason, since the process or thread began */
	uint64_t taken[PHP_HONE_FUNCTIONS];
	uint64_t fallen_back[PHP_HONE_REASONS];
	struct php_hone_path paths[PHP_HONE_PATHS];
};

#endif
