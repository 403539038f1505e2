/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps 4 and 5 of a call with a path: reads the open file into one string, or
 * leaves it to PHP. */
#include <sys/mman.h>
#include <unistd.h>
#include "fileread.h"

/*
 * Closes the file if memory is exhausted, even if PHP leaves by longjmp().
 * Returns NULL if memory is exhausted and PHP does not leave at once.
 */
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
static enum php_hone_whole
resume(struct php_hone_file *file, size_t len, enum php_hone_reason reason)
{
	file->head_len = len;
	php_hone_fall_back(reason);
	return PHP_HONE_WHOLE_RESUME;
}

/* The size is a chunk or more. */
static zend_never_inline enum php_hone_whole
read_large(struct php_hone_file *file, size_t size,
	enum php_hone_function function)
{
	struct hone_read_result read;
	zend_string *string;

	if (!php_hone_fits(function, size)) {
		close(file->fd);
		return PHP_HONE_WHOLE_FALL_BACK;
	}
	file->contents = ZSTR_EMPTY_ALLOC();
	string = allocate_or_close(size, file->fd);
	if (string == NULL)
		return PHP_HONE_WHOLE_READ;
	/* A byte read to the place of the zero byte would show that the file is
	 * longer. */
	read = hone_read_sized(file->fd, ZSTR_VAL(string), size);
	if (read.found == HONE_READ_WHOLE) {
		close(file->fd);
		ZSTR_VAL(string)[size] = '\0';
		file->contents = string;
		return PHP_HONE_WHOLE_READ;
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
static zend_never_inline enum php_hone_whole
read_odd(struct php_hone_file *file, struct hone_read_result read)
{
	switch (read.found) {
	case HONE_READ_WHOLE: /* and empty */
		close(file->fd);
		file->contents = ZSTR_EMPTY_ALLOC();
		return PHP_HONE_WHOLE_READ;
	case HONE_READ_NOT_REGULAR:
		return resume(file, 0, PHP_HONE_REASON_KIND);
	default: /* HONE_READ_PART, or an error, which PHP will get again */
		file->place->small = false;
		return resume(file, read.size, PHP_HONE_REASON_CHANGED);
	}
}

/*
 * The first read requests a chunk, as PHP's first read does. If the file does
 * not have the expected kind or size, PHP continues after these bytes as after
 * its own read.
 *
 * A file that was small and regular the last time is read without fstat(): a
 * second read() proves its end, and costs less (bench/php/reads.py,
 * file_get_contents 12). PHP also reads twice, and a third time at the end.
 * Only a terminal would notice the difference.
 */
enum php_hone_whole
php_hone_read_whole(struct php_hone_file *file, enum php_hone_function function)
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
		return PHP_HONE_WHOLE_READ;
	}
	if (read.found == HONE_READ_LARGER)
		return read_large(file, read.size, function);
	return read_odd(file, read);
}

/* Checks that memory is enough for a file, and allocates strings for reads. */

/*
 * The maximum memory that file() needs for each byte of the file. A line of one
 * byte takes the smallest string, 32 bytes, and two elements of 16 bytes in the
 * array. While the array grows, it needs half as much again. The rest is for
 * sizes that PHP rounds up.
 */
#define FILE_TIMES 96

bool
php_hone_fits(enum php_hone_function function, size_t size)
{
	/* The string may need a new chunk of PHP's allocator, and the rest of
	 * the call may need another one. */
	size_t used = zend_memory_usage(true) + 2 * ZEND_MM_CHUNK_SIZE;
	size_t limit = (size_t)PG(memory_limit);

	if (size >= PHP_HONE_READ_MAX)
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

/* Step 5 of a call with a path: PHP continues with the open file. */

void
php_hone_give_back(php_stream *stream, const char *bytes, size_t len)
{
	if (stream->readbuf == NULL) {
		stream->readbuflen = MAX(stream->chunk_size, PHP_HONE_CHUNK);
		stream->readbuf =
			pemalloc(stream->readbuflen, stream->is_persistent);
	}
	ZEND_ASSERT(stream->readpos == stream->writepos &&
		    len <= stream->readbuflen);
	memcpy(stream->readbuf, bytes, len);
	stream->readpos = 0;
	stream->writepos = (zend_off_t)len;
}

php_stream *
php_hone_resume(int fd, const zend_string *path, const char *mode,
	const char *head, size_t len)
{
	php_stream *stream = php_stream_fopen_from_fd(fd, mode, NULL);

	stream->wrapper = &php_plain_files_wrapper;
	stream->orig_path = estrndup(ZSTR_VAL(path), ZSTR_LEN(path));
	if (len > 0) {
		php_hone_give_back(stream, head, len);
		/* PHP has set the position to that of the file, which is after
		 * these bytes. */
		if (stream->position > 0)
			stream->position -= (zend_off_t)len;
	}
	return stream;
}

void
php_hone_choose_buffer(php_stream *stream, enum php_hone_function function)
{
	if (function == PHP_HONE_FILE_GET_CONTENTS)
		php_stream_set_option(stream, PHP_STREAM_OPTION_READ_BUFFER,
			PHP_STREAM_BUFFER_NONE, NULL);
}

zend_string *
php_hone_rest_by_php(php_stream *stream, enum php_hone_function function)
{
	zend_string *string;

	php_hone_choose_buffer(stream, function);
	string = php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, 0);
	php_stream_close(stream);
	return string != NULL ? string : ZSTR_EMPTY_ALLOC();
}
