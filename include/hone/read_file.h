/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_READ_FILE_H
#define HONE_READ_FILE_H
/**
 * Whole files in memory from the caller's allocator, one or many at once.
 *
 * A regular file takes four system calls: open, fstat, read and close. The read
 * requests one byte more than the size from fstat. If it returns exactly that
 * size, the file ends there, and no further read is needed. The memory has
 * exactly the size of the file plus one zero byte.
 *
 * A file without a size of its own (in /proc, a pipe, a FIFO, a device) is read
 * until it ends. The memory grows, and is cut to the size at the end. The same
 * happens if a file is longer or shorter than fstat reported: files that other
 * processes write to, and files in /sys, which all report 4096 bytes.
 *
 * Some files in /proc/sys return their content only to the first read, and cut
 * it if that read requests too little. So a regular file without a size is read
 * again, into twice the memory, if a single read returned all of it and more
 * than half of its request: from 32 KiB on. hone_read_small() and
 * hone_read_into() leave this to the caller.
 *
 * Any thread may call any of these functions; they keep no state.
 * hone_read_file(), hone_read_fd() and hone_read_files() return 0 or a negative
 * errno. If they fail, they leave their result unset and give all memory back.
 * They repeat interrupted system calls.
 *
 * Debug builds of the library assert that hone_read_files() gets paths and
 * done(), unless n is 0, and that hone_read_small() gets capacity. In release
 * builds these and all other broken contracts are undefined.
 * docs/design/stream.md of the sources has the measurements.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** Bits of hone_read_attr.flags. */
enum hone_read_flag {
	/** return -ELOOP if the last component of the path is a symbolic link
	 */
	HONE_READ_NOFOLLOW = 1,
	/** leave the access time unchanged where the kernel permits it: not for
	 * a file of another user */
	HONE_READ_NOATIME = 2,
	/** request huge pages for memory of 4 MiB or more, before its first
	 * access: one more system call, and far fewer page faults if the kernel
	 * has huge pages. For memory that is mapped only for this file, as
	 * malloc() does for this size */
	HONE_READ_HUGE_ADVISE = 4,
	/** do not wait in open() or read(): a FIFO without a writer is empty;
	 * a FIFO with a writer but no data returns -EAGAIN. Then open() is not
	 * a cancellation point */
	HONE_READ_NONBLOCK = 8
};

/**
 * How to read; hone_read_attr_init() sets every member. Without this call, in a
 * struct whose allocate, resize and release are NULL, each member that is 0 has
 * its default: {.flags = HONE_READ_NOFOLLOW} is enough.
 */
struct hone_read_attr {
	/** directory at which relative paths begin. Default: AT_FDCWD, the
	 * current directory, which is not 0 */
	int dirfd;
	/** HONE_READ_* bits. Default: none */
	unsigned flags;
	/** most bytes that the file may have. Default: SIZE_MAX, no limit */
	size_t limit;
	/** returns memory, or NULL if there is none. allocate() and resize()
	 * may leave by an exception or pthread_exit(): the call then closes and
	 * frees what it holds. longjmp() leaks that. size is at least 1 and
	 * includes the zero byte after the data. Default: malloc(), and for the
	 * next two members realloc() and free() */
	void *(*allocate)(size_t size, void *arg);
	/** returns memory of another size with the same content, as realloc()
	 * does, or NULL, which leaves the old memory unchanged. Called only if
	 * the size from fstat was wrong or 0 */
	void *(*resize)(void *memory, size_t size, void *arg);
	/** frees memory after an error */
	void (*release)(void *memory, void *arg);
	/** passed to these three functions */
	void *arg;
	/** for later releases; zero */
	void *reserved[4];
};

/** A file that was read. */
struct hone_file_data {
	/** the first byte, in memory from hone_read_attr.allocate() or
	 * resize(). The caller owns the memory and frees it as the allocator
	 * requires */
	void *data;
	/** bytes of the file; one zero byte follows them */
	size_t size;
};

/**
 * Set attributes to their defaults: current directory, no flags, no limit, and
 * memory from malloc(), to be freed by free().
 *
 * :param attr: set by this call.
 */
