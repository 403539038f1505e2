/* SPDX-License-Identifier: BSD-3-Clause */
/* copy(): opens both files by name, and copies by copy_file_range(). */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"

/* Whether PHP would copy. As PHP does, calls stat() for both names before the
 * target is opened, because an open empties the target. */
static bool
may_copy(const zend_string *from, const zend_string *to)
{
	zend_stat_t source, target;

	if (VCWD_STAT(ZSTR_VAL(from), &source) != 0 || !S_ISREG(source.st_mode))
		return php_hone_fall_back(PHP_HONE_REASON_KIND);
	if (VCWD_STAT(ZSTR_VAL(to), &target) != 0)
		return true;
	if (!S_ISREG(target.st_mode) || (source.st_ino == target.st_ino &&
						source.st_dev == target.st_dev))
		return php_hone_fall_back(PHP_HONE_REASON_KIND);
	return true;
}

/* Opens both files or none. A source without an entry in PHP's realpath cache
 * falls back, since it may not exist. */
static bool
open_for_copy(zend_string *from, zend_string *to, int fds[2])
{
	char source[MAXPATHLEN], target[MAXPATHLEN];
	struct php_hone_path *place;
	const realpath_cache_bucket *known = php_hone_known(from, &place);
	const char *name;

	if (known == NULL)
		return php_hone_fall_back(PHP_HONE_REASON_UNKNOWN);
	if (known->is_dir)
		return php_hone_fall_back(PHP_HONE_REASON_KIND);
	/* The next search of the cache may remove the entry. */
	strlcpy(source, known->realpath, sizeof source);
	if (!may_copy(from, to))
		return false;
	known = php_hone_known(to, &place);
	name = known != NULL ? known->realpath
			     : expand_filepath(ZSTR_VAL(to), target);
	if (name == NULL || (fds[0] = open(source, O_RDONLY)) < 0)
		return php_hone_fall_back(PHP_HONE_REASON_OPEN);
	fds[1] = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fds[1] >= 0)
		return true;
	close(fds[0]);
	return php_hone_fall_back(PHP_HONE_REASON_OPEN);
}

void
php_hone_after_copy(zend_execute_data *execute_data, const zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);

	if (ZEND_NUM_ARGS() > 0 && Z_TYPE_P(arg) == IS_STRING)
		php_hone_note_opened(Z_STR_P(arg), Z_TYPE_P(result) == IS_TRUE);
}

/* Returns true if the copy is complete: a pread() after the copied bytes proves
 * the end. Sets *some if the target has bytes. */
static bool
copy_at_once(const int fds[2], bool *some)
{
	ssize_t copied =
		copy_file_range(fds[0], NULL, fds[1], NULL, SSIZE_MAX, 0);
	char more;

	*some = copied > 0;
	return copied == 0 ||
	       (copied > 0 && pread(fds[0], &more, 1, copied) == 0);
}

/*
 * PHP continues from the positions of both files, and closes them. Before PHP
 * 8.6, PHP then has to read and write, to report errors such as a full disk. It
 * never calls copy_file_range() for a target that is open for append, so this
 * function sets that mode. The stream writes at the end of its file in any
 * case.
 */
static bool
copy_by_php(const zval *arg, const int fds[2], bool some)
{
	php_stream *from =
		php_hone_resume(fds[0], Z_STR(arg[0]), "rb", NULL, 0);
	php_stream *to = php_hone_resume(fds[1], Z_STR(arg[1]), "wb", NULL, 0);
	bool done;

	if (some && PHP_VERSION_ID < 80600)
		to->mode[0] = 'a';
	done = php_stream_copy_to_stream_ex(
		       from, to, PHP_STREAM_COPY_ALL, NULL) == SUCCESS;
	php_stream_close(from);
	php_stream_close(to);
	return done;
}

bool
php_hone_copy(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	int fds[2];
	bool some;

	if (n < 2 || n > 3 || Z_TYPE(arg[0]) != IS_STRING ||
		Z_TYPE(arg[1]) != IS_STRING ||
		(n > 2 && Z_TYPE(arg[2]) != IS_NULL))
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	if (php_stream_stdio_ops.write != php_hone_stream_ops.write)
		return php_hone_fall_back(PHP_HONE_REASON_WRAPPER);
	if (!php_hone_accepts(Z_STR(arg[0])) ||
		!php_hone_accepts(Z_STR(arg[1])) ||
		!open_for_copy(Z_STR(arg[0]), Z_STR(arg[1]), fds))
		return false;
	php_hone_forget_stat();
	if (copy_at_once(fds, &some)) {
		close(fds[0]);
		close(fds[1]);
		php_hone_take_numbers(2, true);
		ZVAL_TRUE(result);
		HONE_G(fileread).taken[PHP_HONE_COPY]++;
		return true;
	}
	php_hone_fall_back(PHP_HONE_REASON_COPY);
	php_hone_take_numbers(0, true);
	ZVAL_BOOL(result, copy_by_php(arg, fds, some));
	return true;
}
