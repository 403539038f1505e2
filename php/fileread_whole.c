/* SPDX-License-Identifier: BSD-3-Clause */
/* file_get_contents(), readfile() and file(). */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"
#include "SAPI.h"
#include "ext/standard/file.h"

/*
 * PHP opens what its realpath cache does not know, and tells of errors: it
 * looks at every folder of the path for that, and once is enough. NULL: it has
 * told.
 */
static php_stream *
opened_by_php(zend_string *path, bool context)
{
	php_stream *stream =
		php_stream_open_wrapper_ex(ZSTR_VAL(path), "rb", REPORT_ERRORS,
			NULL, php_stream_context_from_zval(NULL, !context));

	hone_fileread_opened(path, stream != NULL);
	return stream;
}

/* As if it had not been opened: PHP will do that again. */
static void
close_unseen(php_stream *stream)
{
	zend_ulong number = (zend_ulong)stream->res->handle;
	HashTable *list = &EG(regular_list);

	php_stream_close(stream);
	if (list->nNextFreeElement == (zend_long)number + 1)
		list->nNextFreeElement--;
}

/* As below. */
static zend_string *
contents_by_php(zend_string *path, bool context,
	enum hone_fileread_function function, int *fd)
{
	php_stream *stream = opened_by_php(path, context);
	zend_string *contents;

	if (stream == NULL) {
		hone_fileread_pass(HONE_PASS_OPEN);
		return NULL;
	}
	contents = hone_fileread_rest(stream, function);
	if (contents == NULL) {
		close_unseen(stream);
		*fd = -1;
	}
	return contents;
}

/* The contents of a path; NULL: *fd is -1, and the call is for PHP; or it is
 * not, and the result is false. */
static zend_string *
contents_of(zend_string *path, bool context,
	enum hone_fileread_function function, int *fd)
{
	struct hone_fileread_head head;
	zend_string *contents;

	*fd = hone_fileread_open(path, context);
	if (*fd == HONE_FILEREAD_UNKNOWN)
		return contents_by_php(path, context, function, fd);
	if (*fd < 0)
		return NULL;
	contents = hone_fileread_whole(fd, function, &head);
	if (contents != NULL) {
		hone_fileread_take_numbers(1, context);
		HONE_G(fileread).taken[function]++;
		return contents;
	}
	if (*fd < 0)
		return NULL;
	hone_fileread_take_numbers(0, context);
	return hone_fileread_by_php(
		hone_fileread_stream(*fd, path, "rb", &head), function);
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
		n = PHPWRITE(data + done, size - done);
		done += n;
	} while (n > 0 && done < size);
	return done;
}

/* The same from a mapping, which is undone: output may end the request. */
static size_t
write_mapped(char *data, size_t size)
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

/* A file that says it has less than a chunk is read, by one read that asks for
 * a chunk; true if it had what it said. Else what came is in `head`. */
static bool
read_short(int fd, size_t size, struct hone_fileread_head *head)
{
	ssize_t got = read(fd, head->bytes, HONE_FILEREAD_CHUNK);

	if (got == (ssize_t)size) {
		close(fd);
		return true;
	}
	head->len = got > 0 ? (size_t)got : 0;
	return hone_fileread_pass(HONE_PASS_CHANGED);
}

/*
 * True if the file went out, and is closed. PHP maps what it puts out as one
 * piece. To read is quicker up to some pages, which then need not be mapped.
 */
static bool
pass_through(int fd, zval *result, struct hone_fileread_head *head)
{
	struct stat st;
	char *mapped;

	head->len = 0;
	hone_fileread_forget_stat();
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
		return hone_fileread_pass(HONE_PASS_KIND);
	if ((uint64_t)st.st_size < HONE_FILEREAD_UNMAPPED) {
		size_t size = (size_t)st.st_size;

		if (!read_short(fd, size, head))
			return false;
		hone_fileread_take_numbers(1, true);
		ZVAL_LONG(result,
			size > 0 ? hone_fileread_write(head->bytes, size) : 0);
		return true;
	}
	if ((uint64_t)st.st_size > HONE_FILEREAD_ONE_PIECE)
		return hone_fileread_pass(HONE_PASS_OUTPUT);
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return hone_fileread_pass(HONE_PASS_KIND);
	close(fd);
	hone_fileread_take_numbers(1, true);
	ZVAL_LONG(result, write_mapped(mapped, (size_t)st.st_size));
	return true;
}

/*
 * Whether a script looks on while there is output, and could see that the file
 * is closed already: callbacks of ob_start(), and of header_register_callback()
 * before the first output.
 */
static bool
script_looks_on(void)
{
	php_output_handler **handlers = zend_stack_base(&OG(handlers));

	for (int i = 0; i < zend_stack_count(&OG(handlers)); i++)
		if (handlers[i]->flags & PHP_OUTPUT_HANDLER_USER)
			return true;
	return Z_TYPE(SG(callback_func)) != IS_UNDEF && !SG(headers_sent);
}

/* All of a stream, as PHP does it; NULL: PHP has told why. */
static void
pass_stream(php_stream *stream, zval *result)
{
	if (stream == NULL) {
		ZVAL_FALSE(result);
		return;
	}
	ZVAL_LONG(result, php_stream_passthru(stream));
	php_stream_close(stream);
}

/* Closes it. */
static void
put_out_file(int fd, const zend_string *path, zval *result)
{
	struct hone_fileread_head head;

	if (pass_through(fd, result, &head)) {
		HONE_G(fileread).taken[HONE_READFILE]++;
		return;
	}
	hone_fileread_take_numbers(0, true);
	pass_stream(hone_fileread_stream(fd, path, "rb", &head), result);
}

bool
hone_readfile(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	int fd;

	if (n == 0 || n > 3 || Z_TYPE_P(arg) != IS_STRING ||
		(n > 1 && !rest_is_default(execute_data)))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (script_looks_on())
		return hone_fileread_pass(HONE_PASS_OUTPUT);
	if (!hone_fileread_is_plain(Z_STR_P(arg)))
		return false;
	fd = hone_fileread_open(Z_STR_P(arg), true);
	if (fd == HONE_FILEREAD_UNKNOWN) {
		hone_fileread_pass(HONE_PASS_UNKNOWN);
		pass_stream(opened_by_php(Z_STR_P(arg), true), result);
	} else if (fd == HONE_FILEREAD_TOLD) {
		ZVAL_FALSE(result);
	} else if (fd < 0) {
		return false;
	} else {
		put_out_file(fd, Z_STR_P(arg), result);
	}
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

	/* Where PHP does not leave at once, the rest would be for nothing. */
	while (line < end && !HONE_FILEREAD_HAS_OOM() &&
		(at = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		add_line(lines, line, at, flags);
		line = at + 1;
	}
	/* Behind the last end of line PHP takes everything as it is. */
	if (line < end && !HONE_FILEREAD_HAS_OOM())
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
