/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a stream is one of PHP's plain files, and reading it. */
#include <sys/stat.h>
#include <unistd.h>
#include "fileread_others.h"
#include "fileread_plain.h"
#include "ext/standard/file.h"

bool
hone_fileread_is_plain_stream(const php_stream *stream)
{
	return stream->ops == &php_stream_stdio_ops &&
	       hone_fileread_same_streams() &&
	       stream->wrapper == &php_plain_files_wrapper &&
	       stream->readfilters.head == NULL && stream->ctx == NULL &&
	       stream->stdiocast == NULL &&
	       (stream->flags &
		       (PHP_STREAM_FLAG_NO_BUFFER | PHP_STREAM_FLAG_NO_SEEK |
			       PHP_STREAM_FLAG_IS_DIR)) == 0 &&
	       /* Any other length of the buffer, and PHP's reads are not of
		* one chunk each. */
	       stream->chunk_size > 1 &&
	       (stream->readbuf == NULL ||
		       stream->readbuflen == stream->chunk_size);
}

php_stream *
hone_fileread_stream_of(const zval *arg)
{
	const zend_resource *resource = Z_RES_P(arg);

	if (resource->type != php_file_le_stream() &&
		resource->type != php_file_le_pstream())
		return NULL;
	return resource->ptr;
}

bool
hone_fileread_know(struct hone_fileread_plain *plain, php_stream *stream)
{
	struct stat st;
	zend_off_t behind;

	if (stream == NULL || !hone_fileread_is_plain_stream(stream))
		return hone_fileread_pass(HONE_PASS_STREAM);
	plain->stream = stream;
	plain->buffered = (size_t)(stream->writepos - stream->readpos);
	if (stream->ops->cast(stream, PHP_STREAM_AS_FD, (void **)&plain->fd) !=
			SUCCESS ||
		fstat(plain->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return hone_fileread_pass(HONE_PASS_KIND);
	behind = st.st_size - stream->position - (zend_off_t)plain->buffered;
	if (stream->position < 0 ||
		(behind <= 0 && stream->chunk_size != HONE_FILEREAD_CHUNK))
		return hone_fileread_pass(HONE_PASS_SHORT);
	plain->behind = behind > 0 ? (size_t)behind : 0;
	plain->past = behind < 0;
	plain->device = st.st_dev;
	return true;
}

bool
hone_fileread_at_end(const struct hone_fileread_plain *plain)
{
	char chunk[HONE_FILEREAD_CHUNK];
	ssize_t got = read(plain->fd, chunk, sizeof chunk);

	hone_fileread_forget_stat();
	if (got > 0)
		hone_fileread_give_back(plain->stream, chunk, (size_t)got);
	if (got == 0)
		plain->stream->eof = 1;
	return got == 0;
}

size_t
hone_fileread_straight(
	const struct hone_fileread_plain *plain, char *to, size_t n)
{
	php_stream *stream = plain->stream;
	ssize_t got;

	if (plain->buffered > 0)
		php_stream_read(stream, to, plain->buffered);
	if (n == 0)
		return plain->buffered;
	got = read(plain->fd, to + plain->buffered, n);
	hone_fileread_forget_stat();
	if (got < 0)
		return plain->buffered;
	stream->position += got;
	return plain->buffered + (size_t)got;
}
