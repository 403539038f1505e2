/* SPDX-License-Identifier: BSD-3-Clause */
/* copy(): both files by name, and copy_file_range() between them. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"

/*
 * True if PHP would copy: it looks at both names before it opens anything,
 * which this does again, since opening the target empties it.
 */
static bool
may_copy(const zend_string *from, const zend_string *to)
{
	zend_stat_t source, target;

	if (VCWD_STAT(ZSTR_VAL(from), &source) != 0 || !S_ISREG(source.st_mode))
		return hone_fileread_pass(HONE_PASS_KIND);
	if (VCWD_STAT(ZSTR_VAL(to), &target) != 0)
		return true;
	if (!S_ISREG(target.st_mode) || (source.st_ino == target.st_ino &&
						source.st_dev == target.st_dev))
		return hone_fileread_pass(HONE_PASS_KIND);
	return true;
}

/* Opens both or none. */
static bool
open_both(const char *from, zend_string *to, int fds[2])
{
	char target[MAXPATHLEN];
	const realpath_cache_bucket *known = hone_fileread_known(to);
	const char *name = known != NULL
				   ? known->realpath
				   : expand_filepath(ZSTR_VAL(to), target);

	if (name == NULL || (fds[0] = open(from, O_RDONLY)) < 0)
		return hone_fileread_pass(HONE_PASS_OPEN);
	fds[1] = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fds[1] < 0) {
		close(fds[0]);
		return hone_fileread_pass(HONE_PASS_OPEN);
	}
	return true;
}

/* As above. A source that PHP's cache does not know may well not exist. */
static bool
open_for_copy(zend_string *from, zend_string *to, int fds[2])
{
	char copied[MAXPATHLEN];
	const realpath_cache_bucket *known = hone_fileread_known(from);

	if (known == NULL)
		return hone_fileread_pass(HONE_PASS_UNKNOWN);
	if (known->is_dir)
		return hone_fileread_pass(HONE_PASS_KIND);
	/* To ask the cache again may remove what it had. */
	strlcpy(copied, known->realpath, sizeof copied);
	return may_copy(from, to) && open_both(copied, to, fds);
}

void
hone_copy_passed(zend_execute_data *execute_data, const zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);

	if (ZEND_NUM_ARGS() > 0 && Z_TYPE_P(arg) == IS_STRING)
		hone_fileread_opened(Z_STR_P(arg), Z_TYPE_P(result) == IS_TRUE);
}

bool
hone_copy(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	php_stream *from, *to;
	ssize_t copied;
	int fds[2];

	if (n < 2 || n > 3 || Z_TYPE(arg[0]) != IS_STRING ||
		Z_TYPE(arg[1]) != IS_STRING ||
		(n > 2 && Z_TYPE(arg[2]) != IS_NULL))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!hone_fileread_is_plain(Z_STR(arg[0])) ||
		!hone_fileread_is_plain(Z_STR(arg[1])) ||
		!open_for_copy(Z_STR(arg[0]), Z_STR(arg[1]), fds))
		return false;
	hone_fileread_forget_stat();
	do
		copied = copy_file_range(
			fds[0], NULL, fds[1], NULL, SSIZE_MAX, 0);
	while (copied > 0);
	if (copied == 0) {
		close(fds[0]);
		close(fds[1]);
		hone_fileread_take_numbers(2, true);
		ZVAL_TRUE(result);
		HONE_G(fileread).taken[HONE_COPY]++;
		return true;
	}
	/* From where the two are now, PHP knows other ways, and its errors. */
	hone_fileread_pass(HONE_PASS_KIND);
	hone_fileread_take_numbers(0, true);
	from = hone_fileread_stream(fds[0], Z_STR(arg[0]), "rb", NULL);
	to = hone_fileread_stream(fds[1], Z_STR(arg[1]), "wb", NULL);
	ZVAL_BOOL(result, php_stream_copy_to_stream_ex(from, to,
				  PHP_STREAM_COPY_ALL, NULL) == SUCCESS);
	php_stream_close(from);
	php_stream_close(to);
	return true;
}
