/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot functions, for tests/counts/counts.py: hot FEATURE TURNS.
 *
 * Runs below callgrind. Each case is called once before it counts, then TURNS
 * times, and its instructions are a dump file with the name of the case. The
 * features are limited to FEATURE, and the traits of the CPU are fixed: all
 * machines count the same code.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/hone.h>
#include <valgrind/callgrind.h>

#define BULK 32
#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "hot: %s\n", #cond);                   \
			exit(1);                                               \
		}                                                              \
	} while (0)

static unsigned char zeros[1 << 20] __attribute__((aligned(4096)));
static unsigned char from[1 << 20] __attribute__((aligned(4096)));
static unsigned char to[1 << 20] __attribute__((aligned(4096)));
static uint64_t bitmap[8];
static struct hone_ring *ring;
static struct hone_mempool_cache *cache, *empty, *exact, *exact_empty;
static struct hone_mempool_cache *exact_border;
static struct hone_stream *stream;
static void *objects[BULK];
static char lines[80 * 2000];

/*
 * The library's, by --wrap: a pool that sees valgrind would report each object
 * to it, on another path than that of users. A pool begins without.
 */
void __wrap_hone_mempool_watch_begin(struct hone_mempool *pool);

void
__wrap_hone_mempool_watch_begin(struct hone_mempool *pool)
{
	(void)pool;
}

/* Not inlined: each case has the same frame. */
#define CASE(name) static __attribute__((noinline)) void name(void)

CASE(zero_64)
{
	MUST(hone_buffer_is_zero(zeros, 64));
}

CASE(zero_4096)
{
	MUST(hone_buffer_is_zero(zeros, 4096));
}

CASE(zero_find_4095)
{
	MUST(hone_find_nonzero(zeros + 1, 4095) == 4095);
}

CASE(zero_rfind_4095)
{
	MUST(hone_rfind_nonzero(zeros + 1, 4095) == 4095);
}

CASE(zero_map_64k)
{
	hone_zero_map(zeros, 65536, 4096, bitmap);
}

CASE(copy_keep_64)
{
	hone_memcpy(to, from, 64, HONE_COPY_KEEP);
}

CASE(copy_keep_4097)
{
	hone_memcpy(to, from, 4097, HONE_COPY_KEEP);
}

CASE(copy_stream_64k)
{
	hone_memcpy(to, from, 65536, HONE_COPY_STREAM);
}

CASE(copy_clear_4096)
{
	hone_memset_zero(to, 4096, HONE_COPY_KEEP);
}

CASE(ring_one)
{
	void *got;

	MUST(hone_ring_enqueue(ring, to) == 0);
	MUST(hone_ring_dequeue(ring, &got) == 0 && got == to);
}

CASE(ring_bulk_32)
{
	MUST(hone_ring_enqueue_bulk(ring, objects, BULK) == 0);
	MUST(hone_ring_dequeue_bulk(ring, objects, BULK) == 0);
}

CASE(mempool_one)
{
	hone_mempool_put(cache, hone_mempool_get(cache));
}

static inline __attribute__((always_inline)) void
get_and_put_32(struct hone_mempool_cache *c)
{
	void *got[BULK];

	MUST(hone_mempool_get_bulk(c, got, BULK) == 0);
	hone_mempool_put_bulk(c, got, BULK);
}

CASE(mempool_bulk_32)
{
	get_and_put_32(cache);
}

CASE(mempool_none)
{
	MUST(hone_mempool_get(empty) == NULL);
}

CASE(exact_one)
{
	hone_mempool_put(exact, hone_mempool_get(exact));
}

CASE(exact_bulk_32)
{
	get_and_put_32(exact);
}

/* Begins with 4 loaded objects, fewer than a get wants. */
CASE(exact_border_32)
{
	get_and_put_32(exact_border);
}

/* Searches one other cache, under the mutex. */
CASE(exact_none)
{
	MUST(hone_mempool_get(exact_empty) == NULL);
}

CASE(stream_read_64)
{
	MUST(hone_stream_read(stream, to, 64) == 64);
}

