/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_PLAIN_H
#define PHP_HONE_FILEREAD_PLAIN_H
/* Streams that are plain files of PHP's: plain.c. */
#include "fileread.h"

/* The file of a stream, and how much of it can be read without PHP. */
struct php_hone_plain {
	php_stream *stream;
	int fd;
	dev_t device;
	/* bytes in the buffer of the stream, which come first */
	size_t buffered;
	/* bytes of the file after them, by the size that fstat() returned */
	size_t left;
	/* the size is smaller than the position: a file of /proc, or a stream
	 * that was moved past the end */
	bool past;
};

/* The stream of an argument that is a resource. Returns NULL if the resource is
 * not a stream. */
php_stream *php_hone_stream_of(const zval *arg);

/* Whether a stream is PHP's own plain file, with PHP's own buffer alone between
 * the file and the reader. */
bool php_hone_is_plain(const php_stream *stream);

/*
 * Sets *plain for a stream, which may be NULL. Returns false, which is counted,
 * if the stream is not a plain regular file.
 */
bool php_hone_plain_of(struct php_hone_plain *plain, php_stream *stream);

/*
 * Copies the buffer of the stream to `to`, and reads n bytes from the file
 * after it. Returns how many came: fewer if the file changes, and then PHP's
 * next read sees what PHP would have seen.
 */
size_t php_hone_read_straight(
	const struct php_hone_plain *plain, char *to, size_t n);

/*
 * Reads at the end of a file, with an empty buffer, exactly as PHP does.
 * Returns true if nothing came. Returns false if bytes came, which are in the
 * buffer then; or if the read failed, and PHP meets the error again.
 */
bool php_hone_is_at_end(const struct php_hone_plain *plain);

#endif
