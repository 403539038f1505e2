/* SPDX-License-Identifier: BSD-3-Clause */
/* Hone's pool: cache, cursor and magazines, in the loops of the rivals. */
#include "pools.h"
#include "hone_loops.h"

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