HONE_API void hone_read_attr_init(struct hone_read_attr *attr);

/**
 * Read a whole file.
 *
 * :param out:  set to the content; unchanged on failure.
 * :param path: ends with a zero byte.
 * :param attr: how to read; not kept. NULL: defaults.
 * :return: 0 on success;
 *          the error of open() if it fails, such as -ENOENT, -EACCES, -ELOOP,
 *          or -ENXIO for a socket;
 *          -EISDIR if the path is a directory;
 *          -EFBIG if the file has more bytes than the limit, or than memory can
 *          address;
 *          -ENOMEM if there is no memory;
 *          -EINVAL if attr has unknown flags or reserved members, or lacks
 *          allocate(), resize() or release();
 *          the error of read() if it fails.
 *
 * If fstat reports a size above the limit, the file is not read at all. Files
 * in /sys are the exception: each reports the size of a page, without blocks on
 * the disk, and its content decides. A file that another process writes to is
 * returned as it was at some moment, or as a mixture if the writer changes more
 * than the end.
 *
 * For paths that others choose, set a limit, or HONE_READ_NONBLOCK: opening a
 * FIFO waits for its writer, and a file that never ends, such as /dev/zero, is
 * read up to the limit.
 */
HONE_API HONE_DETAIL_RESULT int hone_read_file(struct hone_file_data *out,
	const char *path, const struct hone_read_attr *attr);

/**
 * Read the rest of a descriptor.
 *
 * :param out:  set to the content; unchanged on failure.
 * :param fd:   open for reading; remains open. Read from its position on; the
 *              position is at the end afterwards.
 * :param attr: as for hone_read_file(); dirfd and all flags except
 *              HONE_READ_HUGE_ADVISE have no effect. NULL: defaults.
 * :return: as hone_read_file();
 *          -EBADF if fd is not open;
 *          -EINVAL, before the first byte, if fd is a file or a block device
 *          with O_DIRECT, whose reads must be aligned.
 *
 * After a failure the position is anywhere between the old one and the end. If
 * fd is non-blocking (O_NONBLOCK) and has no data at the moment, the call
 * returns -EAGAIN, and bytes that it has read from a pipe or socket are lost.
 * For a regular file the call makes fcntl and lseek in addition to fstat and
 * read.
 */
HONE_API HONE_DETAIL_RESULT int hone_read_fd(
	struct hone_file_data *out, int fd, const struct hone_read_attr *attr);

/** What a read into memory of the caller found. */
enum hone_read_found {
	/** the whole file: it is in the memory, and its end was seen */
	HONE_READ_WHOLE = 0,
	/** a regular file that does not fit in the memory; nothing was read */
	HONE_READ_LARGER = 1,
	/** a part of a file, and more may follow: the file is changing, has no
	 * size of its own (/proc, /sys), or was not read from its first byte */
	HONE_READ_PART = 2,
	/** a directory, pipe, socket or device; nothing was read */
	HONE_READ_NOT_REGULAR = 3
};

/** The result of a read into memory of the caller. */
struct hone_read_result {
	/** bytes that were read; with HONE_READ_LARGER bytes of the file */
	size_t size;
	/** an enum hone_read_found; or a negative errno, with size 0 and
	 * nothing read */
	int found;
};

