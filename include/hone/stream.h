/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_STREAM_H
#define HONE_STREAM_H
/**
 * Buffered reading, with as few system calls and copies as there can be.
 *
 * A stream reads from a source: a descriptor, a block of memory, or functions
 * of the caller's own. What its buffer holds can be looked at and taken where
 * it lies; a large read goes past the buffer to the caller.
 *
 * Which calls the source sees is a promise. Every read of it is made because
 * bytes are wanted that are not in the buffer, asks for 0x7ffff000 bytes at
 * most, and is made again at once after -EINTR. In **fast mode**:
 *
 * - hone_stream_read() asks straight for all that is missing, if that is
 *   bypass_size bytes or more, and else for buffer_size bytes, until it has
 *   enough. hone_stream_read_some() does the first of these steps only.
 * - hone_stream_peek() asks for what is missing, and hone_stream_read_line()
 *   for as much as it has searched in vain, or for what is missing to max + 1
 *   if that is less; both for 16 MiB at most and buffer_size at least.
 * - After a read that gave 0 there is no other until hone_stream_clear_eof()
 *   or a seek. Of a regular file the same goes for a read that gave less than
 *   it asked for, where the file ended when the stream was opened or behind.
 * - A seek by SEEK_SET or SEEK_CUR, if anything is in the buffer, makes the
 *   position known. To what is in the buffer, or just behind it, it then makes
 *   no call. Any other seek is one call, as in exact mode. Bytes that were
 *   taken are in the buffer until the source is asked for more.
 * - hone_stream_skip() takes what is buffered. If buffer_size bytes or more
 *   are missing then and the source can seek, it makes the position known and
 *   calls seek(0, SEEK_END) and seek(position, SEEK_SET) with where it then is
 *   to be. If the end did not lie ahead, was not told, or came too early, it
 *   goes on by reading. It asks for buffer_size bytes until it has enough.
 *
 * In **exact mode** (HONE_STREAM_EXACT) the source sees what it would see from
 * the simplest of buffers: every read asks for buffer_size bytes, whoever
 * wants how many; the end is asked for again by each call that comes to it;
 * every seek is one call, (offset, SEEK_SET), (offset less what is buffered,
 * SEEK_CUR) or (offset, SEEK_END), and drops what is buffered; nothing is
 * skipped by seeking.
 *
 * In both, hone_stream_tell() makes the position known: by seek(0, SEEK_CUR),
 * unless an earlier call has told it. A source that says -ESPIPE to that is
 * taken for one that cannot seek, and so is a character device that says less
 * than was read. A seek to before the start or above INT64_MAX is refused
 * without a call by SEEK_SET, and by SEEK_CUR if the position is known. No
 * other function calls the source, but hone_stream_close() its close.
 *
 * An error of the source is told by the call that met it. hone_stream_read()
 * and hone_stream_skip() give what they have instead, if that is anything.
 * Then the next call that wants more than the buffer has tells the error and
 * the source is not asked; only -EAGAIN and -ETIMEDOUT are not kept. After an
 * error the stream goes on where it was: no byte is lost, the next call asks
 * the source again. A source that returns more than it was asked for, or what
 * is neither a size nor -1 to -4095, is taken to have said -EIO.
 *
 * A stream belongs to one thread at a time. Streams must not be NULL.
 * docs/design/stream.md of the sources tells why it is made like this.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>
#include <hone/copy_fd.h>
#include <hone/read_file.h>

HONE_BEGIN_DECLS

/** A stream; only its address is public. */
struct hone_stream;

/** Largest buffer_size of a stream: 1 GiB. */
#define HONE_STREAM_BUFFER_MAX 0x40000000

/** A source of the caller's own. The functions must not use the stream. */
struct hone_stream_ops {
	/** up to n bytes into buf: returns how many, 1 to n; 0 at the end; or a
	 * negative errno. n is 1 to 0x7ffff000 */
	ptrdiff_t (*read)(void *source, void *buf, size_t n);
	/** as lseek() does: returns the new position or a negative errno. NULL:
	 * the source cannot seek */
	int64_t (*seek)(void *source, int64_t offset, int whence);
	/** called once by hone_stream_close(): returns 0 or a negative errno.
	 * NULL: nothing to be done */
	int (*close)(void *source);
};

/** Bits of hone_stream_attr.flags. */
enum hone_stream_flag {
	/** exact mode: the source sees what it would see from the simplest of
	 * buffers */
	HONE_STREAM_EXACT = 1,
	/** hone_stream_close() closes the descriptor */
	HONE_STREAM_CLOSE_FD = 2,
	/** never wait for the descriptor: -EAGAIN if there is nothing; regular
	 * files, and sources of the caller's own, read as ever */
	HONE_STREAM_NONBLOCK = 4
};

