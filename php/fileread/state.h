/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_STATE_H
#define PHP_HONE_FILEREAD_STATE_H
/* The globals of the file reads. */
#include <stdbool.h>
#include <stdint.h>

enum php_hone_function {
#define PHP_HONE_FUNCTION(constant, name) PHP_HONE_##constant,
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
	uint32_t tag;   /* the bits of the hash that are not its place */
	uint16_t chain; /* of PHP's realpath cache, which had the path */
	bool failed;    /* PHP could not open the path the last time */
	bool small;     /* a regular file of less than a chunk, the last time */
};

struct php_hone_fileread {
	bool on;         /* INI hone.file_reads */
	bool huge_pages; /* INI hone.file_reads_huge_pages */
	bool by_dl;      /* the module was loaded by dl(): nothing is wrapped */
	bool realpath_cache;    /* PHP uses this cache in this request */
	bool no_realpath_cache; /* PHP has disabled it permanently */
	uint64_t device;        /* its files can be mapped; 0: none is known */
	/* calls since the process or thread began */
	uint64_t taken[PHP_HONE_FUNCTIONS];
	uint64_t fallen_back[PHP_HONE_REASONS];
	struct php_hone_path paths[PHP_HONE_PATHS];
};

#endif
