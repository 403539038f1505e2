/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 1 of a call with a path: whether the path may take the fast path. */
#include "others.h"

bool
php_hone_rest_is_default(zend_execute_data *execute_data)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();

	return n <= 5 && Z_TYPE(arg[1]) == IS_FALSE &&
	       (n < 3 || Z_TYPE(arg[2]) == IS_NULL) &&
	       (n < 4 || (Z_TYPE(arg[3]) == IS_LONG && Z_LVAL(arg[3]) == 0)) &&
	       (n < 5 || Z_TYPE(arg[4]) == IS_NULL);
}

/* A script may register its own wrapper "file", and another extension may
 * replace PHP's wrapper. */
static zend_always_inline bool
wrapper_is_php(void)
{
	if (UNEXPECTED(!php_hone_same_files()))
		return false;
	return EXPECTED(FG(stream_wrappers) == NULL) ||
	       zend_hash_str_find_ptr(FG(stream_wrappers), "file", 4) ==
		       &php_plain_files_wrapper;
}

/* In a script from an archive, phar:// resolves relative paths. */
static bool
runs_in_phar(void)
{
	return strncasecmp(zend_get_executed_filename(), "phar://", 7) == 0;
}

bool
php_hone_accepts(const zend_string *path)
{
	if (PG(open_basedir) != NULL && *PG(open_basedir) != '\0')
		return php_hone_fall_back(PHP_HONE_REASON_BASEDIR);
	if (!wrapper_is_php())
		return php_hone_fall_back(PHP_HONE_REASON_WRAPPER);
	if (ZSTR_LEN(path) == 0 || ZSTR_LEN(path) >= MAXPATHLEN - 1 ||
		memchr(ZSTR_VAL(path), '\0', ZSTR_LEN(path)) != NULL)
		return php_hone_fall_back(PHP_HONE_REASON_PATH);
	if (!php_hone_fits(PHP_HONE_FILE_GET_CONTENTS, 0))
		return false;
	if (ZSTR_VAL(path)[0] != '/') {
		/* A scheme ends with a colon. */
		if (memchr(ZSTR_VAL(path), ':', ZSTR_LEN(path)) != NULL)
			return php_hone_fall_back(PHP_HONE_REASON_PATH);
		if (runs_in_phar())
			return php_hone_fall_back(PHP_HONE_REASON_PHAR);
	}
	return true;
}
