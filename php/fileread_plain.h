/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_PLAIN_H
#define PHP_HONE_FILEREAD_PLAIN_H
/* Plain files that PHP has open as streams: fileread_plain.c, for
 * fileread_stream.c. */
#include "fileread.h"

/* A file that is open, and how much of it can be read without PHP. */
struct hone_fileread_plain {
	php_stream *stream;
	int fd;
	/* where it is */
	dev_t device;
	/* in the stream's buffer, to be taken first */
	size_t buffered;
	/* in the file, behind what is in the buffer, as the file tells */
	size_t behind;
	/* it tells even less, as those of /proc do, or is read behind its end
	 */
	bool past;
};

/* The stream of an argument that is a resource; NULL: it is none. */
php_stream *hone_fileread_stream_of(const zval *arg);

/* True if it is PHP's own plain file, read by nothing but PHP's own buffer. */
bool hone_fileread_is_plain_stream(const php_stream *stream);

/*
 * Fill in what is known of a stream; false, which is counted, if it is
 * none of those.
 */
bool hone_fileread_know(struct hone_fileread_plain *plain, php_stream *stream);

/*
 * What is in the stream's buffer, and then n bytes from the file itself, to
 * `to`. How many came; fewer if the file changes, and then PHP's next read
 * will see what PHP would have seen.
 */
size_t hone_fileread_straight(
	const struct hone_fileread_plain *plain, char *to, size_t n);

/*
 * True if nothing comes from a file that told nothing more, with the buffer
 * empty; false if something does, and then it is in the buffer, or if the read
 * failed, which PHP will see again. Its read is the same as PHP's.
 */
bool hone_fileread_at_end(const struct hone_fileread_plain *plain);

#endif
