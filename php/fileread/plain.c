/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether a stream is a plain file of PHP, and reads such a file
 * without PHP. */
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"

bool
php_hone_is_plain(const php_stream *stream)
{
	return stream->ops == &php_stream_stdio_ops &&
	       php_hone_same_streams() &&
	       stream->wrapper == &php_plain_files_wrapper &&
	       stream->readfilters.head == NULL && stream->ctx == NULL &&
	       stream->stdiocast == NULL &&
	       (stream->flags &
		       (PHP_STREAM_FLAG_NO_BUFFER | PHP_STREAM_FLAG_NO_SEEK |
			       PHP_STREAM_FLAG_IS_DIR)) == 0 &&
	       /* With a buffer of another length, PHP's reads are not of one
		* chunk each. */
	       stream->chunk_size > 1 &&
	       (stream->readbuf == NULL ||
		       stream->readbuflen == stream->chunk_size);
}

php_stream *
php_hone_stream_of(const zval *arg)
{
	const zend_resource *resource = Z_RES_P(arg);

	if (resource->type != php_file_le_stream() &&
		resource->type != php_file_le_pstream())
		return NULL;
	return resource->ptr;
}

bool
php_hone_plain_of(struct php_hone_plain *plain, php_stream *stream)
{
	struct stat st;
	zend_off_t left;

	if (stream == NULL || !php_hone_is_plain(stream))
		return php_hone_fall_back(PHP_HONE_REASON_STREAM);
	plain->stream = stream;
	plain->buffered = (size_t)(stream->writepos - stream->readpos);
	if (stream->ops->cast(stream, PHP_STREAM_AS_FD, (void **)&plain->fd) !=
			SUCCESS ||
		fstat(plain->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return php_hone_fall_back(PHP_HONE_REASON_KIND);
	left = st.st_size - stream->position - (zend_off_t)plain->buffered;
	if (stream->position < 0 ||
		(left <= 0 && stream->chunk_size != PHP_HONE_CHUNK))
		return php_hone_fall_back(PHP_HONE_REASON_SHORT);
	plain->left = left > 0 ? (size_t)left : 0;
	plain->past = left < 0;
	plain->device = st.st_dev;
	return true;
}

bool
php_hone_is_at_end(const struct php_hone_plain *plain)
{
	char chunk[PHP_HONE_CHUNK];
	ssize_t got = read(plain->fd, chunk, sizeof chunk);

	php_hone_forget_stat();
	if (got > 0)
		php_hone_give_back(plain->stream, chunk, (size_t)got);
	if (got == 0)
		plain->stream->eof = 1;
	return got == 0;
}

size_t
php_hone_read_straight(const struct php_hone_plain *plain, char *to, size_t n)
{
	php_stream *stream = plain->stream;
	ssize_t got;

	if (plain->buffered > 0)
		php_stream_read(stream, to, plain->buffered);
	if (n == 0)
		return plain->buffered;
	got = read(plain->fd, to + plain->buffered, n);
	php_hone_forget_stat();
	if (got < 0)
		return plain->buffered;
	stream->position += got;
	return plain->buffered + (size_t)got;
}
