/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 4 of a call with a path: reads the open file into one string. */
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
