/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_FD_H
#define HONE_COPY_FD_H
/**
 * Copy bytes from one descriptor to another, inside the kernel if it can; and
 * tell whether the peer of a socket is still there.
 */
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** Bits of hone_copy_fd_result.methods, in the order in which they are tried.
 */
enum hone_copy_fd_method {
	/** copy_file_range(): between regular files; a file system may share
	 * the blocks or let its server copy them */
	HONE_COPY_FD_RANGE = 1,
	/** sendfile(): from a regular file or a block device to anything */
	HONE_COPY_FD_SENDFILE = 2,
	/** splice(): where one of the two is a pipe or a FIFO */
	HONE_COPY_FD_SPLICE = 4,
	/** read() and write(): always possible */
	HONE_COPY_FD_READ_WRITE = 8
};

/** What hone_copy_fd() did, also when it failed. */
struct hone_copy_fd_result {
	/** bytes that out took */
	uint64_t copied;
	/** bytes taken from in that out did not take, and that cannot be put
	 * back: not 0 only after write() has failed, and only if in is a pipe,
	 * a device, a socket, or another file that cannot seek */
	uint64_t lost;
	/** HONE_COPY_FD_* bits of those that moved at least one byte */
	unsigned methods;
	/** for later releases; set to zero */
	unsigned reserved[3];
};

/**
 * Copy up to n bytes from the position of one descriptor to that of another.
 *
 * :param in:     open for reading: a regular file, a pipe, a device, a socket
 *                of type SOCK_STREAM.
 * :param out:    open for writing: any of these; O_APPEND may be set.
 * :param n:      most bytes to copy; UINT64_MAX: to the end, however far, but
 *                no more than INT64_MAX; 0 returns 0 and does not look at the
 *                descriptors.
 * :param result: set by this call whatever it returns; or NULL.
 * :return: bytes copied, fewer than n only if the end of in was met; or a
 *          negative errno, and then result tells how many were copied before.
 *          -EINVAL: in and out are the same file and the n bytes overlap, or
 *          the same pipe; -EPROTOTYPE: a socket that is not of type
 *          SOCK_STREAM; both before anything is copied. Otherwise what the
 *          last call of the kernel said, or -EIO if write() took nothing.
 *
 * Both positions move by the number of bytes copied, after an error as well:
 * what out did not take is still to be read from in, unless result.lost says
 * that it is not. So a copy that failed can be called again for the rest. Both
 * descriptors stay open and nothing is flushed to the disk. Interrupted and
 * short calls go on.
 *
 * A method that the kernel, the file system or a seccomp filter refuses for
 * these two descriptors gives way to the next, in the middle of a copy as
 * well; nothing is remembered after the call. That copy_file_range() sees no
 * more is not believed: files in /proc have no size and yet content. Three
 * system calls copy a file of known size up to 1 GiB within a file system.
 *
 * If a descriptor is non-blocking and the copy would have to wait, -EAGAIN is
 * returned. There is one exception: what read() has taken from a pipe, a
 * device or a socket cannot be put back, and the call waits until out takes
 * it. The same goes for sockets with SO_RCVTIMEO or SO_SNDTIMEO.
 *
 * Writing to a pipe or a socket that nobody reads raises SIGPIPE; only if that
 * is ignored, blocked or handled does -EPIPE come back. Likewise SIGXFSZ and
 * -EFBIG.
 *
 * Holes of a sparse file are read as zeros and may be written as such: only
 * a file system that shares blocks keeps them. sendfile() and splice() put
 * pages of a file into a pipe or a socket without a copy: whoever changes the
 * file before they are read at the other end changes what is read there.
 *
 * Any thread may call it; while it runs, nobody else may move the positions of
 * the descriptors. Since 0.1.
 */
HONE_API int64_t hone_copy_fd(
	int in, int out, uint64_t n, struct hone_copy_fd_result *result);

/**
 * Is the connection of a socket still there, as far as this machine knows?
 *
 * :param fd: a socket that is or was connected; it may be blocking.
 * :return: 1 if bytes or a datagram are waiting, whatever comes after them, or
 *          if there is nothing to read yet; 0 if all was read and the peer has
 *          closed its end, or shut down sending; -ECONNRESET and the like if
 *          that is what reading would say; -ENOTCONN; -ENOTSOCK; -EBADF.
 *
 * One call of recv() that takes nothing and never waits, and one of
 * getsockopt() where that gave no byte, since an empty datagram does not close
 * anything. An error that was pending is told once: the socket forgets it. A
 * peer that vanished without a word counts as there until the kernel has given
 * it up. Any thread may call it. Since 0.1.
 */
HONE_API int hone_socket_alive(int fd);

HONE_END_DECLS
#endif
