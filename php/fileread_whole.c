/* SPDX-License-Identifier: BSD-3-Clause */
/* file_get_contents(), readfile() and file(). */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"
#include "ext/standard/file.h"

/*
 * PHP opens what its realpath cache does not know, and tells of errors: it
 * looks at every folder of the path for that, and once is enough. NULL: it has
 * told.
 */
static zend_string *
opened_by_php(const zend_string *path, bool context,
	enum hone_fileread_function function)
{
	php_stream *stream =
		php_stream_open_wrapper_ex(ZSTR_VAL(path), "rb", REPORT_ERRORS,
			NULL, php_stream_context_from_zval(NULL, !context));

	if (stream == NULL) {
		hone_fileread_pass(HONE_PASS_OPEN);
		return NULL;
	}
	return hone_fileread_rest(stream, function);
}

/* The contents of a path; NULL: *fd is -1, and the call is for PHP; or it is
 * not, and the result is false. */
static zend_string *
contents_of(const zend_string *path, bool context,
	enum hone_fileread_function function, int *fd)
{
	zend_string *contents;

	*fd = hone_fileread_open(path, context);
	if (*fd == HONE_FILEREAD_UNKNOWN)
		return opened_by_php(path, context, function);
	if (*fd < 0)
		return NULL;
	contents = hone_fileread_whole(*fd);
	if (contents != NULL) {
		hone_fileread_take_numbers(1, context);
		HONE_G(fileread).taken[function]++;
		return contents;
	}
	hone_fileread_take_numbers(0, context);
	return hone_fileread_by_php(
		hone_fileread_stream(*fd, path, "rb"), function);
}

/* The arguments from the second on are absent or say what they say then. */
static bool
rest_is_default(zend_execute_data *execute_data)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();

	return n <= 5 && Z_TYPE(arg[1]) == IS_FALSE &&
	       (n < 3 || Z_TYPE(arg[2]) == IS_NULL) &&
	       (n < 4 || (Z_TYPE(arg[3]) == IS_LONG && Z_LVAL(arg[3]) == 0)) &&
	       (n < 5 || Z_TYPE(arg[4]) == IS_NULL);
}

bool
hone_file_get_contents(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	zend_string *contents;
	int fd;

	if (ZEND_NUM_ARGS() == 0 || Z_TYPE_P(arg) != IS_STRING ||
		(ZEND_NUM_ARGS() > 1 && !rest_is_default(execute_data)))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!hone_fileread_is_plain(Z_STR_P(arg)))
		return false;
	contents = contents_of(Z_STR_P(arg), true, HONE_FILE_GET_CONTENTS, &fd);
	if (contents == NULL && fd == -1)
		return false;
	if (contents != NULL)
		ZVAL_STR(result, contents);
	else
		ZVAL_FALSE(result);
	return true;
}

size_t
hone_fileread_write(const char *data, size_t size)
{
	size_t done = 0, n;

	do {
		n = PHPWRITE(data + done, MIN(size - done, INT_MAX));
		done += n;
	} while (n > 0 && done < size);
	return done;
}

size_t
hone_fileread_write_mapped(char *data, size_t size)
{
	volatile size_t done = 0;

	zend_try
	{
		done = hone_fileread_write(data, size);
	}
	zend_catch
	{
		munmap(data, size);
		zend_bailout();
	}
	zend_end_try();
	munmap(data, size);
	return done;
}

/*
 * True if the file went out, and is closed. PHP maps every file. To read is
 * quicker up to some pages, which then need not be mapped.
 */
static bool
pass_through(int fd, zval *result)
{
	char small[HONE_FILEREAD_UNMAPPED];
	struct stat st;
	char *mapped;

	hone_fileread_forget_stat();
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return hone_fileread_pass(HONE_PASS_KIND);
	if ((uint64_t)st.st_size < sizeof small) {
		if (read(fd, small, sizeof small) != st.st_size) {
			lseek(fd, 0, SEEK_SET);
			return hone_fileread_pass(HONE_PASS_CHANGED);
		}
		close(fd);
		hone_fileread_take_numbers(1, true);
		ZVAL_LONG(
			result, hone_fileread_write(small, (size_t)st.st_size));
		return true;
	}
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return hone_fileread_pass(HONE_PASS_KIND);
	close(fd);
	hone_fileread_take_numbers(1, true);
	ZVAL_LONG(
		result, hone_fileread_write_mapped(mapped, (size_t)st.st_size));
	return true;
}

bool
hone_readfile(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	php_stream *stream;
	int fd;

	if (n == 0 || n > 3 || Z_TYPE_P(arg) != IS_STRING ||
		(n > 1 && !rest_is_default(execute_data)))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!hone_fileread_is_plain(Z_STR_P(arg)))
		return false;
	fd = hone_fileread_open(Z_STR_P(arg), true);
	if (fd == HONE_FILEREAD_UNKNOWN)
		return hone_fileread_pass(HONE_PASS_UNKNOWN);
	if (fd == HONE_FILEREAD_TOLD) {
		ZVAL_FALSE(result);
		return true;
	}
	if (fd < 0)
		return false;
	if (pass_through(fd, result)) {
		HONE_G(fileread).taken[HONE_READFILE]++;
		return true;
	}
	hone_fileread_take_numbers(0, true);
	stream = hone_fileread_stream(fd, Z_STR_P(arg), "rb");
	ZVAL_LONG(result, php_stream_passthru(stream));
	php_stream_close(stream);
	return true;
}

/* One line, with its end (keep) or without. */
static void
add_line(zval *lines, const char *line, const char *end, zend_long flags)
{
	if (flags & PHP_FILE_IGNORE_NEW_LINES) {
		if (end > line && end[-1] == '\r')
			end--;
		if (end == line && (flags & PHP_FILE_SKIP_EMPTY_LINES))
			return;
	} else {
		end++;
	}
	add_next_index_stringl(lines, line, (size_t)(end - line));
}

static void
split(zval *lines, const zend_string *contents, zend_long flags)
{
	const char *line = ZSTR_VAL(contents);
	const char *end = line + ZSTR_LEN(contents);
	const char *at;

	while (line < end &&
		(at = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		add_line(lines, line, at, flags);
		line = at + 1;
	}
	/* Behind the last end of line PHP takes everything as it is. */
	if (line < end)
		add_next_index_stringl(lines, line, (size_t)(end - line));
}

bool
hone_file(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	zend_string *contents;
	zend_long flags;
	int fd;

	if (n == 0 || n > 3 || Z_TYPE_P(arg) != IS_STRING ||
		(n > 1 && Z_TYPE(arg[1]) != IS_LONG) ||
		(n > 2 && Z_TYPE(arg[2]) != IS_NULL) ||
		FG(auto_detect_line_endings))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	flags = n > 1 ? Z_LVAL(arg[1]) : 0;
	if ((flags & ~(PHP_FILE_IGNORE_NEW_LINES | PHP_FILE_SKIP_EMPTY_LINES |
			     PHP_FILE_NO_DEFAULT_CONTEXT)) != 0)
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!hone_fileread_is_plain(Z_STR_P(arg)))
		return false;
	contents = contents_of(Z_STR_P(arg),
		(flags & PHP_FILE_NO_DEFAULT_CONTEXT) == 0, HONE_FILE, &fd);
	if (contents == NULL && fd == -1)
		return false;
	if (contents == NULL) {
		ZVAL_FALSE(result);
		return true;
	}
	array_init(result);
	split(result, contents, flags);
	zend_string_release(contents);
	return true;
}