/** What a stream is to be; hone_stream_attr_init() sets every member. */
struct hone_stream_attr {
	/** bytes, 1 to HONE_STREAM_BUFFER_MAX; allocated when first needed.
	 * Default: 64 KiB */
	size_t buffer_size;
	/** a read that misses this many bytes or more goes past the buffer;
	 * SIZE_MAX: none does; 0: each does. Default: 32 KiB */
	size_t bypass_size;
	/** HONE_STREAM_* bits. Default: none */
	unsigned flags;
	/** for later releases; zero */
	void *reserved[4];
};

/**
 * Set attributes to their defaults: a buffer of 64 KiB, passed by from 32 KiB
 * on, fast mode, a descriptor that stays open and may be waited for.
 *
 * :param attr: set by this call.
 *
 * Since 0.1.
 */
HONE_API void hone_stream_attr_init(struct hone_stream_attr *attr);

/**
 * Open a stream that reads a descriptor from its present position on.
 *
 * :param stream: set to the stream; unchanged on failure.
 * :param fd:     open for reading, a directory excepted. It remains the
 *                caller's unless HONE_STREAM_CLOSE_FD is given, and then only
 *                if this call succeeds. Nobody else is to move its position.
 * :param attr:   copied; NULL for the defaults.
 * :return: 0; -EINVAL if an attribute is out of range; -EISDIR; -EPROTOTYPE
 *          for a socket that is not of type SOCK_STREAM; -ENOMEM; or what
 *          fstat says.
 *
 * One system call, fstat, and for a socket getsockopt. Of a socket, recv is
 * called instead of read.
 * Closing the stream leaves the position of the descriptor where the last read
 * or seek put it, which is behind what the buffer holds. Since 0.1.
 */
HONE_API int hone_stream_open_fd(struct hone_stream **stream, int fd,
	const struct hone_stream_attr *attr);

/**
 * Open a stream that reads memory; peeks and lines point into it.
 *
 * :param stream: set to the stream; unchanged on failure.
 * :param data:   not copied; has to stay as it is until the stream is closed.
 * :param size:   bytes, 0 to PTRDIFF_MAX; with 0 data may be NULL.
 * :param attr:   NULL for the defaults; checked, and without effect.
 * :return: 0; -EINVAL if an attribute is out of range; -ENOMEM.
 *
 * Since 0.1.
 */
HONE_API int hone_stream_open_memory(struct hone_stream **stream,
	const void *data, size_t size, const struct hone_stream_attr *attr);

/**
 * Open a stream that reads a source of the caller's own.
 *
 * :param stream: set to the stream; unchanged on failure.
 * :param ops:    copied; read must not be NULL.
 * :param source: passed to each of them; used until the stream is closed.
 * :param attr:   copied; NULL for the defaults.
 * :return: 0; -EINVAL if an attribute is out of range; -ENOMEM.
 *
 * Calls none of the ops. Since 0.1.
 */
HONE_API int hone_stream_open_ops(struct hone_stream **stream,
	const struct hone_stream_ops *ops, void *source,
	const struct hone_stream_attr *attr);

/**
 * Close a stream and free it.
 *
 * :param stream: not to be used any more, whatever this returns. NULL:
 *                nothing.
 * :return: 0; or what closing the descriptor or the source said.
 *
 * Since 0.1.
 */
HONE_API int hone_stream_close(struct hone_stream *stream);

/**
 * Read n bytes, or all up to the end.
 *
 * :param stream: where from.
 * :param buf:    set to what was read.
 * :param n:      bytes, 0 to PTRDIFF_MAX; with 0 buf may be NULL.
 * :return: how many were read: n, fewer at the end or where an error follows,
 *          0 at the end; or a negative errno if there was an error first.
 *
 * Inline if the buffer has n bytes. Since 0.1.
 */
HONE_INLINE ptrdiff_t hone_stream_read(
	struct hone_stream *stream, void *buf, size_t n);

/**
 * Read what is there: what the buffer holds, and if it holds nothing, what one
 * read of the source gives.
 *
 * :param stream: where from.
 * :param buf:    set to what was read.
 * :param n:      bytes at most, 0 to PTRDIFF_MAX; with 0 buf may be NULL.
 * :return: how many were read, 1 to n; 0 at the end or if n is 0; or a
 *          negative errno.
 *
 * Since 0.1.
 */
HONE_API ptrdiff_t hone_stream_read_some(
	struct hone_stream *stream, void *buf, size_t n);

/**
 * Look at the next bytes without taking them.
 *
 * :param stream: where from.
 * :param data:   set to the first byte; valid until the next call on this
 *                stream other than hone_stream_take(), hone_stream_tell(),
 *                hone_stream_eof() and a peek at no more than was told.
 * :param n:      bytes wanted; the buffer grows if it has to. 0: only what the
 *                buffer holds, the source is not asked.
 * :return: how many bytes there are at data: n or more, fewer only at the end;
 *          or a negative errno, -ENOMEM among them, and then data is
 *          unchanged.
 *
 * What is there in spite of an error is told by a peek at 0 bytes. A buffer
 * that has grown has up to twice the size of what it held then, the next read
 * included, until hone_stream_set_buffer() finds it empty. Since 0.1.
 */
