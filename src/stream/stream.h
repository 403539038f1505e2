/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_STREAM_STREAM_H
#define HONE_STREAM_STREAM_H
/* What the files of a stream share: its state, and what a source is. */
#include <hone/stream.h>

/* No read asks for more: Linux cuts them off there (MAX_RW_COUNT). */
#define HONE_STREAM_ASK_MAX ((size_t)0x7ffff000)

/* What is less than minus this is no negative errno: Linux's MAX_ERRNO. */
#define HONE_STREAM_ERRNO_MAX 4095

/*
 * Where the bytes come from. The functions get the stream, and find what they
 * need in its struct hone_reader; they leave pos and end alone. One row for
 * each kind of source, in its source_*.c.
 */
struct hone_source {
	/*
	 * n is 1 to HONE_STREAM_ASK_MAX. Returns 1 to n, 0 at the end, or a
	 * negative errno; -EINTR has the stream call again.
	 */
	ptrdiff_t (*read)(struct hone_stream *s, void *buf, size_t n);
	/* The new position or a negative errno; NULL: cannot seek. Memory has
	 * none of these: see source_memory.c. */
	int64_t (*seek)(struct hone_stream *s, int64_t offset, int whence);
	/* 0 or a negative errno; NULL: nothing to be done. */
	int (*close)(struct hone_stream *s);
};

/* A line that could not be ended: this much of it was searched already. */
struct hone_stream_search {
	/* position of the line's first byte, as offset counts */
	int64_t at;
	size_t searched;
	int delimiter;
};

/*
 * How many ends of lines can be noted: what fits a page beside the rest of the
 * reader, and a block of the search at least (SCAN_BLOCK).
 */
#define HONE_STREAM_LINES 128

struct hone_reader {
	/* first, so that the address is the same */
	struct hone_stream view;

	/*
	 * The buffer: memory[0..capacity). What is valid of it, taken bytes
	 * included, begins at start and ends at view.end.
	 */
	unsigned char *memory;
	size_t capacity;
	const unsigned char *start;
	size_t buffer_size;
	size_t bypass_size;
	unsigned flags;

	/* the source is at its end */
	bool at_end;
	/* has a seek, and it did not say -ESPIPE */
	bool seekable;
	/* offset is a position of the source; else what was read since opening
	 * the stream, so not more than that position */
	bool known;
	/* kept for the next call: 0 or a negative errno */
	int error;
	/* of view.end */
	int64_t offset;
	struct hone_stream_search search;
	/* the last lines were: notes do not pay */
	bool long_lines;
	/* the place before the first line, and where each of them ends */
	const unsigned char *lines[HONE_STREAM_LINES + 1];

	const struct hone_source *source;
	/* until when to wait for a descriptor: CLOCK_MONOTONIC in nanoseconds;
	 * INT64_MAX for ever */
	int64_t deadline_ns;
	int fd;
	/* of a regular file as fstat told it at first, otherwise 0 */
	int64_t file_size;
	struct hone_stream_ops ops;
	void *ops_source;
};

static inline struct hone_reader *
hone_reader(const struct hone_stream *s)
{
	return (struct hone_reader *)s;
}

static inline size_t
hone_reader_buffered(const struct hone_reader *r)
{
	return (size_t)(r->view.end - r->view.pos);
}

static inline bool
hone_reader_exact(const struct hone_reader *r)
{
	return (r->flags & HONE_STREAM_EXACT) != 0;
}

/*
 * Ask the source for up to n bytes into buf and count them. Does nothing but
 * return 0 at an end that is remembered. Otherwise as hone_source.read(), with
 * what a faulty source returned turned into -EIO.
 */
ptrdiff_t hone_reader_ask(struct hone_reader *r, void *buf, size_t n);

/*
 * Read once behind what is buffered, as much as would make it wanted bytes, and
 * in exact mode the buffer's size. Returns how many came; 0 at the end; or a
 * negative errno, -ENOMEM among them.
 */
ptrdiff_t hone_reader_fill(struct hone_reader *r, size_t wanted);

/* Forget what is buffered, taken bytes as well. */
void hone_reader_drop(struct hone_reader *r);

/* Take what is buffered, n bytes at most, into buf. */
size_t hone_reader_take(struct hone_reader *r, void *buf, size_t n);

/* What a call returns that got done bytes and then the answer of the source:
 * an error behind bytes is kept for the next call. */
int64_t hone_reader_settle(struct hone_reader *r, int64_t done, int64_t answer);

/* Nothing is known of the source's end but of memory's. */
void hone_reader_forget_end(struct hone_reader *r);

/* A reader with nothing buffered; -EINVAL or -ENOMEM. */
int hone_reader_create(struct hone_reader **reader,
	const struct hone_stream_attr *attr, const struct hone_source *source);

/* source_fd.c: regular files and block devices; pipes and the like, which have
 * no position; character devices, which may have one. */
extern const struct hone_source hone_source_file;
extern const struct hone_source hone_source_pipe;
extern const struct hone_source hone_source_device;
/* source_fd.c too, but read by source_socket.c: recv first, and poll only on
 * -EAGAIN. */
extern const struct hone_source hone_source_socket;
ptrdiff_t hone_socket_source_read(struct hone_stream *s, void *buf, size_t n);
extern const struct hone_source hone_source_memory;
extern const struct hone_source hone_source_ops;

/*
 * Wait until the descriptor can be read or has failed, by one poll and no
 * longer than to the deadline: 0; -ETIMEDOUT; with HONE_STREAM_NONBLOCK
 * -EAGAIN without waiting; -EINTR, for which the stream calls the source again;
 * or what else poll says. In source_fd.c, for sockets as well.
 */
int hone_stream_wait(const struct hone_stream *s);

#endif
