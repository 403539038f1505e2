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

/*
 * True if all of it was copied, by one call as PHP makes it. Nothing behind
 * proves the end. Else *some tells whether there is something in the target.
 */
static bool
copy_at_once(const int fds[2], bool *some)
{
	ssize_t copied =
		copy_file_range(fds[0], NULL, fds[1], NULL, SSIZE_MAX, 0);
	char behind;

	*some = copied > 0;
	return copied == 0 ||
	       (copied > 0 && pread(fds[0], &behind, 1, copied) == 0);
}

/*
 * Goes on from where the two are, and closes them. After the first call PHP
 * does not make a second one, but reads and writes, and tells what then fails,
 * such as a disk that is full; what is opened to append is never copied by that
 * call, and this stream writes at the end of its file anyway.
 */
static bool
copy_by_php(const zval *arg, const int fds[2], bool some)
{
	php_stream *from =
		hone_fileread_stream(fds[0], Z_STR(arg[0]), "rb", NULL);
	php_stream *to =
		hone_fileread_stream(fds[1], Z_STR(arg[1]), "wb", NULL);
	bool done;

	if (some)
		to->mode[0] = 'a';
	done = php_stream_copy_to_stream_ex(
		       from, to, PHP_STREAM_COPY_ALL, NULL) == SUCCESS;
	php_stream_close(from);
	php_stream_close(to);
	return done;
}

bool
hone_copy(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	int fds[2];
	bool some;

	if (n < 2 || n > 3 || Z_TYPE(arg[0]) != IS_STRING ||
		Z_TYPE(arg[1]) != IS_STRING ||
		(n > 2 && Z_TYPE(arg[2]) != IS_NULL))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!hone_fileread_is_plain(Z_STR(arg[0])) ||
		!hone_fileread_is_plain(Z_STR(arg[1])) ||
		!open_for_copy(Z_STR(arg[0]), Z_STR(arg[1]), fds))
		return false;
	hone_fileread_forget_stat();
	if (copy_at_once(fds, &some)) {
		close(fds[0]);
		close(fds[1]);
		hone_fileread_take_numbers(2, true);
		ZVAL_TRUE(result);
		HONE_G(fileread).taken[HONE_COPY]++;
		return true;
	}
	hone_fileread_pass(HONE_PASS_COPY);
	hone_fileread_take_numbers(0, true);
	ZVAL_BOOL(result, copy_by_php(arg, fds, some));
	return true;
}
