/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_STREAM_H
#define HONE_IMAGE_STREAM_H
/*
 * Bytes that come once and in order: a pipe, the answer of a server without
 * ranges, the content of a packed file. A stream may read from another stream,
 * which it then owns.
 *
 * One thread at a time uses a stream.
 */
#include "error.h"

struct image_store;
struct image_stream;

struct image_stream_ops {
	/*
	 * Read 1 to length bytes into buf and set *got to their number, or set
	 * *got to 0 at the end of the stream. A stream that ends too early
	 * fails. After a failure, no other call than close follows.
	 */
	int (*read)(struct image_stream *stream, void *buf, size_t length,
		size_t *got, struct image_error *err);

	/*
	 * Take zeros that are next in the stream, a multiple of `unit`, without
	 * their bytes. Sets *length to their number; 0: read() has what is
	 * next. NULL: none are known. Failures as of read().
	 */
	int (*skip)(struct image_stream *stream, uint64_t unit,
		uint64_t *length, struct image_error *err);

	void (*close)(struct image_stream *stream);
};

struct image_stream {
	const struct image_stream_ops *ops;
	char *name;
	/* bytes of the whole stream, or IMAGE_SIZE_UNKNOWN.
	 * image_stream_read() fails if the stream does not end there: a size
	 * may be what a server or an index states. */
	uint64_t size;
	const char *size_hint;
	/* the store whose bytes these are, packed or not; NULL: none */
	struct image_store *store;
	/* bytes that were read or skipped by these functions */
	uint64_t came;
	/* of a packed file: the limit of its disk; image_stream_read() fails if
	 * more come than the tables of such a disk need. 0: no limit */
	uint64_t max_size;
	/* of a packed stream: as in struct image_open */
	const struct image_trailing *trailing;
};

/*
 * A stream of fd: a pipe, a socket, a character device or any other file that
 * is read from its current position. The stream closes fd, also after a
 * failure, if owns_fd.
 */
int image_stream_of_fd(int fd, bool owns_fd, const char *name,
	struct image_stream **out, struct image_error *err);

/* Compare the size that was stated with the bytes that came, all of them if
 * the stream has ended. */
int image_stream_check(const char *name, uint64_t size, uint64_t came,
	bool ended, struct image_error *err);

/* The members of a stream. close allows NULL. */
int image_stream_read(struct image_stream *stream, void *buf, size_t length,
	size_t *got, struct image_error *err);
/* Read up to the end, or `size` bytes. */
int image_stream_read_all(struct image_stream *stream, void *buf, size_t size,
	size_t *length, struct image_error *err);
int image_stream_skip(struct image_stream *stream, uint64_t unit,
	uint64_t *length, struct image_error *err);
/*
 * Read what is left of a descriptor, which is closed, a store, which is closed
 * too, or a file. The caller frees *text, also after a failure; a NUL follows
 * it. More than max bytes are a failure, which sets *length to more than max,
 * and *text. *length is 0 if there is no text.
 */
int image_stream_read_fd(int fd, const char *name, size_t max, char **text,
	size_t *length, struct image_error *err);
int image_stream_read_store(struct image_store *store, size_t max, char **text,
	size_t *length, struct image_error *err);
int image_stream_read_file(const char *file, size_t max, char **text,
	size_t *length, struct image_error *err);
void image_stream_close(struct image_stream *stream);

#endif
