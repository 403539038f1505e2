/* SPDX-License-Identifier: BSD-3-Clause */
/* readfile(): writes a file to PHP's output. */
#include <sys/mman.h>
#include <unistd.h>
#include "fileread.h"
#include "SAPI.h"

size_t
php_hone_write_all(const char *data, size_t size)
{
	size_t done = 0, n;

	do {
		n = PHPWRITE(data + done, size - done);
		done += n;
	} while (n > 0 && done < size);
	return done;
}

/* The same from a mapping. Unmaps it also if the output ends the request. */
static size_t
write_mapped(char *data, size_t size)
{
	volatile size_t done = 0;

	zend_try
	{
		done = php_hone_write_all(data, size);
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

/* As PHP does. Returns true if the output was made and the file is closed. */
static bool
put_out_mapped(int fd, size_t size, zval *result)
{
	char *mapped;

	if ((uint64_t)size > PHP_HONE_ONE_PIECE)
		return php_hone_fall_back(PHP_HONE_REASON_OUTPUT);
	mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return php_hone_fall_back(PHP_HONE_REASON_KIND);
	close(fd);
	php_hone_take_numbers(1, true);
	ZVAL_LONG(result, write_mapped(mapped, size));
	return true;
}

/* Returns true if the file was output and is closed. Up to a few pages, read()
 * is faster than a mapping. */
static bool
put_out_whole(struct php_hone_file *file, zval *result)
{
	struct hone_read_result read;

	file->head_len = 0;
	php_hone_forget_stat();
	read = hone_read_into(file->fd, file->head, PHP_HONE_UNMAPPED);
	switch (read.found) {
	case HONE_READ_WHOLE:
		close(file->fd);
		php_hone_take_numbers(1, true);
		ZVAL_LONG(result, read.size > 0 ? php_hone_write_all(
							  file->head, read.size)
						: 0);
		return true;
	case HONE_READ_LARGER:
		return put_out_mapped(file->fd, read.size, result);
	case HONE_READ_NOT_REGULAR:
		return php_hone_fall_back(PHP_HONE_REASON_KIND);
	default: /* HONE_READ_PART, or an error, which PHP will get again */
		file->head_len = read.size;
		return php_hone_fall_back(PHP_HONE_REASON_CHANGED);
	}
}

#if PHP_VERSION_ID >= 80600
#define HEADER_CALLBACK_IS_SET() ZEND_FCC_INITIALIZED(SG(send_header_fcc))
#else
#define HEADER_CALLBACK_IS_SET() (Z_TYPE(SG(callback_func)) != IS_UNDEF)
#endif

/* Whether callbacks of ob_start(), or of header_register_callback() before the
 * first output, could see that the file is closed already. */
static bool
script_watches(void)
{
	php_output_handler **handlers = zend_stack_base(&OG(handlers));

	for (int i = 0; i < zend_stack_count(&OG(handlers)); i++)
		if (handlers[i]->flags & PHP_OUTPUT_HANDLER_USER)
			return true;
	return HEADER_CALLBACK_IS_SET() && !SG(headers_sent);
}

/* PHP outputs a stream. NULL: PHP has reported an error. */
static void
put_out_by_php(php_stream *stream, zval *result)
{
	if (stream == NULL) {
		ZVAL_FALSE(result);
		return;
	}
	ZVAL_LONG(result, php_stream_passthru(stream));
	php_stream_close(stream);
}

static void
put_out_file(struct php_hone_file *file, const zend_string *path, zval *result)
{
	if (put_out_whole(file, result)) {
		HONE_G(fileread).taken[PHP_HONE_READFILE]++;
		return;
	}
	php_hone_take_numbers(0, true);
	put_out_by_php(php_hone_resume(file->fd, path, "rb", file->head,
			       file->head_len),
		result);
}

bool
php_hone_readfile(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	struct php_hone_file file;

	if (n == 0 || n > 3 || Z_TYPE_P(arg) != IS_STRING ||
		(n > 1 && !php_hone_rest_is_default(execute_data)))
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	if (script_watches())
		return php_hone_fall_back(PHP_HONE_REASON_OUTPUT);
	if (!php_hone_accepts(Z_STR_P(arg)))
		return false;
	switch (php_hone_open(&file, Z_STR_P(arg), true)) {
	case PHP_HONE_OPENED:
		put_out_file(&file, Z_STR_P(arg), result);
		return true;
	case PHP_HONE_OPEN_UNKNOWN:
		php_hone_fall_back(PHP_HONE_REASON_UNKNOWN);
		put_out_by_php(
			php_hone_open_by_php(Z_STR_P(arg), true), result);
		return true;
	case PHP_HONE_OPEN_REPORTED:
		ZVAL_FALSE(result);
		return true;
	default:
		return false;
	}
}
