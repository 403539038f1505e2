/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user of each part of hone.c, C99 and C++11 alike: of those that
 * -DHONE_ONLY_... names, or of all. Looks at each byte that the library writes,
 * for the sanitizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hone.h"

#if !defined(HONE_ONLY_ZERO) && !defined(HONE_ONLY_COPY) &&                    \
	!defined(HONE_ONLY_RING) && !defined(HONE_ONLY_MEMPOOL) &&             \
	!defined(HONE_ONLY_STREAM)
#define HONE_ONLY_ZERO
#define HONE_ONLY_COPY
#define HONE_ONLY_RING
#define HONE_ONLY_MEMPOOL
#define HONE_ONLY_STREAM
#endif

#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "parts: %s\n", #cond);                 \
			exit(1);                                               \
		}                                                              \
	} while (0)

#ifdef HONE_ONLY_ZERO
static void
try_zero(void)
{
	struct hone_zero_walk walk;
	struct hone_zero_extent extent;
	size_t size = 2000, n = 0;
	unsigned char *bytes = (unsigned char *)calloc(1, size), map[4];

	MUST(bytes);
	for (size_t i = 1; i < size; i += 97) {
		MUST(hone_buffer_is_zero(bytes, i));
		bytes[i] = 1;
		MUST(!hone_buffer_is_zero(bytes, i + 1));
		MUST(hone_find_nonzero(bytes, size) == i);
		MUST(hone_rfind_nonzero(bytes, size) == i);
		bytes[i] = 0;
	}
	bytes[500] = 1;
	MUST(hone_zero_map(bytes, size, 64, map) == 31 && map[0] == 127);
	hone_zero_walk_init(&walk, bytes, size, 64);
	while (hone_zero_walk_next(&walk, &extent))
		n++;
	MUST(n == 3);
	free(bytes);
}
#endif

#ifdef HONE_ONLY_COPY
static void
try_copy(void)
{
	size_t size = 3 * 4096 + 5;
	unsigned char *from = (unsigned char *)malloc(size);
	unsigned char *to = (unsigned char *)malloc(size);
	int policies[] = {HONE_COPY_KEEP, HONE_COPY_STREAM,
		HONE_COPY_STREAM_PROTECT, HONE_COPY_AUTO};

	MUST(from && to);
	for (size_t i = 0; i < size; i++)
		from[i] = (unsigned char)(i * 7 + 1);
	for (size_t n = 0; n <= size; n += n < 300 ? 1 : 971)
		for (size_t i = 0; i < 4; i++) {
			hone_memset_zero(to, size, policies[i]);
			MUST(to[0] == 0 && to[size - 1] == 0);
			hone_memcpy(to + size - n, from, n, policies[i]);
			MUST(memcmp(to + size - n, from, n) == 0);
		}
	free(from);
	free(to);
}
#endif

#ifdef HONE_ONLY_RING
static void
try_ring(unsigned flags)
{
	struct hone_ring *ring;
	void *some[40], *one;
	int items[40];

	for (int i = 0; i < 40; i++)
		some[i] = &items[i];
	MUST(hone_ring_create(&ring, 50, flags) == 0);
	for (int i = 0; i < 9; i++) {
		MUST(hone_ring_enqueue(ring, &items[i]) == 0);
		MUST(hone_ring_enqueue_bulk(ring, some, 40) == 0);
		MUST(hone_ring_dequeue(ring, &one) == 0 && one == &items[i]);
		MUST(hone_ring_dequeue_burst(ring, some, 40) == 40);
		MUST(some[39] == &items[39]);
	}
	hone_ring_destroy(ring);
}
#endif

#ifdef HONE_ONLY_MEMPOOL
static void
try_mempool(unsigned flags)
{
	struct hone_mempool_attr attr;
	struct hone_mempool *pool;
	struct hone_mempool_cache *cache;
	void *some[100];

	hone_mempool_attr_init(&attr);
	attr.object_size = 24;
	attr.capacity = 1000;
	attr.flags = flags;
	MUST(hone_mempool_create(&pool, &attr) == 0);
	cache = hone_mempool_thread_cache(pool);
	MUST(cache && hone_mempool_available(pool) == 1000);
	for (int i = 0; i < 20; i++) {
		MUST(hone_mempool_get_bulk(cache, some, 100) == 0);
		for (int j = 0; j < 100; j++)
			memset(some[j], j, 24);
		for (int j = 0; j < 50; j++)
			hone_mempool_put(cache, some[j]);
		hone_mempool_put_bulk(cache, some + 50, 50);
	}
	MUST(hone_mempool_destroy(pool) == 0);
}
#endif

#ifdef HONE_ONLY_STREAM
static int
done(size_t index, int error, struct hone_file_data *file, void *arg)
{
	MUST(error == 0 && strlen((char *)file->data) == file->size);
	*(size_t *)arg += index + file->size;
	free(file->data);
	return 0;
}

static void
try_stream(const char *path)
{
	struct hone_stream *stream;
	struct hone_file_data file;
	const char *line, *paths[] = {path, path};
	ptrdiff_t n;
	size_t size = 0, read = 0;

	MUST(hone_read_file(&file, path, NULL) == 0 && file.size > 0);
	MUST(hone_stream_open_memory(&stream, file.data, file.size, NULL) == 0);
	while ((n = hone_stream_read_line(stream, &line, '\n', 1000)) > 0) {
		MUST(line[n - 1] == '\n');
		size += (size_t)n;
	}
	MUST(n == 0 && size == file.size);
	MUST(hone_stream_close(stream) == 0);
	free(file.data);
	MUST(hone_read_files(paths, 2, NULL, done, &read, NULL) == 0);
	MUST(read == 2 * size + 1);
}
#endif

int
main(int argc, char **argv)
{
	MUST(argc == 2 && argv[1]);
#ifdef HONE_ONLY_ZERO
	try_zero();
	hone_cpu_limit(HONE_CPU_SSE2);
	try_zero();
	hone_cpu_limit(HONE_CPU_ALL);
#endif
#ifdef HONE_ONLY_COPY
	try_copy();
	hone_cpu_limit(HONE_CPU_SSE2);
	try_copy();
	hone_cpu_limit(HONE_CPU_ALL);
#endif
#ifdef HONE_ONLY_RING
	try_ring(HONE_RING_MPMC);
	try_ring(HONE_RING_SPSC);
#endif
#ifdef HONE_ONLY_MEMPOOL
	try_mempool(0);
	try_mempool(HONE_MEMPOOL_DEBUG);
#endif
#ifdef HONE_ONLY_STREAM
	try_stream(argv[1]);
#endif
	printf("%s\n", hone_version());
	return strcmp(hone_version(), HONE_VERSION_STRING);
}
