/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that read the file of a path: open, fstat, read, close. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"
#include "ext/standard/file.h"
#include "ext/standard/php_filestat.h"

/* Up to here a file is read into the stack and its string made after close. */
#define SMALL ((size_t)4096)

/* php_plain_files_wrapper.wops as it was when the module started; only read
 * from then on. */
static const php_stream_wrapper_ops *php_plain_ops;

void
hone_fileread_know_wrapper(void)
{
	php_plain_ops = php_plain_files_wrapper.wops;
}

/* A script may register its own "file", another extension replace PHP's. */
static zend_always_inline bool
wrapper_is_php(void)
{
	if (UNEXPECTED(php_plain_files_wrapper.wops != php_plain_ops))
		return false;
	return EXPECTED(FG(stream_wrappers) == NULL) ||
	       zend_hash_str_find_ptr(FG(stream_wrappers), "file", 4) ==
		       &php_plain_files_wrapper;
}

/* phar:// answers for relative paths of scripts that are in an archive. */
static bool
runs_in_phar(void)
{
	return strncasecmp(zend_get_executed_filename(), "phar://", 7) == 0;
}

bool
hone_fileread_is_plain(const zend_string *path)
{
	if (PG(open_basedir) != NULL && *PG(open_basedir) != '\0')
		return hone_fileread_pass(HONE_PASS_BASEDIR);
	if (!wrapper_is_php())
		return hone_fileread_pass(HONE_PASS_WRAPPER);
	if (ZSTR_LEN(path) == 0 || ZSTR_LEN(path) >= MAXPATHLEN - 1 ||
		memchr(ZSTR_VAL(path), '\0', ZSTR_LEN(path)) != NULL)
		return hone_fileread_pass(HONE_PASS_PATH);
	if (ZSTR_VAL(path)[0] != '/') {
		/* A scheme ends with one. */
		if (memchr(ZSTR_VAL(path), ':', ZSTR_LEN(path)) != NULL)
			return hone_fileread_pass(HONE_PASS_PATH);
		if (runs_in_phar())
			return hone_fileread_pass(HONE_PASS_PHAR);
	}
	return true;
}

/*
 * The name that PHP opens for a path: what its realpath cache has, even if a
 * symbolic link was changed since. The cache is asked first with the path as
 * it is, as PHP does, unless it ends in a way that PHP removes beforehand.
 */
const char *
hone_fileread_name(const zend_string *path, char expanded[MAXPATHLEN])
{
	char last = ZSTR_VAL(path)[ZSTR_LEN(path) - 1];

	if (HONE_G(fileread).realpath_cache && ZSTR_VAL(path)[0] == '/' &&
		last != '/' && last != '.') {
		const realpath_cache_bucket *known = realpath_cache_lookup(
			ZSTR_VAL(path), ZSTR_LEN(path), time(NULL));

		if (known != NULL)
			return known->realpath;
	}
	return expand_filepath(ZSTR_VAL(path), expanded);
}

static zend_always_inline int
open_path(const zend_string *path)
{
	char expanded[MAXPATHLEN];
	const char *name = hone_fileread_name(path, expanded);
	int fd = name == NULL ? -1 : open(name, O_RDONLY);

	if (fd < 0)
		hone_fileread_pass(HONE_PASS_OPEN);
	return fd;
}

void
hone_fileread_take_numbers(zend_long streams, bool context)
{
	HashTable *list = &EG(regular_list);

	if (context)
		(void)php_stream_context_from_zval(NULL, 0);
	if (list->nNextFreeElement == 0)
		list->nNextFreeElement = 1;
	list->nNextFreeElement += streams;
}

/* If there is no memory PHP leaves by longjmp: not without the descriptor. */
static zend_string *
allocate_or_close(size_t len, int fd)
{
	zend_string *volatile string = NULL;

	zend_try
	{
		string = hone_fileread_allocate(len, len);
	}
	zend_catch
	{
		close(fd);
		zend_bailout();
	}
	zend_end_try();
	return string;
}

