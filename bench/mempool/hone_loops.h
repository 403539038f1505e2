/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of Hone's pool, with a cache (plain_...) and with a cursor
 * (cursor_...). Each file that includes this header compiles them with its own
 * flags. Include it once.
 */
#include <hone/mempool.h>

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
