/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_STREAM_H
#define HONE_STREAM_H
/**
 * Buffered reading with few system calls and few copies.
 *
 * A stream reads from a source: a descriptor, a block of memory, or functions
 * of the caller. The caller can look at the bytes in the buffer and take them
 * without a copy. A large read bypasses the buffer and goes straight to the
 * caller.
 *
 * The sequence of calls that a source sees is part of the interface. A stream
 * reads its source only if the caller needs bytes that are not in the buffer.
 * Each read requests at most 0x7ffff000 bytes. After -EINTR the stream repeats
 * the read immediately. In **fast mode**:
 *
 * - hone_stream_read() requests all missing bytes, past the buffer, if
 *   bypass_size bytes or more are missing. Otherwise it requests buffer_size
 *   bytes. It repeats this until it has enough. hone_stream_read_some() makes
 *   only the first of these reads.
 * - hone_stream_peek() requests the missing bytes. hone_stream_read_line()
 *   requests as many bytes as it has searched without finding the delimiter, or
 *   those missing to max + 1 if that is less. Both request at most 16 MiB and
 *   at least buffer_size bytes.
 * - After a read that returned 0 there is no further read until
 *   hone_stream_clear_eof() or a seek. The same applies to a regular file after
 *   a read that returned less than requested, if the read reached the size that
 *   the file had when the stream was opened.
 * - Some files in /proc/sys return their content only to the first read. So a
 *   regular file of size 0 is read again before the end is reported, if its
 *   first read returned more than half of its request and its second read
 *   returned nothing.
 * - A seek by SEEK_SET or SEEK_CUR finds out the position first if the buffer
 *   contains anything. If the target lies in the buffer or at its end, the seek
 *   then makes no call. Any other seek is one call, as in exact mode. Bytes
 *   that were taken remain in the buffer until the next read of the source.
 * - hone_stream_skip() takes what is in the buffer. If buffer_size bytes or
 *   more are then missing and the source can seek, and is not a file in /sys or
 *   /proc (of at most 64 KiB without blocks), it finds out the position,
 *   calls seek(0, SEEK_END), and then seek(target, SEEK_SET). If the end is not
 *   ahead, is unknown, or comes too early, it continues with reads of
 *   buffer_size bytes until it has enough.
 *
 * In **exact mode** (HONE_STREAM_EXACT) the source sees the calls of the
 * simplest possible buffer. Every read requests buffer_size bytes. Each call
 * that reaches the end reads again. Every seek is one call, (offset, SEEK_SET),
 * (offset less the buffered bytes, SEEK_CUR) or (offset, SEEK_END), and drops
 * the buffer. A skip never seeks.
 *
 * In both modes, hone_stream_tell() finds out the position: by seek(0,
 * SEEK_CUR), unless an earlier call did. If the source returns -ESPIPE, the
 * stream assumes that the source cannot seek; likewise for a character device
 * that returns a position below the number of bytes read. A seek to a position
 * below 0 or above INT64_MAX fails without a call if it is by SEEK_SET, or by
 * SEEK_CUR with a known position. Except for the close by hone_stream_close(),
 * no other function calls the source.
 *
 * The call that meets an error of the source returns the error. If
 * hone_stream_read() or hone_stream_skip() have bytes already, they return the
 * bytes, and the stream keeps the error, except -EAGAIN and -ETIMEDOUT: the
 * next call that needs more bytes than the buffer has returns the error,
 * without a call of the source. After an error the stream continues where it
 * was: no byte is lost, and the next call reads the source again. If a source
 * returns more bytes than requested, or a value that is neither a size nor -1
 * to -4095, the stream treats this as -EIO.
 *
 * A stream belongs to one thread at a time. Streams must not be NULL.
 *
 * Debug builds of the library assert the size of hone_stream_open_memory() and
 * that a source has read(). If a line does not end in the buffer, they also
 * assert its delimiter and max. Debug builds of the caller assert the n of
 * hone_stream_take().
 * In release builds these and all other broken contracts are undefined.
 *
 * docs/design/stream.md of the sources has the reasons for this design.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <hone/api.h>
#include <hone/read_file.h>

HONE_BEGIN_DECLS

/** A stream; only its address is public. */
struct hone_stream;

/** Largest buffer_size of a stream: 1 GiB. */
#define HONE_STREAM_BUFFER_MAX 0x40000000