static zend_string *
read_large(int fd, size_t size)
{
	zend_string *string;

	if (size >= HONE_FILEREAD_MAX || hone_fileread_memory_is_tight(size)) {
		hone_fileread_pass(HONE_PASS_MEMORY);
		return NULL;
	}
	string = allocate_or_close(size, fd);
	/* One more than there is, to the place of the zero byte behind: that
	 * exactly the size comes back proves the end. */
	if (read(fd, ZSTR_VAL(string), size + 1) == (ssize_t)size) {
		close(fd);
		ZSTR_VAL(string)[size] = '\0';
		return string;
	}
	zend_string_efree(string);
	lseek(fd, 0, SEEK_SET);
	hone_fileread_pass(HONE_PASS_CHANGED);
	return NULL;
}

/*
 * The whole file, which is closed; or NULL, and then it stands at its
 * beginning for PHP to read.
 */
static zend_always_inline zend_string *
read_whole(int fd)
{
	char small[SMALL];
	struct stat st;

	hone_fileread_forget_stat();
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		hone_fileread_pass(HONE_PASS_KIND);
		return NULL;
	}
	if ((uint64_t)st.st_size >= SMALL)
		return read_large(fd, (size_t)st.st_size);
	if (read(fd, small, SMALL) == st.st_size) {
		close(fd);
		return zend_string_init(small, (size_t)st.st_size, 0);
	}
	lseek(fd, 0, SEEK_SET);
	hone_fileread_pass(HONE_PASS_CHANGED);
	return NULL;
}

php_stream *
hone_fileread_stream(int fd, const zend_string *path, const char *mode)
{
	php_stream *stream = php_stream_fopen_from_fd(fd, mode, NULL);

	stream->wrapper = &php_plain_files_wrapper;
	stream->orig_path = estrndup(ZSTR_VAL(path), ZSTR_LEN(path));
	return stream;
}

static zend_string *
rest_of(php_stream *stream)
{
	zend_string *string =
		php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, 0);

	php_stream_close(stream);
	return string != NULL ? string : ZSTR_EMPTY_ALLOC();
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
	php_stream *stream;
	int fd;

	if (ZEND_NUM_ARGS() == 0 || Z_TYPE_P(arg) != IS_STRING ||
		(ZEND_NUM_ARGS() > 1 && !rest_is_default(execute_data)))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!hone_fileread_is_plain(Z_STR_P(arg)) ||
		(fd = open_path(Z_STR_P(arg))) < 0)
		return false;
	contents = read_whole(fd);
	if (contents != NULL) {
		hone_fileread_take_numbers(1, true);
		HONE_G(fileread).taken[HONE_FILE_GET_CONTENTS]++;
	} else {
		hone_fileread_take_numbers(0, true);
		stream = hone_fileread_stream(fd, Z_STR_P(arg), "rb");
		php_stream_set_option(stream, PHP_STREAM_OPTION_READ_BUFFER,
			PHP_STREAM_BUFFER_NONE, NULL);
		contents = rest_of(stream);
	}
	ZVAL_STR(result, contents);
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

/* The same from a file that is mapped; output may end the request. */
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
	ZVAL_LONG(result, write_mapped(mapped, (size_t)st.st_size));
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
	if (!hone_fileread_is_plain(Z_STR_P(arg)) ||
		(fd = open_path(Z_STR_P(arg))) < 0)
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
	bool context;
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
	if (!hone_fileread_is_plain(Z_STR_P(arg)) ||
		(fd = open_path(Z_STR_P(arg))) < 0)
		return false;
	context = (flags & PHP_FILE_NO_DEFAULT_CONTEXT) == 0;
	contents = read_whole(fd);
	if (contents != NULL) {
		hone_fileread_take_numbers(1, context);
		HONE_G(fileread).taken[HONE_FILE]++;
	} else {
		hone_fileread_take_numbers(0, context);
		contents =
			rest_of(hone_fileread_stream(fd, Z_STR_P(arg), "rb"));
	}
	array_init(result);
	split(result, contents, flags);
	zend_string_release(contents);
	return true;
}
