/* SPDX-License-Identifier: BSD-3-Clause */
/* file_get_contents() and file(): all steps of a call with a path. */
#include <sys/mman.h>
#include <unistd.h>
#include "fileread.h"

/* Linux reads at most this at once (MAX_RW_COUNT with pages of 64 KiB). */
#define READ_MAX ((size_t)0x7fff0000)

/*
 * The maximum memory that file() needs for each byte. A line of one byte takes
 * the smallest string, 32 bytes, and two elements of 16 bytes in the array,
 * which needs half as much again while it grows. The rest is for rounding.
 */
#define FILE_TIMES 96

bool
php_hone_fits(enum php_hone_function function, size_t size)
{
	/* The string may need a new chunk of PHP's allocator, and the rest of
	 * the call may need another one. */
	size_t used = zend_memory_usage(true) + 2 * ZEND_MM_CHUNK_SIZE;
	size_t limit = (size_t)PG(memory_limit);

	if (size >= READ_MAX)
		return php_hone_fall_back(PHP_HONE_REASON_LARGE);
	if (PG(memory_limit) <= 0)
		return true;
	if (function == PHP_HONE_FILE)
		size *= FILE_TIMES;
	if (used > limit || size > limit - used)
		return php_hone_fall_back(PHP_HONE_REASON_MEMORY);
	return true;
}

zend_string *
php_hone_allocate(size_t len, size_t used)
{
	size_t size = ZEND_MM_ALIGNED_SIZE(_ZSTR_STRUCT_SIZE(len));
	zend_string *string;

	string = PHP_HONE_EMALLOC(size);
	if (string == NULL)
		return NULL;
	/* PHP maps memory of this size separately, at a multiple of 2 MiB. */
	if (used >= ZEND_MM_CHUNK_SIZE && HONE_G(fileread).huge_pages &&
		is_zend_mm())
		(void)madvise(string, _ZSTR_STRUCT_SIZE(used), MADV_HUGEPAGE);
	GC_SET_REFCOUNT(string, 1);
	GC_TYPE_INFO(string) = GC_STRING;
	ZSTR_H(string) = 0;
	ZSTR_LEN(string) = len;
	return string;
}

enum whole {
	/* `contents` is the whole file, which is closed */
	WHOLE_READ,
	/* PHP has to continue after `head`; counted */
	WHOLE_RESUME,
	/* memory might not be enough: nothing was read, and the file is closed;
	 * counted */
	WHOLE_FALL_BACK
};

/* Returns NULL if memory is exhausted and PHP does not leave by longjmp(). */
static zend_string *
allocate_or_close(size_t len, int fd)
{
	zend_string *volatile string = NULL;

	zend_try
	{
		string = php_hone_allocate(len, len);
	}
	zend_catch
	{
		close(fd);
		zend_bailout();
	}
	zend_end_try();
	if (string == NULL)
		close(fd);
	return string;
}

/* PHP continues after the first `len` bytes, which are in `head`. */
static enum whole
resume(struct php_hone_file *file, size_t len, enum php_hone_reason reason)
{
	file->head_len = len;
	php_hone_fall_back(reason);
	return WHOLE_RESUME;
}

/* The size is a chunk or more. */
static zend_never_inline enum whole
read_large(struct php_hone_file *file, size_t size,
	enum php_hone_function function)
{
	struct hone_read_result read;
	zend_string *string;

	if (!php_hone_fits(function, size)) {
		close(file->fd);
		return WHOLE_FALL_BACK;
	}
	file->contents = ZSTR_EMPTY_ALLOC();
	string = allocate_or_close(size, file->fd);
	if (string == NULL)
		return WHOLE_READ;
	/* A byte read to the place of the zero byte would show that the file is
	 * longer. */
	read = hone_read_sized(file->fd, ZSTR_VAL(string), size);
	if (read.found == HONE_READ_WHOLE) {
		close(file->fd);
		ZSTR_VAL(string)[size] = '\0';
		file->contents = string;
		return WHOLE_READ;
	}
	if (read.size > PHP_HONE_CHUNK) {
		lseek(file->fd, 0, SEEK_SET);
		read.size = 0;
	}
	memcpy(file->head, ZSTR_VAL(string), read.size);
	zend_string_efree(string);
	return resume(file, read.size, PHP_HONE_REASON_CHANGED);
}

/* The file is empty, is not regular, or does not have its size. */
static zend_never_inline enum whole
read_odd(struct php_hone_file *file, struct hone_read_result read)
{
	switch (read.found) {
	case HONE_READ_WHOLE: /* and empty */
		close(file->fd);
		file->contents = ZSTR_EMPTY_ALLOC();
		return WHOLE_READ;
	case HONE_READ_NOT_REGULAR:
		return resume(file, 0, PHP_HONE_REASON_KIND);
	default: /* HONE_READ_PART, or an error, which PHP will get again */
		file->place->small = false;
		return resume(file, read.size, PHP_HONE_REASON_CHANGED);
	}
}

/*
 * The first read requests a chunk, as PHP's first read does, so that PHP can
 * continue as after its own read. A file that was small and regular the last
 * time is read without fstat(): a second read() proves its end, and costs less
 * (bench/php/reads.py, file_get_contents 12). Only a terminal would notice it.
 */
static enum whole
read_whole(struct php_hone_file *file, enum php_hone_function function)
{
	struct hone_read_result read;

	php_hone_forget_stat();
	if (file->place->small)
		read = hone_read_small(file->fd, file->head, PHP_HONE_CHUNK);
	else
		read = hone_read_into(file->fd, file->head, PHP_HONE_CHUNK);
	if (read.found == HONE_READ_WHOLE && read.size > 0) {
		close(file->fd);
		file->place->small = true;
		file->contents = zend_string_init(file->head, read.size, 0);
		return WHOLE_READ;
	}
	if (read.found == HONE_READ_LARGER)
		return read_large(file, read.size, function);
	return read_odd(file, read);
}

/* Returns the resource number, because PHP opens the file again. */
static void
close_unseen(php_stream *stream)
{
	zend_ulong number = (zend_ulong)stream->res->handle;
	HashTable *list = &EG(regular_list);

	php_stream_close(stream);
	if (list->nNextFreeElement == (zend_long)number + 1)
		list->nNextFreeElement--;
}

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
	switch (read_whole(&file, function)) {
	case WHOLE_READ:
		php_hone_take_numbers(1, context);
		HONE_G(fileread).taken[function]++;
		*contents = file.contents;
		return true;
	case WHOLE_RESUME:
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

	/* Memory may be exhausted without an immediate exit of PHP. */
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
