/* SPDX-License-Identifier: BSD-3-Clause */
/* file_get_contents() and file(): all steps of a call with a path. */
#include "fileread.h"

/* Closes a stream and returns its resource number, because PHP opens the file
 * again. */
static void
close_unseen(php_stream *stream)
{
	zend_ulong number = (zend_ulong)stream->res->handle;
	HashTable *list = &EG(regular_list);

	php_stream_close(stream);
	if (list->nNextFreeElement == (zend_long)number + 1)
		list->nNextFreeElement--;
}

/* contents_of() for a path without an entry in PHP's realpath cache. */
static bool
contents_by_php(const zend_string *path, bool context,
	enum php_hone_function function, zend_string **contents)
{
	php_stream *stream = php_hone_open_by_php(path, context);

	if (stream == NULL) {
		php_hone_fall_back(PHP_HONE_REASON_OPEN);
		return true;
	}
	*contents = php_hone_rest(stream, function);
	if (*contents != NULL)
		return true;
	close_unseen(stream);
	return false;
}

/*
 * Returns true if the call is complete. *contents is then the file, or NULL if
 * PHP reported an error. Returns false if the call falls back.
 *
 * Inline in both functions: this saves 20 of 700 instructions for 12 bytes.
 */
static zend_always_inline bool
contents_of(const zend_string *path, bool context,
	enum php_hone_function function, zend_string **contents)
{
	struct php_hone_file file;

	*contents = NULL;
	switch (php_hone_open(&file, path, context)) {
	case PHP_HONE_OPENED:
		break;
	case PHP_HONE_OPEN_UNKNOWN:
		return contents_by_php(path, context, function, contents);
	case PHP_HONE_OPEN_REPORTED:
		return true;
	default:
		return false;
	}
	switch (php_hone_read_whole(&file, function)) {
	case PHP_HONE_WHOLE_READ:
		php_hone_take_numbers(1, context);
		HONE_G(fileread).taken[function]++;
		*contents = file.contents;
		return true;
	case PHP_HONE_WHOLE_RESUME:
		php_hone_take_numbers(0, context);
		*contents = php_hone_rest_by_php(
			php_hone_resume(
				file.fd, path, "rb", file.head, file.head_len),
			function);
		return true;
	default:
		return false;
	}
}

bool
php_hone_file_get_contents(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	zend_string *contents;

	if (ZEND_NUM_ARGS() == 0 || Z_TYPE_P(arg) != IS_STRING ||
		(ZEND_NUM_ARGS() > 1 &&
			!php_hone_rest_is_default(execute_data)))
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	if (!php_hone_accepts(Z_STR_P(arg)) ||
		!contents_of(Z_STR_P(arg), true, PHP_HONE_FILE_GET_CONTENTS,
			&contents))
		return false;
	if (contents != NULL)
		ZVAL_STR(result, contents);
	else
		ZVAL_FALSE(result);
	return true;
}

/* Adds one line, without its end if the flags require this. */
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

	/* Memory may be exhausted without an immediate exit of PHP. Further
	 * lines would be useless then. */
	while (line < end && !PHP_HONE_HAS_OOM() &&
		(at = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		add_line(lines, line, at, flags);
		line = at + 1;
	}
	/* PHP adds the text after the last end of line unchanged. */
	if (line < end && !PHP_HONE_HAS_OOM())
		add_next_index_stringl(lines, line, (size_t)(end - line));
}

bool
php_hone_file(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	zend_string *contents;
	zend_long flags;

	if (n == 0 || n > 3 || Z_TYPE_P(arg) != IS_STRING ||
		(n > 1 && Z_TYPE(arg[1]) != IS_LONG) ||
		(n > 2 && Z_TYPE(arg[2]) != IS_NULL) ||
		FG(auto_detect_line_endings))
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	flags = n > 1 ? Z_LVAL(arg[1]) : 0;
	if ((flags & ~(PHP_FILE_IGNORE_NEW_LINES | PHP_FILE_SKIP_EMPTY_LINES |
			     PHP_FILE_NO_DEFAULT_CONTEXT)) != 0)
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	if (!php_hone_accepts(Z_STR_P(arg)) ||
		!contents_of(Z_STR_P(arg),
			(flags & PHP_FILE_NO_DEFAULT_CONTEXT) == 0,
			PHP_HONE_FILE, &contents))
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