HONE_INLINE ptrdiff_t hone_stream_peek(
	struct hone_stream *stream, const void **data, size_t n);

/**
 * Take bytes that were looked at.
 *
 * :param stream: where from.
 * :param n:      bytes, 0 to as many as the last peek told.
 *
 * Since 0.1.
 */
HONE_INLINE void hone_stream_take(struct hone_stream *stream, size_t n);

/**
 * Take a line: all up to a delimiter, this included, or up to the end.
 *
 * :param stream:    where from.
 * :param line:      set to its first byte, which is not followed by a zero;
 *                   valid until the next call on this stream other than
 *                   hone_stream_tell() and hone_stream_eof().
 * :param delimiter: a byte, 0 to 255.
 * :param max:       longest line that is taken, in bytes, at least 1. SIZE_MAX:
 *                   any.
 * :return: bytes of the line, its delimiter included, which only the last one
 *          may lack; 0 at the end; -EMSGSIZE if the line is longer than max;
 *          or another negative errno, -ENOMEM among them.
 *
 * After an error, -EMSGSIZE too, nothing is taken: the bytes can be peeked at,
 * read and skipped. The buffer grows with the line, as it does for
 * hone_stream_peek(). Searched bytes are not searched again when the call is
 * repeated, as after -EAGAIN. Since 0.1.
 */
HONE_INLINE ptrdiff_t hone_stream_read_line(struct hone_stream *stream,
	const char **line, int delimiter, size_t max);

/**
 * Take bytes unseen.
 *
 * :param stream: where from.
 * :param n:      bytes; no more than INT64_MAX are skipped.
 * :return: how many were skipped: n, fewer at the end or where an error
 *          follows; or a negative errno if there was an error first.
 *
 * Where this seeks, the end is where the source said it is; should it fail to
 * come back from there, the stream is at the end. Since 0.1.
 */
HONE_API int64_t hone_stream_skip(struct hone_stream *stream, uint64_t n);

/**
 * Go to another position.
 *
 * :param stream: where.
 * :param offset: bytes.
 * :param whence: SEEK_SET, SEEK_CUR (from what is taken, not from what the
 *                source gave) or SEEK_END.
 * :return: the new position; -ESPIPE if the source cannot seek; -EINVAL for a
 *          position before the start and for another whence; -EOVERFLOW for
 *          one above INT64_MAX; or what the source said.
 *
 * On failure the position stays as it was. Otherwise the end that was met and
 * an error that was kept are forgotten. A file can be sought behind its end;
 * memory cannot: -EINVAL. Since 0.1.
 */
HONE_API int64_t hone_stream_seek(
	struct hone_stream *stream, int64_t offset, int whence);

/**
 * Tell the position of the next byte.
 *
 * :param stream: which.
 * :return: the position; if the source cannot seek, how many bytes were taken
 *          since the stream was opened; or a negative errno.
 *
 * Since 0.1.
 */
HONE_API int64_t hone_stream_tell(struct hone_stream *stream);

/**
 * Is it known that there is no more to be read?
 *
 * :param stream: which.
 * :return: true if all was taken and the source is known to have no more.
 *
 * Makes no call of the source: false may be followed by a read that gives 0.
 * Since 0.1.
 */
HONE_API bool hone_stream_eof(const struct hone_stream *stream);

/**
 * Forget that the source was at its end, so that the next call that wants more
 * asks it again: for a file that grows.
 *
 * :param stream: which; memory stays at its end.
 *
 * Since 0.1.
 */
HONE_API void hone_stream_clear_eof(struct hone_stream *stream);

/**
 * Set the sizes of a stream. What is in its buffer stays there; memory of an
 * empty buffer is given back.
 *
 * :param stream:      which.
 * :param buffer_size: as in struct hone_stream_attr; holds for the next read
 *                     of the source and those after it.
 * :param bypass_size: as in struct hone_stream_attr.
 * :return: 0; -EINVAL if buffer_size is out of range, and then nothing is set.
 *
 * Since 0.1.
 */
HONE_API int hone_stream_set_buffer(
	struct hone_stream *stream, size_t buffer_size, size_t bypass_size);

/**
 * Set the time until which calls may wait for a descriptor.
 *
 * :param stream: which; regular files, memory and sources of the caller's own
 *                never heed it.
 * :param ns:     nanoseconds of CLOCK_MONOTONIC, not from now but absolute;
 *                INT64_MAX: for ever, as it is at first.
 *
 * What is there is still read after that time; a call that would have to wait
 * returns -ETIMEDOUT (hone_stream_read() and hone_stream_skip() give what they
 * have first). Since 0.1.
 */
HONE_API void hone_stream_set_deadline(struct hone_stream *stream, int64_t ns);

HONE_END_DECLS

#include <hone/detail/stream.h>
#endif
