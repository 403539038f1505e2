/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings to read into. */
#include <sys/mman.h>
#include "fileread.h"

/* Memory that PHP may refuse, or grant only after a garbage collection. */
bool
hone_fileread_memory_is_tight(size_t size)
{
	/* A string may need a whole new chunk; so may what else is done. */
	return PG(memory_limit) > 0 &&
	       zend_memory_usage(true) + size + 2 * ZEND_MM_CHUNK_SIZE >
		       (size_t)PG(memory_limit);
}

zend_string *
hone_fileread_allocate(size_t len, size_t used)
{
	size_t size = ZEND_MM_ALIGNED_SIZE(_ZSTR_STRUCT_SIZE(len));
	zend_string *string;

	if (used < ZEND_MM_CHUNK_SIZE || !HONE_G(fileread).huge_pages ||
		!is_zend_mm())
		return zend_string_alloc(len, 0);
	/* PHP maps as much for this alone, at a multiple of 2 MiB. */
	string = emalloc(size);
	(void)madvise(string, _ZSTR_STRUCT_SIZE(used), MADV_HUGEPAGE);
	GC_SET_REFCOUNT(string, 1);
	GC_TYPE_INFO(string) = GC_STRING;
	ZSTR_H(string) = 0;
	ZSTR_LEN(string) = len;
	return string;
}
