/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_H
#define PHP_HONE_FILEREAD_H
/*
 * PHP's functions that read whole files, by fewer system calls.
 *
 * Their handlers are wrapped when the module starts. A call for a plain local
 * file is served here; any other goes to the handler that was there before,
 * and so does every error before anything has happened. What turns out odd
 * only once the file is open goes on in PHP's own stream code, with the
 * descriptor that is open. docs/design/php-files.md has the argument.
 */
#include "php_hone.h"

/* The functions, in the order of phpinfo(). */
enum hone_fileread_function { HONE_FILE_GET_CONTENTS, HONE_FILEREAD_FUNCTIONS };

/* Why a call was passed on. fileread.c has the words. */
enum hone_fileread_reason {
	HONE_PASS_OFF,
	HONE_PASS_ARGUMENTS,
	HONE_PASS_PATH,
	HONE_PASS_BASEDIR,
	HONE_PASS_WRAPPER,
	HONE_PASS_PHAR,
	HONE_PASS_OPEN,
	HONE_PASS_KIND,
	HONE_PASS_CHANGED,
	HONE_PASS_MEMORY,
	HONE_PASS_REASONS
};

void hone_fileread_minit(int type);
void hone_fileread_rinit(void);
void hone_fileread_mshutdown(void);
void hone_fileread_minfo(void);

/* Count a call that was passed on, and say so. */
static zend_always_inline bool
hone_fileread_pass(enum hone_fileread_reason reason)
{
	HONE_G(fileread).passed[reason]++;
	return false;
}

/*
 * fileread_path.c. The wrapped functions: true if the call is done, false if
 * it is for PHP's own handler, and then nothing has happened.
 */
bool hone_file_get_contents(zend_execute_data *execute_data, zval *result);

/* Remember the operations that PHP has for plain files. */
void hone_fileread_know_wrapper(void);

#endif
