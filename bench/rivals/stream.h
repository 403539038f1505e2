/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_RIVALS_STREAM_H
#define HONE_BENCH_RIVALS_STREAM_H
/*
 * Whole files as programs read them. Each returns 0, or -1 with errno set; the
 * data is to be given to free(), but that of stream_mmap() to munmap().
 */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* open, fstat, one read of the size, close; nothing is done about a file whose
 * size was wrong */
int stream_bare(const char *path, void **data, size_t *n);
/* fopen, fstat, fread, fclose */
int stream_stdio(const char *path, void **data, size_t *n);
/* open, fstat, mmap, close, and a look at each page; nothing is copied */
int stream_mmap(const char *path, void **data, size_t *n);

typedef void (*stream_seen_fn)(const void *data, size_t n, void *arg);

/*
 * What io_uring can do at best: open and one read of each file, 32 at a time,
 * none of them larger than 16 KiB, into memory that is there already, and no
 * proof that it was all. linked: as one chain for each file.
 */
int stream_uring_ceiling(const char *const *paths, size_t n, int linked,
	stream_seen_fn seen, void *arg);

#ifdef __cplusplus
}
#endif

#endif
