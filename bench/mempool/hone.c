/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hone's pool: cache (plain_...), cursor (cursor_...) and magazines, in the
 * loops of the rivals. If NATIVE is defined, only the pools in a caller that is
 * compiled for this machine.
 */
#include <hone/mempool.h>
#include "pools.h"

#define POOL plain
#define POOL_BEGIN(t) struct hone_mempool_cache *cache = (t)
#define POOL_END() (void)0
#define POOL_GET(p, n) hone_mempool_get_bulk(cache, p, n)
#define POOL_PUT(p, n) hone_mempool_put_bulk(cache, p, n)
#include "loop.h"

/* A cursor is in registers. n is constant except in the loop POOL_cycle_any. */
static inline int
cursor_get(struct hone_mempool_cursor *cursor, void **objects, unsigned n)
{
	if (n != 1)
		return hone_mempool_cursor_get_bulk(cursor, objects, n);
	*objects = hone_mempool_cursor_get(cursor);
	return *objects ? 0 : -1;
}

static inline void
cursor_put(struct hone_mempool_cursor *cursor, void **objects, unsigned n)
{
	if (n == 1)
		hone_mempool_cursor_put(cursor, *objects);
	else
		hone_mempool_cursor_put_bulk(cursor, objects, n);
}

#define POOL cursor
#define POOL_BEGIN(t)                                                          \
	struct hone_mempool_cursor cursor;                                     \
	hone_mempool_cursor_begin(&cursor, t)
#define POOL_END() hone_mempool_cursor_end(&cursor)
#define POOL_GET(p, n) cursor_get(&cursor, p, n)
#define POOL_PUT(p, n) cursor_put(&cursor, p, n)
#include "loop.h"

#ifdef NATIVE
#define ROW(name, loops)                                                       \
	{                                                                      \
		name, NULL, pool_hone_missing, pool_hone_open,                 \
			pool_hone_enter, loops##_cycle, loops##_touch,         \
			loops##_produce, loops##_consume, loops##_take,        \
			loops##_give                                           \
	}

const struct pool_subject pool_hone_native[] = {
	ROW("hone", plain),
	ROW("hone-cursor", cursor),
	{0},
};
#else
/*
 * Whole magazines, as many as hold `keep` objects. The loop keeps the addresses
 * of the magazines, and reaches the objects through them.
 */
static inline __attribute__((always_inline)) void
magazine_turns(void *thread, const struct pool_work *w, bool touch)
{
	struct hone_mempool_magazine **held = (void *)w->objects;

	for (unsigned turn = 0; turn < w->rounds; turn++) {
		unsigned n = 0;

		for (size_t got = 0; got < w->keep; n++) {
			do
				held[n] = hone_mempool_get_magazine(thread);
			while (!held[n]);
			got += held[n]->count;
			for (size_t i = 0; touch && i < held[n]->count; i++)
				*(volatile uint64_t *)held[n]->objects[i] = i;
		}
		while (n > 0)
			hone_mempool_put_magazine(thread, held[--n]);
	}
}

static void
magazine_cycle(void *thread, const struct pool_work *w)
{
	magazine_turns(thread, w, false);
}

static void
magazine_touch(void *thread, const struct pool_work *w)
{
	magazine_turns(thread, w, true);
}

const char *
pool_hone_missing(const struct pool_subject *s)
{
	(void)s;
	return NULL;
}

void *
pool_hone_open(const struct pool_subject *s, const struct pool_shape *shape)
{
	struct hone_mempool_attr attr;
	struct hone_mempool *pool;

	hone_mempool_attr_init(&attr);
	attr.object_size = shape->object_size;
	attr.capacity = shape->capacity;
	attr.cache_size = shape->cache_size < HONE_MEMPOOL_CACHE_MAX
				  ? shape->cache_size
				  : HONE_MEMPOOL_CACHE_MAX;
	(void)s;
	attr.memory = shape->memory;
	attr.memory_size = shape->memory_size;
	return hone_mempool_create(&pool, &attr) == 0 ? pool : NULL;
}

void *
pool_hone_enter(void *pool)
{
	struct hone_mempool_cache *cache;

	return hone_mempool_cache_open(pool, &cache) == 0 ? cache : NULL;
}

#define EACH(f)                                                                \
	{                                                                      \
		f, f, f, f, f, f, f                                            \
	}
static pool_loop *const magazine_cycles[POOL_SIZES] = EACH(magazine_cycle);
static pool_loop *const magazine_touches[POOL_SIZES] = EACH(magazine_touch);

const struct pool_subject pool_hone[] = {
	{"hone", NULL, pool_hone_missing, pool_hone_open, pool_hone_enter,
		plain_cycle, plain_touch, plain_produce, plain_consume,
		plain_take, plain_give},
	{0},
};

const struct pool_subject pool_hone_cursor[] = {
	{"hone-cursor", NULL, pool_hone_missing, pool_hone_open,
		pool_hone_enter, cursor_cycle, cursor_touch, cursor_produce,
		cursor_consume, cursor_take, cursor_give},
	{0},
};

const struct pool_subject pool_hone_magazine[] = {
	{"hone-magazine", NULL, pool_hone_missing, pool_hone_open,
		pool_hone_enter, magazine_cycles, magazine_touches, NULL, NULL,
		plain_take, plain_give},
	{0},
};
#endif