/** A source of the caller. Its functions must not use the stream. */
struct hone_stream_ops {
	/** reads up to n bytes into buf, n being 1 to 0x7ffff000: returns the
	 * number of bytes, 1 to n; 0 at the end; or a negative errno. May leave
	 * in any way: only bytes that the interrupted call had taken are lost
	 */
	ptrdiff_t (*read)(void *source, void *buf, size_t n);
	/** as lseek(): returns the new position or a negative errno. NULL: the
	 * source cannot seek */
	int64_t (*seek)(void *source, int64_t offset, int whence);
	/** called once, by hone_stream_close(): returns 0 or a negative errno.
	 * NULL: no call */
	int (*close)(void *source);
	/** for later releases; NULL */
	void *reserved[4];
};

/** Bits of hone_stream_attr.flags. */
enum hone_stream_flag {
	/** exact mode: the source sees the calls of the simplest possible
	 * buffer */
	HONE_STREAM_EXACT = 1,
	/** hone_stream_close() closes the descriptor */
	HONE_STREAM_CLOSE_FD = 2,
	/** never wait for the descriptor: -EAGAIN if nothing is there. No
	 * effect on regular files and on sources of the caller */
	HONE_STREAM_NONBLOCK = 4,
	/** hone_stream_read_line() leaves a last line without a delimiter in
	 * the buffer and returns 0: for files that grow */
	HONE_STREAM_WHOLE_LINES = 8
};

/** Attributes of a stream; hone_stream_attr_init() sets every member. In a
 * struct without this call, a buffer_size of 0 stands for the default, and so
 * does a bypass_size of 0 beside it: {.flags = HONE_STREAM_EXACT} is enough. */
struct hone_stream_attr {
	/** bytes, up to HONE_STREAM_BUFFER_MAX; allocated at the first use.
	 * Default: 64 KiB */
	size_t buffer_size;
	/** a read that misses this many bytes or more bypasses the buffer;
	 * SIZE_MAX: no read does; 0: every read does. Default: 32 KiB */
	size_t bypass_size;
	/** HONE_STREAM_* bits. Default: none */
	unsigned flags;
	/** for later releases; zero */
	void *reserved[4];
};

/**
 * Set attributes to their defaults: a buffer of 64 KiB, bypassed from 32 KiB
 * on, and fast mode. The stream does not close its descriptor, and calls may
 * wait for data.
 *
 * :param attr: set by this call.
 */
HONE_API void hone_stream_attr_init(struct hone_stream_attr *attr);

/**
 * Open a stream that reads a descriptor from its current position on.
 *
 * :param stream: set to the stream; unchanged on failure.
 * :param fd:     open for reading; no directory. The caller remains its owner,
 *                unless this call succeeds with HONE_STREAM_CLOSE_FD. Nobody
 *                else may move its position.
 * :param attr:   copied; NULL: defaults.
 * :return: 0 on success;
 *          -EINVAL if an attribute is out of range;
 *          -EINVAL if fd is a file or a block device with O_DIRECT, whose reads
 *          must be aligned;
 *          -EISDIR if fd is a directory;
 *          -EPROTOTYPE if fd is a socket of another type than SOCK_STREAM;
 *          -ENOMEM if there is no memory;
 *          the error of fstat if it fails.
 *
 * Makes one system call, fstat; for a file or a block device also fcntl, and
 * for a socket getsockopt. A stream reads a socket by recv, any other
 * descriptor by read. The attributes decide whether a call waits, not
 * O_NONBLOCK: that flag of the descriptor is shared with other processes. So by
 * default a call waits by poll even if O_NONBLOCK is set, unlike
 * hone_read_fd(). hone_stream_close() leaves the position of the descriptor
 * where the last read or seek of the stream put it: after the bytes in the
 * buffer.
 */
HONE_API HONE_DETAIL_RESULT int hone_stream_open_fd(struct hone_stream **stream,
	int fd, const struct hone_stream_attr *attr);

/**
 * Open a stream that reads memory. Peeks and lines point into this memory.
 *
 * :param stream: set to the stream; unchanged on failure.
 * :param data:   not copied; must stay unchanged until the stream is closed.
 * :param size:   bytes, 0 to PTRDIFF_MAX; with 0 data may be NULL.
 * :param attr:   checked; only HONE_STREAM_WHOLE_LINES has an effect; NULL:
 *                defaults.
 * :return: 0 on success;
 *          -EINVAL if an attribute is out of range;
 *          -ENOMEM if there is no memory.
 */
HONE_API HONE_DETAIL_RESULT int hone_stream_open_memory(
	struct hone_stream **stream, const void *data, size_t size,
	const struct hone_stream_attr *attr);

