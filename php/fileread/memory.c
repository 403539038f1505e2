/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that memory is enough for a file, and allocates strings for reads. */
#include <sys/mman.h>
#include "fileread.h"

/*
 * The maximum memory that file() needs for each byte of the file. A line of one
 * byte takes the smallest string, 32 bytes, and two elements of 16 bytes in the
 * array. While the array grows, it needs half as much again. The rest is for
 * sizes that PHP rounds up.
 */
#define FILE_TIMES 96

bool
php_hone_fits(enum php_hone_function function, size_t size)
{
	/* The string may need a new chunk of PHP's allocator, and the rest of
	 * the call may need another one. */
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
	/* PHP maps memory of this size separately, at a multiple of 2 MiB. */
	if (used >= ZEND_MM_CHUNK_SIZE && HONE_G(fileread).huge_pages &&
		is_zend_mm())
		(void)madvise(string, _ZSTR_STRUCT_SIZE(used), MADV_HUGEPAGE);
	GC_SET_REFCOUNT(string, 1);
	GC_TYPE_INFO(string) = GC_STRING;
	ZSTR_H(string) = 0;
	ZSTR_LEN(string) = len;
	return string;
}