/**
 * Read a whole file from a descriptor into memory of the caller.
 *
 * This function and the next two are for language runtimes: their allocator may
 * leave by longjmp(), and they have their own code for a file that is not what
 * they expect. A small buffer suffices for most files. If the file is larger,
 * the caller allocates one byte more than its size and calls hone_read_sized().
 * Both ways take four system calls, open() and close() included.
 *
 * :param fd:       open for reading, at the first byte; remains open.
 * :param data:     memory to read into. The bytes after the result are
 *                  unspecified.
 * :param capacity: bytes at data, 0 to SIZE_MAX / 2. A file fits if it has
 *                  fewer bytes: the read requests at least one byte more than
 *                  the size, and if it returns exactly the size, this proves
 *                  the end.
 * :return: HONE_READ_WHOLE if the whole file is at data;
 *          HONE_READ_LARGER if the file does not fit;
 *          HONE_READ_PART if the file does not have the size from fstat();
 *          HONE_READ_NOT_REGULAR if it is not a regular file;
 *          -EFBIG if the size is not below SIZE_MAX / 2;
 *          the error of fstat() or read() if it fails.
 *
 * Calls fstat() and read() once each, and read() once more for each 2 GiB. An
 * interrupted read() is not repeated: the result is -EINTR, so that a runtime
 * can run its signal handlers. If an error follows the first bytes, the result
 * is HONE_READ_PART, and the next read() returns the error again. The position
 * of fd moves by the bytes that were read.
 */
HONE_API HONE_DETAIL_RESULT struct hone_read_result hone_read_into(
	int fd, void *data, size_t capacity);

/**
 * Read a whole file whose size is known, as hone_read_into() does.
 *
 * :param fd:   as for hone_read_into().
 * :param data: size + 1 bytes. The last byte is for the proof of the end, and
 *              unspecified afterwards.
 * :param size: bytes of the file, from a result with HONE_READ_LARGER; below
 *              SIZE_MAX / 2.
 * :return: HONE_READ_WHOLE if the file has exactly this size;
 *          HONE_READ_PART if it has another size;
 *          the error of read() if it fails.
 *
 * Does not call fstat().
 */
HONE_API HONE_DETAIL_RESULT struct hone_read_result hone_read_sized(
	int fd, void *data, size_t size);

/**
 * Read a file that was small and regular when it was last read.
 *
 * :param fd:       as for hone_read_into().
 * :param data:     memory to read into.
 * :param capacity: bytes at data, 1 to SIZE_MAX / 2.
 * :return: HONE_READ_WHOLE if a read() returned 0 before the memory was full;
 *          HONE_READ_PART otherwise;
 *          the error of read() if it fails.
 *
 * Does not call fstat(): a second read() that returns 0 proves the end, and
 * costs less. There is no third read(), so the file may be of any type now: the
 * result for a pipe or terminal that is still open at its other end is
 * HONE_READ_PART.
 */
HONE_API HONE_DETAIL_RESULT struct hone_read_result hone_read_small(
	int fd, void *data, size_t capacity);

/** Bits of hone_batch_attr.flags. */
enum hone_batch_flag {
	/** do not use io_uring */
	HONE_BATCH_PLAIN = 1,
	/** use io_uring even for few files; fail if it is not available at the
	 * beginning */
	HONE_BATCH_URING = 2
};

/** Number of files of a batch by the way they were read, errors included. */
struct hone_batch_used {
	/** by io_uring */
	size_t uring;
	/** by plain system calls */
	size_t plain;
	/** for later releases; set to zero */
	size_t reserved[2];
};

/** How to read a batch; hone_batch_attr_init() sets every member. A member that
 * is 0 has its default. */
struct hone_batch_attr {
	/** most files that each thread reads at a time by io_uring, 1 to 4096.
	 * Each takes 16 KiB of memory during the call. Default: 64 */
	unsigned depth;
	/** threads that read, 1 to 64, the caller's thread included; at most
	 * one for each 128 files. The others end before the call returns. With
	 * more than 1, all threads call the allocator concurrently, as they may
	 * call malloc(); any thread calls done(), one at a time. Default: 1 */
	unsigned threads;
	/** HONE_BATCH_* bits. Default: none. The batch then tries plain calls
	 * and io_uring, and reads by the faster one; it uses plain calls alone
	 * for fewer than 32 files, and for fewer than 256 that are read fast */
	unsigned flags;
	/** most bytes of unfinished results: a file above 16 KiB waits until it
	 * fits. A single file may be larger, and a file without a size (a pipe,
	 * /proc) grows beyond this. Finished results do not count: they belong
	 * to the caller. Default: 64 MiB */
	size_t memory;
	/** set when the call returns. Default: NULL, not set */
	struct hone_batch_used *used;
	/** for later releases; zero */
	void *reserved[4];
};