/**
 * Open a stream that reads a source of the caller.
 *
 * :param stream: set to the stream; unchanged on failure.
 * :param ops:    copied; read must not be NULL, reserved must be.
 * :param source: passed to each function of ops until the stream is closed.
 * :param attr:   copied; NULL: defaults.
 * :return: 0 on success;
 *          -EINVAL if an attribute is out of range, or a reserved member set;
 *          -ENOMEM if there is no memory.
 *
 * Calls no function of ops.
 */
HONE_API HONE_DETAIL_RESULT int hone_stream_open_ops(
	struct hone_stream **stream, const struct hone_stream_ops *ops,
	void *source, const struct hone_stream_attr *attr);

/**
 * Close a stream and free it.
 *
 * :param stream: invalid after this call, whatever it returns. NULL: no effect.
 * :return: 0 on success;
 *          the error of closing the descriptor or the source.
 */
HONE_API int hone_stream_close(struct hone_stream *stream);

/**
 * Read n bytes, or all up to the end.
 *
 * :param stream: the stream.
 * :param buf:    set to the bytes.
 * :param n:      bytes, 0 to PTRDIFF_MAX; with 0 buf may be NULL.
 * :return: n if all bytes were read;
 *          fewer if the end or an error follows them;
 *          0 at the end;
 *          a negative errno if an error comes before the first byte.
 *
 * Inline if the buffer has n bytes.
 */
HONE_INLINE HONE_DETAIL_RESULT ptrdiff_t hone_stream_read(
	struct hone_stream *stream, void *buf, size_t n);

/**
 * Read what is available: from the buffer; if the buffer is empty, what one
 * read of the source returns.
 *
 * :param stream: the stream.
 * :param buf:    set to the bytes.
 * :param n:      most bytes to read, 0 to PTRDIFF_MAX; with 0 buf may be NULL.
 * :return: the number of bytes read, 1 to n;
 *          0 at the end, or if n is 0;
 *          a negative errno on error.
 */
HONE_API HONE_DETAIL_RESULT ptrdiff_t hone_stream_read_some(
	struct hone_stream *stream, void *buf, size_t n);

/**
 * Look at the next bytes without taking them.
 *
 * :param stream: the stream.
 * :param data:   set to the first byte; unchanged on error. Valid until the
 *                next call on this stream, except hone_stream_take(),
 *                hone_stream_tell(), hone_stream_eof(), and a peek at no more
 *                bytes than this one returned.
 * :param n:      bytes wanted; the buffer grows as needed. 0: what the buffer
 *                has, without reading the source.
 * :return: the number of bytes at data: n or more, fewer only at the end;
 *          a negative errno on error, -ENOMEM included.
 *
 * After an error, a peek at 0 bytes returns the bytes in the buffer. A buffer
 * that has grown has up to twice the size of its content at that time, the next
 * read included, until hone_stream_set_buffer() finds it empty.
 */
HONE_INLINE HONE_DETAIL_RESULT ptrdiff_t hone_stream_peek(
	struct hone_stream *stream, const void **data, size_t n);

/**
 * Take bytes from the buffer.
 *
 * :param stream: the stream.
 * :param n:      bytes, 0 to the number that the last peek returned.
 */
HONE_INLINE void hone_stream_take(struct hone_stream *stream, size_t n);

/**
 * Take a line: all bytes up to and including a delimiter, or up to the end.
 *
 * :param stream:    the stream.
 * :param line:      set to the first byte; no zero byte follows the line. Valid
 *                   until the next call on this stream, except
 *                   hone_stream_tell() and hone_stream_eof().
 * :param delimiter: a byte, 0 to 255.
 * :param max:       longest line that is taken, in bytes, at least 1. SIZE_MAX:
 *                   no limit.
 * :return: bytes of the line with its delimiter, which only the last line may
 *          lack;
 *          0 at the end; with HONE_STREAM_WHOLE_LINES also if no delimiter is
 *          left: hone_stream_clear_eof(), and a later call continues;
 *          -EMSGSIZE if the line is longer than max;
 *          another negative errno on error, -ENOMEM included.
 *
 * After an error, also -EMSGSIZE, nothing is taken: the bytes can be peeked at,
 * read and skipped. The buffer grows with the line, as for hone_stream_peek().
 * If the call is repeated, as after -EAGAIN, it does not search the same bytes
 * again.
 */
