/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_H
#define PHP_HONE_H
/*
 * Shared by all files of the extension.
 *
 * A part of the extension has a folder, its struct in the globals below, and
 * php_hone_PART_minit(), _rinit(), _mshutdown() and _minfo(), which hone.c
 * calls. Its INI rows are in the table of hone.c, or in one of its own. Names
 * that several files share begin with php_hone or PHP_HONE, so that they differ
 * from those of libhone.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php.h"
#include <hone/hone.h>
#include "fileread/state.h"
#include "cache/state.h"

/* The version of the extension; hone_version() is that of the library. */
#define PHP_HONE_VERSION "0.1.0"

extern zend_module_entry hone_module_entry;
#define phpext_hone_ptr &hone_module_entry

/*
 * Debian's PHP 8.2.36 grants memory beyond memory_limit up to twice the limit,
 * and then kills the process. An allocation that may fail returns NULL instead.
 * PHP records the error and ends the request after the function has returned.
 * Other versions leave by longjmp() when memory is exhausted.
 */
#ifdef ZEND_HAS_OOM
#define PHP_HONE_EMALLOC(size) femalloc(size, true)
#define PHP_HONE_REALLOC(string, len)                                          \
	zend_string_frealloc(string, len, false, true)
#define PHP_HONE_HAS_OOM() ZEND_HAS_OOM()
#else
#define PHP_HONE_EMALLOC(size) emalloc(size)
#define PHP_HONE_REALLOC(string, len) zend_string_realloc(string, len, 0)
#define PHP_HONE_HAS_OOM() false
#endif

/* The state of one thread. */
/* clang-format off */
ZEND_BEGIN_MODULE_GLOBALS(hone)
	/* INI hone.cpu_limit; owned by PHP */
	char *cpu_limit;
	struct php_hone_fileread fileread;
	struct php_hone_cache cache;
ZEND_END_MODULE_GLOBALS(hone)
/* clang-format on */

ZEND_EXTERN_MODULE_GLOBALS(hone)
#define HONE_G(v) ZEND_MODULE_GLOBALS_ACCESSOR(hone, v)

#if defined(ZTS) && defined(COMPILE_DL_HONE)
ZEND_TSRMLS_CACHE_EXTERN()
#endif

#endif
