/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_FD_H
#define HONE_COPY_FD_H
/**
 * Copies from one descriptor to another, inside the kernel where possible; a
 * test whether the peer of a socket is still connected. No argument breaks a
 * contract: a descriptor that does not fit is an error.
 */
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** Bits of hone_copy_fd_result.methods, in the order of the attempts. */
enum hone_copy_fd_method {
	/** copy_file_range(): between regular files; a file system may share
	 * the blocks, or its server may copy them */
	HONE_COPY_FD_RANGE = 1,
	/** sendfile(): from a regular file or a block device to anything */
	HONE_COPY_FD_SENDFILE = 2,
	/** splice(): if one of the two is a pipe or a FIFO */
	HONE_COPY_FD_SPLICE = 4,
	/** read() and write(): always possible */
	HONE_COPY_FD_READ_WRITE = 8
};

/** What hone_copy_fd() did; set after a failure too. */
struct hone_copy_fd_result {
	/** bytes written to out */
	uint64_t copied;
	/** bytes read from in, not written to out, and impossible to put back:
	 * 0 unless write() failed and in is a pipe, a device, a socket, or
	 * another file that cannot seek */
	uint64_t lost;
	/** HONE_COPY_FD_* bits of the methods that moved at least one byte */
	unsigned methods;
	/** for later releases; set to zero */
	unsigned reserved[3];
};

/**
 * Copy up to n bytes from the position of one descriptor to that of another.
 *
 * :param in:     open for reading: a regular file, a pipe, a device, or a
 *                socket of type SOCK_STREAM.
 * :param out:    open for writing: any of these; O_APPEND may be set.
 * :param n:      most bytes to copy; 0 returns 0 without using the descriptors.
 *                UINT64_MAX: up to the end of in, at most INT64_MAX bytes.
 * :param result: set by this call, whatever it returns; or NULL.
 * :return: bytes copied, fewer than n only if in ended;
 *          -EINVAL, before any copy, if in and out are the same file and the n
 *          bytes overlap, or if in and out are the same pipe;
 *          -EPROTOTYPE, before any copy, if a socket is not of type
 *          SOCK_STREAM;
 *          -EIO if write() wrote nothing;
 *          the negative errno of the last system call if it failed.
 *
 * Both positions move by the number of bytes copied, even after an error: bytes
 * that were not written can be read from in again, except result.lost bytes. So
 * a copy that failed can be repeated for the rest. Both descriptors stay open.
 * Nothing is flushed to the disk. Interrupted and short system calls are
 * continued.
 *
 * If the kernel, the file system or a seccomp filter refuses a method for these
 * two descriptors, the next method takes over, even in the middle of a copy.
 * Nothing is remembered after the call. If copy_file_range() reports the end,
 * the next method checks it. A file of size 0 is read by read(): in /proc it
 * may have content, of which some files return nothing but to the first read. A
 * file of known size up to 1 GiB is copied within a file system by three system
 * calls.
 *
 * If a descriptor is non-blocking and the copy would have to wait, the call
 * returns -EAGAIN, with one exception: bytes that read() took from a pipe, a
 * device or a socket cannot be put back, and the call waits until out takes
 * them. The same applies to sockets with SO_RCVTIMEO or SO_SNDTIMEO.
 *
 * A write to a pipe or a socket without a reader raises SIGPIPE. The call
 * returns -EPIPE only if the signal is ignored, blocked or handled. SIGXFSZ and
 * -EFBIG behave in the same way.
 *
 * Holes of a sparse file are read as zeros and may be written as zeros; only a
 * file system that shares blocks keeps the holes. sendfile() and splice() put
 * pages of a file into a pipe or a socket without a copy: if the file changes
 * before the other end reads the pages, the other end reads the new content.
 *
 * Any thread may call it. During the call nobody else may move the positions of
 * the descriptors. Since 0.1.
 */
HONE_API HONE_DETAIL_RESULT int64_t hone_copy_fd(
	int in, int out, uint64_t n, struct hone_copy_fd_result *result);

/**
 * Copy as hone_copy_fd() does, but wait for non-blocking descriptors, at most
 * until a deadline.
 *
 * :param in:          as for hone_copy_fd(). Set O_NONBLOCK on pipes, sockets
 *                     and devices: a system call on a blocking descriptor
 *                     returns when it is done, not at the deadline.
 * :param out:         as for in.
 * :param n:           as for hone_copy_fd().
 * :param deadline_ns: absolute time in nanoseconds of CLOCK_MONOTONIC;
 *                     INT64_MAX: no limit.
 * :param result:      set by this call, whatever it returns; or NULL.
 * :return: as hone_copy_fd(), except for -EAGAIN;
 *          -ETIMEDOUT if the copy would have to wait beyond the deadline.
 *
 * Bytes that can be moved without waiting are copied even after that time. A
 * copy that timed out can be continued, unless result.lost is not 0: bytes that
 * read() took from a pipe, a device or a socket, and that out did not take in
 * time. Since 0.1.
 */
HONE_API HONE_DETAIL_RESULT int64_t hone_copy_fd_until(int in, int out,
	uint64_t n, int64_t deadline_ns, struct hone_copy_fd_result *result);

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
 * until the kernel gives it up. Any thread may call it. Since 0.1.
 */
HONE_API int hone_socket_alive(int fd);

HONE_END_DECLS
#endif
