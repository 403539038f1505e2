/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether there is memory for a file, and strings to read into. */
#include <sys/mman.h>
#include "fileread.h"

/*
 * The most that file() needs for a byte of the file. A line of one byte takes
 * the smallest string, 32 bytes, and two places of 16 in the array, which has
 * half as many more while it grows. The rest is for what PHP rounds up.
 */
#define FILE_TIMES 96

bool
php_hone_fits(enum php_hone_function function, size_t size)
{
	/* A string may need a whole new chunk of PHP's allocator; so may the
	 * other work of the call. */
	size_t used = zend_memory_usage(true) + 2 * ZEND_MM_CHUNK_SIZE;
	size_t limit = (size_t)PG(memory_limit);

	if (size >= PHP_HONE_READ_MAX)
		return php_hone_fall_back(PHP_HONE_REASON_LARGE);
	if (PG(memory_limit) <= 0)
		return true;
	if (function == PHP_HONE_FILE)
		size *= FILE_TIMES;
	if (used > limit || size > limit - used)
		return php_hone_fall_back(PHP_HONE_REASON_MEMORY);
	return true;
}

zend_string *
php_hone_allocate(size_t len, size_t used)
{
	size_t size = ZEND_MM_ALIGNED_SIZE(_ZSTR_STRUCT_SIZE(len));
	zend_string *string;

	string = PHP_HONE_EMALLOC(size);
	if (string == NULL)
		return NULL;
	/* PHP maps memory of this size for the string alone, at a multiple of
	 * 2 MiB. */
	if (used >= ZEND_MM_CHUNK_SIZE && HONE_G(fileread).huge_pages &&
		is_zend_mm())
		(void)madvise(string, _ZSTR_STRUCT_SIZE(used), MADV_HUGEPAGE);
	GC_SET_REFCOUNT(string, 1);
	GC_TYPE_INFO(string) = GC_STRING;
	ZSTR_H(string) = 0;
	ZSTR_LEN(string) = len;
	return string;
}
