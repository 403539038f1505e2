/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_READ_FILE_H
#define HONE_READ_FILE_H
/**
 * A whole file in memory that the caller's allocator gives.
 *
 * A regular file takes four system calls: open, fstat, read and close. The
 * read asks for one byte more than fstat told, so that coming back with
 * exactly the size proves the end; nothing asks again. The memory has exactly
 * the size, and a zero byte behind it.
 *
 * What has no size of its own (files in /proc, pipes, FIFOs, devices) is read
 * until it ends, into memory that grows and is cut to size at the end. So is
 * what turns out longer or shorter than fstat said: files that others are
 * writing to, and those in /sys, which all claim to have 4096 bytes.
 *
 * Any thread may call any of these functions; none keeps a state. They return
 * 0 or a negative errno, do not touch what they were to fill when they fail,
 * and then have given all memory back. An interrupted system call is made
 * again. docs/design/stream.md of the sources has the measurements.
 */
#include <stddef.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** Bits of hone_read_attr.flags. */
enum hone_read_flag {
	/** a symbolic link as the last component of the path: -ELOOP */
	HONE_READ_NOFOLLOW = 1,
	/** leave the time of access as it is, where the kernel lets us: that
	 * of a file that belongs to somebody else is changed all the same */
	HONE_READ_NOATIME = 2,
	/** ask for huge pages in memory of 4 MiB or more, before it is first
	 * touched: one more system call, and far fewer page faults where the
	 * kernel has such pages; for memory that is mapped for this file
	 * alone, as malloc() does with that much */
	HONE_READ_HUGE_ADVISE = 4,
	/** do not wait in open() or read(): a FIFO that nobody writes to is
	 * empty, and one whose writer is late says -EAGAIN */
	HONE_READ_NONBLOCK = 8
};

/**
 * How to read; hone_read_attr_init() sets every member. Its allocate(),
 * resize() and release() must not be NULL.
 */
struct hone_read_attr {
	/** relative paths begin at this directory. Default: AT_FDCWD, at the
	 * current one */
	int dirfd;
	/** HONE_READ_* bits. Default: none */
	unsigned flags;
	/** most bytes that the file may have. Default: SIZE_MAX, any */
	size_t limit;
	/** gives memory; size is at least 1, and counts the zero byte behind
	 * the data. NULL: there is none. Default: malloc(), and realloc() and
	 * free() for the two that follow */
	void *(*allocate)(size_t size, void *arg);
	/** gives memory of another size with the same content, as realloc()
	 * does, or NULL and leaves the old as it is; called only if the size
	 * told by fstat was wrong, or 0 */
	void *(*resize)(void *memory, size_t size, void *arg);
	/** takes memory back after an error */
	void (*release)(void *memory, void *arg);
	/** passed to the three */
	void *arg;
	/** for later releases; zero */
	void *reserved[4];
};

/** What was read. */
struct hone_file_data {
	/** the first byte, from hone_read_attr.allocate() or resize(); the
	 * caller's, who gives it back as that allocator wants it */
	void *data;
	/** bytes of the file; one zero byte follows them */
	size_t size;
};

/**
 * Set attributes to their defaults: current directory, no flags, no limit, and
 * memory from malloc(), which free() takes back.
 *
 * :param attr: set by this call.
 *
 * Since 0.1.
 */
HONE_API void hone_read_attr_init(struct hone_read_attr *attr);

/**
 * Read a whole file.
 *
 * :param out:  set to what was read; unchanged on failure.
 * :param path: ends with a zero byte.
 * :param attr: how; NULL: as hone_read_attr_init() sets it. Not kept.
 * :return: 0; what open() says, such as -ENOENT, -EACCES, -ELOOP or -ENXIO (a
 *          socket); -EISDIR; -EFBIG if there are more bytes than the limit, or
 *          than memory can address; -ENOMEM; -EINVAL for flags that do not
 *          exist; or what read() says.
 *
 * A file whose size is known to be above the limit is not read at all. A file
 * that another process writes to is given as it was at some moment or, if the
 * writer changes more than its end, as a mixture. Opening a FIFO waits for its
 * writer, and a file that never ends, such as /dev/zero, is read until the
 * limit: set one, or HONE_READ_NONBLOCK, for paths that others choose.
 * Since 0.1.
 */
HONE_API int hone_read_file(struct hone_file_data *out, const char *path,
	const struct hone_read_attr *attr);