/**
 * Receives one result of hone_read_files(). Returns 0 to continue; any other
 * value stops the batch and is returned by hone_read_files().
 *
 * index: of the path. error: 0 or a negative errno, as from hone_read_file().
 * file: the content. From now on this function owns the data, but not the
 * structure. After an error the data are NULL. arg: as given to
 * hone_read_files().
 *
 * In the thread that called hone_read_files(), the function may leave by an
 * exception or pthread_exit(): hone_read_files() then stops as after a stop,
 * and nothing stays open. In another thread of the batch an exception ends the
 * process. longjmp() must not be used.
 */
typedef int (*hone_read_done_fn)(
	size_t index, int error, struct hone_file_data *file, void *arg);

/**
 * Set attributes to their defaults: one thread, 64 files at a time, 64 MiB of
 * unfinished results, and the faster one of io_uring and plain calls.
 *
 * :param attr: set by this call.
 */
HONE_API void hone_batch_attr_init(struct hone_batch_attr *attr);

/**
 * Read many files, each as hone_read_file() does.
 *
 * :param paths: n paths; a path that occurs twice is read twice.
 * :param n:     number of paths; 0: no effect.
 * :param attr:  how to read each file; NULL: defaults.
 * :param done:  called once for each path, in any order, by the calling thread
 *               unless batch asks for several threads.
 * :param arg:   passed to done.
 * :param batch: how to read the files together; NULL: defaults.
 * :return: 0 on success, whatever the errors of single files;
 *          the value that done() returned to stop;
 *          -EINVAL if attributes are unknown or out of range;
 *          -ENOSYS, -EPERM, -ENOMEM, -EMFILE or -ENFILE, with HONE_BATCH_URING
 *          only, if the kernel refuses to set up io_uring or to submit to it;
 *          done() was not called;
 *          -EOPNOTSUPP, with HONE_BATCH_URING only, if the library was built
 *          without io_uring; done() was not called.
 *
 * Which way is faster depends on the CPU, the kernel and the file system, and
 * on whether the files are in memory. A batch without flags reads 64 files each
 * way, then up to 2048 by the faster one, and tries again.
 *
 * With io_uring, all small files that are read at the same time take three
 * system calls together, not four each. Files that are not in memory are
 * fetched concurrently. io_uring requires Linux 5.19, and must not be forbidden
 * by sysctl kernel.io_uring_disabled or by a seccomp filter. Plain calls, with
 * the same results, read
 *
 * - files without a size, and files above 16 KiB;
 * - the rest of the files if io_uring does not work, or stops working;
 * - a file at which io_uring fails, unless the error is -ENOENT.
 *
 * Kernel threads may read files without a size: use HONE_BATCH_PLAIN for
 * /proc/thread-self.
 *
 * Each thread holds at most one descriptor of a file and one of a ring. If a
 * thread gets no descriptor (-EMFILE, -ENFILE), it leaves the rest to the other
 * threads, and its file is read again after all of them have ended. The error
 * is a result only if the batch then holds no other descriptor.
 *
 * With io_uring, a thread reads at most as many files at a time as
 * RLIMIT_NOFILE allows descriptors. The call leaves this limit as it is.
 *
 * The kernel may start workers for io_uring, which are threads of the process
 * and end up to a second after the call. Until then, system calls fail that
 * only a process with one thread may make, such as unshare(CLONE_NEWUSER): make
 * them before, or use HONE_BATCH_PLAIN.
 *
 * A file may stay open until the call returns, even after done() received it.
 * After a stop done() is not called again, unfinished results are given back,
 * and nothing is left running. done() may call any function, this one included.
 * With several threads, a call that is stopped or cancelled waits for the files
 * that the other threads are reading, such as a FIFO without a writer.
 */
HONE_API HONE_DETAIL_RESULT int hone_read_files(const char *const *paths,
	size_t n, const struct hone_read_attr *attr, hone_read_done_fn done,
	void *arg, const struct hone_batch_attr *batch);

HONE_END_DECLS
#endif