HONE_INLINE HONE_DETAIL_RESULT ptrdiff_t hone_stream_read_line(
	struct hone_stream *stream, const char **line, int delimiter,
	size_t max);

/**
 * Take bytes without looking at them.
 *
 * :param stream: the stream.
 * :param n:      bytes; at most INT64_MAX are skipped.
 * :return: n if all bytes were skipped;
 *          fewer if the end or an error follows them;
 *          a negative errno if an error comes before the first byte.
 *
 * If the call seeks, the end is where the source reports it. If the source then
 * fails to seek back from there, the stream is at the end.
 */
HONE_API int64_t hone_stream_skip(struct hone_stream *stream, uint64_t n);

/**
 * Go to another position.
 *
 * :param stream: the stream.
 * :param offset: bytes.
 * :param whence: SEEK_SET, SEEK_CUR (from the next byte to be taken, not from
 *                the position of the source) or SEEK_END.
 * :return: the new position, 0 to INT64_MAX, where every read returns
 *          -EOVERFLOW;
 *          -ESPIPE if the source cannot seek;
 *          -EINVAL if the position is below 0, or for another whence;
 *          -EOVERFLOW if the position is above INT64_MAX;
 *          the error of the source if it fails.
 *
 * On failure the position is unchanged. On success the stream forgets an end
 * that it met and an error that it kept. A seek beyond the end of a file
 * succeeds; beyond the end of memory it returns -EINVAL.
 */
HONE_API int64_t hone_stream_seek(
	struct hone_stream *stream, int64_t offset, int whence);

/**
 * Get the position of the next byte.
 *
 * :param stream: the stream.
 * :return: the position; if the source cannot seek, the number of bytes taken
 *          since the stream was opened;
 *          a negative errno on error.
 */
HONE_API int64_t hone_stream_tell(struct hone_stream *stream);

/**
 * Test whether the stream is known to be at the end.
 *
 * :param stream: the stream.
 * :return: true if all bytes were taken and the source is known to have no
 *          more;
 *          false otherwise: the next read may still return 0.
 *
 * Does not call the source.
 */
HONE_API bool hone_stream_eof(const struct hone_stream *stream);

/**
 * Forget that the source was at its end, for a file that grows. The next call
 * that needs more bytes reads the source again.
 *
 * :param stream: the stream; memory stays at its end.
 */
HONE_API void hone_stream_clear_eof(struct hone_stream *stream);

/**
 * Set the sizes of a stream. Bytes in the buffer stay there; the memory of an
 * empty buffer is freed.
 *
 * :param stream:      the stream.
 * :param buffer_size: as in struct hone_stream_attr; applies from the next read
 *                     of the source on.
 * :param bypass_size: as in struct hone_stream_attr.
 * :return: 0 on success;
 *          -EINVAL if buffer_size is out of range; neither size is changed.
 */
HONE_API int hone_stream_set_buffer(
	struct hone_stream *stream, size_t buffer_size, size_t bypass_size);

/**
 * Set the time until which calls may wait for a descriptor.
 *
 * :param stream: the stream. No effect on regular files, memory and sources of
 *                the caller.
 * :param ns:     absolute time in nanoseconds of CLOCK_MONOTONIC; INT64_MAX,
 *                the initial value: no limit.
 *
 * Bytes that are there are read even after that time. A call that would have to
 * wait returns -ETIMEDOUT; hone_stream_read() and hone_stream_skip() first
 * return the bytes they have.
 */
HONE_API void hone_stream_set_deadline(struct hone_stream *stream, int64_t ns);

/**
 * Test whether the peer of a socket is still connected, as far as the kernel
 * knows.
 *
 * :param fd: a socket that is or was connected; may be blocking.
 * :return: 1 if there is nothing to read yet, or if bytes or a datagram wait to
 *          be read, whatever follows them;
 *          0 if all bytes were read and the peer closed its end or shut down
 *          sending;
 *          -ECONNRESET or another error that a read would return;
 *          -ENOTCONN, -ENOTSOCK or -EBADF if fd is not a connected socket.
 *
 * Makes one call of recv(), which takes nothing and never waits. If recv()
 * returns no byte, also one call of getsockopt(), because an empty datagram
 * does not end a connection. The socket reports a pending error only once: this
 * call consumes it. A peer that disappeared without closing counts as connected
 * until the kernel gives it up. Any thread may call it.
 */
HONE_API int hone_socket_alive(int fd);

HONE_END_DECLS

#include <hone/detail/stream.h>
#endif
