/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_STREAM_RIVALS_H
#define HONE_BENCH_STREAM_RIVALS_H
/*
 * Common ways to read a whole file. Each returns 0, or -1 with errno set. The
 * caller frees the data by free(), and that of stream_mmap() by munmap().
 */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* open, fstat, one read of the size, close; cuts off a file that grew */
int stream_bare(const char *path, void **data, size_t *n);
/* fopen, fstat, fread, fclose */
int stream_stdio(const char *path, void **data, size_t *n);
/* open, fstat, mmap, close, and one load of each page; copies nothing */
int stream_mmap(const char *path, void **data, size_t *n);

typedef void (*stream_seen_fn)(const void *data, size_t n, void *arg);

/*
 * The ceiling of io_uring: open and one read of each file, 32 at a time, into
 * memory that exists already. No file is larger than 16 KiB, and nothing checks
 * that a read got the whole file. If linked is not 0, the requests of a file
 * are a chain.
 */
int stream_uring_ceiling(const char *const *paths, size_t n, int linked,
	stream_seen_fn seen, void *arg);

#ifdef __cplusplus
}
#endif

#endif
