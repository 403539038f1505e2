/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_STREAM_STREAM_H
#define HONE_STREAM_STREAM_H
/*
 * The state of a stream, the sources, and the functions that files share. The
 * inline paths are in include/hone/detail/stream.h. What they do not do:
 *
 *   stream.c      create, close and configure; memory and operations of the
 *                 caller as sources
 *   line.c        lines; seek.c: positions
 *   buffer.c      read and peek; reads of the source; where its bytes lie
 *   source_*.c    another kind of source each
 *
 * Whole files, without a stream:
 *
 *   read_file.c   one file; read_into.c: into memory of the caller;
 *                 file_buffer.c: into memory that grows
 *   read_files.c  many files by threads; choose.c: io_uring or plain calls;
 *                 uring.c and uring_slot.c: by io_uring
 */
#include <hone/stream.h>

/* Most bytes of one read: Linux cuts longer reads (MAX_RW_COUNT). */
#define HONE_STREAM_READ_MAX ((size_t)0x7ffff000)

/* A value below -HONE_STREAM_ERRNO_MAX is no negative errno: Linux's MAX_ERRNO.
 */
#define HONE_STREAM_ERRNO_MAX 4095

/*
 * A kind of source; each is defined in one file. The functions get the
 * stream and use its struct hone_reader; they do not change pos and end.
 */
struct hone_source {
	/*
	 * n is 1 to HONE_STREAM_READ_MAX. Returns 1 to n bytes, 0 at the end,
	 * or a negative errno; after -EINTR the stream repeats the call.
	 */
	ptrdiff_t (*read)(struct hone_stream *s, void *buf, size_t n);
	/* Returns the new position or a negative errno. NULL: cannot seek. For
	 * memory all three are NULL: see stream.c. */
	int64_t (*seek)(struct hone_stream *s, int64_t offset, int whence);
	/* Returns 0 or a negative errno. NULL: no call. */
	int (*close)(struct hone_stream *s);
};

/* An unfinished line: how much of it was searched. */
struct hone_stream_search {
	/* position of the first byte of the line, in the units of offset */
	int64_t at;
	size_t searched;
	int delimiter;
};

/*
 * Number of line ends that a reader stores: as many as fit in a page together
 * with the other members, and at least SCAN_BLOCK.
 */
#define HONE_STREAM_LINES 128

/*
 * A file without a size that may return nothing but to its first read: the
 * bytes of that read, as long as no other one has returned any.
 */
struct hone_stream_single {
	/* the next read is the first one, at its place */
	bool next;
	/* 0: the end may be believed */
	size_t bytes;
};

struct hone_reader {
	/* first member: the same address */
	struct hone_stream view;

	/*
	 * The buffer: memory[0..capacity). Its valid bytes, taken bytes
	 * included, begin at start and end at view.end.
	 */
	unsigned char *memory;
	size_t capacity;
	const unsigned char *start;
	size_t buffer_size;
	size_t bypass_size;
	unsigned flags;

	/* the source is at its end */
	bool at_end;
	/* the source has a seek that did not return -ESPIPE */
	bool seekable;
	/* true: offset is a position of the source. false: offset is the number
	 * of bytes read since the stream was opened, at most that position */
	bool known;
	/* kept for the next call: 0 or a negative errno */
	int error;
	/* position of view.end */
	int64_t offset;
	struct hone_stream_search search;
	/* the last lines were long: storing line ends is slower */
	bool long_lines;
	/* the start of the first line, and the end of each line */
	const unsigned char *lines[HONE_STREAM_LINES + 1];

	const struct hone_source *source;
	/* end of waiting for a descriptor: CLOCK_MONOTONIC in nanoseconds;
	 * INT64_MAX: never */
	int64_t deadline_ns;
	int fd;
	/* size of a regular file when the stream was opened; otherwise 0 */
	int64_t file_size;
	/* that file may end before its size */
	bool size_is_claim;
	struct hone_stream_single single;
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
 * Makes one read after the buffered bytes: of the bytes missing to `wanted`,
 * and at least buffer_size; in exact mode of buffer_size bytes. Returns the
 * number of bytes; 0 at the end; or a negative errno, -ENOMEM included.
 */
ptrdiff_t hone_reader_fill(struct hone_reader *r, size_t wanted);

/* Drops the buffered bytes, taken bytes included. */
void hone_reader_drop(struct hone_reader *r);

/* The result of a call that has done bytes and then got answer from the source:
 * an error that follows bytes is kept for the next call. */
int64_t hone_reader_result(struct hone_reader *r, int64_t done, int64_t answer);

/* Forgets that the source was at its end, except for memory. */
void hone_reader_forget_end(struct hone_reader *r);

/* Creates a reader with an empty buffer; returns 0, -EINVAL or -ENOMEM. */
int hone_reader_create(struct hone_reader **reader,
	const struct hone_stream_attr *attr, const struct hone_source *source);

/* source_fd.c: regular files and block devices; pipes and others that have no
 * position; character devices, which may have one. */
extern const struct hone_source hone_source_file;
/* source_sizeless.c: regular files whose size is 0, as in /proc. */
extern const struct hone_source hone_source_sizeless;
extern const struct hone_source hone_source_pipe;
extern const struct hone_source hone_source_device;
/* recv first, and poll only after -EAGAIN. */
extern const struct hone_source hone_source_socket;
extern const struct hone_source hone_source_memory;
extern const struct hone_source hone_source_ops;

/* source_fd.c: the functions of hone_source_file. */
ptrdiff_t hone_source_fd_read(struct hone_stream *s, void *buf, size_t n);
int64_t hone_source_fd_seek(struct hone_stream *s, int64_t offset, int whence);
int hone_source_fd_close(struct hone_stream *s);

/*
 * source_fd.c: makes one poll until the descriptor can be read or has failed,
 * at most until the deadline. Returns
 * - 0 if it can be read or has failed;
 * - -ETIMEDOUT at the deadline;
 * - -EAGAIN, without waiting, with HONE_STREAM_NONBLOCK;
 * - -EINTR, after which the stream calls the source again;
 * - another error of poll.
 */
int hone_stream_wait(const struct hone_stream *s);

#endif