/**
 * Read what is left in a descriptor.
 *
 * :param out:  set to what was read; unchanged on failure.
 * :param fd:   open for reading; remains open. It is read from its position
 *              on, and stands at the end afterwards.
 * :param attr: as for hone_read_file(), of which dirfd and the flags but
 *              HONE_READ_HUGE_ADVISE mean nothing here. NULL: defaults.
 * :return: as hone_read_file(); -EBADF. After a failure the position is
 *          anywhere between what it was and the end.
 *
 * If fd does not block (O_NONBLOCK) and has nothing more to give just now, the
 * answer is -EAGAIN, and what was already read from a pipe or socket is lost.
 * Costs an lseek more than the read and fstat of a regular file. Since 0.1.
 */
HONE_API int hone_read_fd(
	struct hone_file_data *out, int fd, const struct hone_read_attr *attr);

/** Bits of hone_batch_attr.flags. */
enum hone_batch_flag {
	/** do not use io_uring */
	HONE_BATCH_PLAIN = 1,
	/** use io_uring however few files there are, or fail */
	HONE_BATCH_URING = 2
};

/** Which way the files of a batch were read; those with an error count too. */
struct hone_batch_used {
	/** by io_uring */
	size_t uring;
	/** by plain system calls */
	size_t plain;
};

/** How to read a batch; hone_batch_attr_init() sets every member. */
struct hone_batch_attr {
	/** most files that each thread reads at a time by io_uring, 1 to 4096.
	 * Each takes 16 KiB of memory for the length of the call. Default: 64
	 */
	unsigned depth;
	/** threads that read, 1 to 64, one for each 128 files at most, the
	 * caller's being one of them; the others last as long as the call. With
	 * more than 1 the allocator is called by all of them at once, as
	 * malloc() may be, and done() by any of them, one at a time. Default:
	 * 1 */
	unsigned threads;
	/** HONE_BATCH_* bits. Default: none, io_uring for 32 files or more */
	unsigned flags;
	/** most bytes of unfinished results: a file above 16 KiB is not read
	 * on before it fits. One file alone may be larger, and what has no
	 * size (pipes, /proc) grows beyond it. Finished results do not
	 * count: they are the caller's. Default: 64 MiB */
	size_t memory;
	/** set when the call returns. Default: NULL, not told */
	struct hone_batch_used *used;
	/** for later releases; zero */
	void *reserved[4];
};

/**
 * Takes one result of hone_read_files(). Other than 0: stop, and give this
 * back.
 *
 * index: of the path. error: 0 or a negative errno, as hone_read_file() would
 * have returned. file: what was read; its data belong to this function from
 * now on, the structure does not. After an error its data are NULL. arg: as
 * it was given.
 */
typedef int (*hone_read_done_fn)(
	size_t index, int error, struct hone_file_data *file, void *arg);

/**
 * Set attributes to their defaults: one thread, 64 files at a time, 64 MiB of
 * unfinished results, and io_uring for 32 files or more where the kernel has
 * it.
 *
 * :param attr: set by this call.
 *
 * Since 0.1.
 */
HONE_API void hone_batch_attr_init(struct hone_batch_attr *attr);

/**
 * Read many files, each as hone_read_file() does.
 *
 * :param paths: n paths; the same one may be there twice, and is read twice.
 * :param n:     how many; 0: nothing happens.
 * :param attr:  how to read each; NULL: defaults.
 * :param done:  called once for each path, in any order, by the calling thread
 *               unless there are to be more.
 * :param arg:   passed to done.
 * :param batch: how to read them together; NULL: defaults.
 * :return: 0; what done() returned to stop; -EINVAL for attributes that do not
 *          exist or are out of range; with HONE_BATCH_URING what io_uring said
 *          (-ENOSYS, -EPERM, -ENOMEM), or -EOPNOTSUPP from a library that was
 *          built without it, and then done() was not called.
 *
 * By io_uring, all the files being read take three system calls together if
 * they are small, not four each, and those that are not in memory are fetched
 * at the same time. It wants Linux 5.19, and that neither sysctl
 * kernel.io_uring_disabled nor a seccomp filter forbids it. Where it does not
 * work, or ceases to, the rest is read by plain calls, with the same results;
 * so is a file at which io_uring fails, unless that is -ENOENT. Files without
 * a size may be read by kernel threads: for /proc/thread-self, take plain ones.
 *
 * A file may be open until the call returns, even if done() has had it. After
 * a stop done() is not called again, what was being read is given back, and
 * nothing is left running. done() may call any function, this one as well.
 * Since 0.1.
 */
HONE_API int hone_read_files(const char *const *paths, size_t n,
	const struct hone_read_attr *attr, hone_read_done_fn done, void *arg,
	const struct hone_batch_attr *batch);

HONE_END_DECLS
#endif