CASE(stream_line_80)
{
	const char *line;

	MUST(hone_stream_read_line(stream, &line, '\n', SIZE_MAX) > 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"zero 64 B", zero_64},
	{"zero 4 KiB", zero_4096},
	{"zero find 4095 B", zero_find_4095},
	{"zero rfind 4095 B", zero_rfind_4095},
	{"zero map 64 KiB", zero_map_64k},
	{"copy keep 64 B", copy_keep_64},
	{"copy keep 4097 B", copy_keep_4097},
	{"copy stream 64 KiB", copy_stream_64k},
	{"clear 4 KiB", copy_clear_4096},
	{"ring 1", ring_one},
	{"ring 32", ring_bulk_32},
	{"mempool 1", mempool_one},
	{"mempool 32", mempool_bulk_32},
	{"mempool, none left", mempool_none},
	{"exact mempool 1", exact_one},
	{"exact mempool 32", exact_bulk_32},
	{"exact mempool 32, at a border", exact_border_32},
	{"exact mempool, none left", exact_none},
	{"stream read 64 B", stream_read_64},
	{"stream line 80 B", stream_line_80},
};

/* A cache of a new pool: full, or of foreign objects and so empty. Another
 * cache is open, too. The pool then goes on until so many objects are loaded.
 */
static struct hone_mempool_cache *
cache_of(unsigned flags, size_t n_loaded)
{
	struct hone_mempool_cache *found, *other;
	struct hone_mempool_attr attr;
	struct hone_mempool_stats stats;
	struct hone_mempool *pool;

	hone_mempool_attr_init(&attr);
	attr.object_size = flags & HONE_MEMPOOL_FOREIGN ? 0 : 64;
	attr.capacity = 4096;
	attr.flags = flags;
	MUST(hone_mempool_create(&pool, &attr) == 0);
	MUST(hone_mempool_cache_open(pool, &found) == 0);
	MUST(hone_mempool_cache_open(pool, &other) == 0);
	for (hone_mempool_get_stats(pool, &stats); stats.loaded != n_loaded;
		hone_mempool_get_stats(pool, &stats))
		MUST(hone_mempool_get(found));
	return found;
}

static void
prepare(void)
{
	memset(from, 1, sizeof from);
	memset(to, 2, sizeof to);
	memset(lines, 'x', sizeof lines);
	for (size_t i = 79; i < sizeof lines; i += 80)
		lines[i] = '\n';
	for (size_t i = 0; i < BULK; i++)
		objects[i] = to + i;
	MUST(hone_ring_create(&ring, 1024, 0) == 0);
	cache = cache_of(0, 0);
	empty = cache_of(HONE_MEMPOOL_FOREIGN, 0);
	exact = cache_of(HONE_MEMPOOL_EXACT, 0);
	exact_border = cache_of(HONE_MEMPOOL_EXACT, 4);
	exact_empty = cache_of(HONE_MEMPOOL_EXACT | HONE_MEMPOOL_FOREIGN, 0);
	MUST(hone_stream_open_memory(&stream, lines, sizeof lines, NULL) == 0);
}

int
main(int argc, char **argv)
{
	long turns;
	uint64_t feature;

	MUST(argc == 3);
	turns = atol(argv[2]);
	feature = hone_cpu_feature_by_name(argv[1], strlen(argv[1]));
	MUST((hone_cpu_features() & feature) != 0);
	hone_cpu_limit(feature | HONE_CPU_SSE2);
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MIN, 0);
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, SIZE_MAX);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_MIN, 1 << 20);
	hone_copy_set_threshold(1 << 20);
	prepare();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		MUST(hone_stream_seek(stream, 0, SEEK_SET) == 0);
		cases[i].run();
		CALLGRIND_ZERO_STATS;
		CALLGRIND_TOGGLE_COLLECT;
		for (long turn = 0; turn < turns; turn++)
			cases[i].run();
		CALLGRIND_TOGGLE_COLLECT;
		CALLGRIND_DUMP_STATS_AT(cases[i].name);
	}
	return 0;
}
