/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 5 of a call with a path: PHP continues with the open file. */
#include "fileread.h"

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
