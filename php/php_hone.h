/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_H
#define PHP_HONE_H
/*
 * What the files of the extension share.
 *
 * A part of it that needs more than functions (its own state, INI rows, a
 * section of phpinfo()) brings, each as one line: its struct in the globals
 * below, its rows in the table of hone.c, and calls named for the part from
 * hone.c's MINIT, RINIT, RSHUTDOWN, MSHUTDOWN and MINFO.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php.h"
#include <hone/hone.h>
#include "fileread_state.h"

/* The extension's own; hone_version() tells that of the library. */
#define PHP_HONE_VERSION "0.1.0"

extern zend_module_entry hone_module_entry;
#define phpext_hone_ptr &hone_module_entry

/* State of one thread; no part keeps any elsewhere. */
/* clang-format off */
ZEND_BEGIN_MODULE_GLOBALS(hone)
	/* INI hone.cpu_limit; owned by PHP */
	char *cpu_limit;
	struct hone_fileread fileread;
ZEND_END_MODULE_GLOBALS(hone)
/* clang-format on */

ZEND_EXTERN_MODULE_GLOBALS(hone)
#define HONE_G(v) ZEND_MODULE_GLOBALS_ACCESSOR(hone, v)

#if defined(ZTS) && defined(COMPILE_DL_HONE)
ZEND_TSRMLS_CACHE_EXTERN()
#endif

#endif
