/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_PLAIN_H
#define PHP_HONE_FILEREAD_PLAIN_H
/* Streams that are plain files of PHP: plain.c. */
#include "fileread.h"

/* The file of a stream, and the number of bytes that can be read without
 * PHP. */
struct php_hone_plain {
	php_stream *stream;
	int fd;
	dev_t device;
	/* bytes in the buffer of the stream, which come first */
	size_t buffered;
	/* bytes of the file after the buffer, by the size that fstat()
	 * returned */
	size_t left;
	/* the size is smaller than the position: a file of /proc, or a stream
	 * that was moved past the end */
	bool past;
};

/* The stream of an argument that is a resource. Returns NULL if the resource is
 * not a stream. */
php_stream *php_hone_stream_of(const zval *arg);

/* Whether a stream is PHP's own plain file, with only PHP's own buffer between
 * the file and the reader. */
bool php_hone_is_plain(const php_stream *stream);

/*
 * Sets *plain for a stream, which may be NULL. If the stream is not a plain
 * regular file, counts the reason and returns false.
 */
bool php_hone_plain_of(struct php_hone_plain *plain, php_stream *stream);

/*
 * Copies the buffer of the stream to `to`, and then reads n bytes from the
 * file. Returns the number of bytes, which is smaller if the file has changed.
 * PHP's next read then has the same result as without this function.
 */
size_t php_hone_read_straight(
	const struct php_hone_plain *plain, char *to, size_t n);

/*
 * Reads at the end of a file, with an empty buffer, exactly as PHP does.
 * Returns true if read() returned 0. Returns false if bytes came, which are
 * then in the buffer, or if the read failed. PHP's next read then fails in the
 * same way.
 */
bool php_hone_is_at_end(const struct php_hone_plain *plain);

#endif
