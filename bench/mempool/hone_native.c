/* SPDX-License-Identifier: BSD-3-Clause */
/* Hone's pool, in a caller that is compiled for this machine. */
#include <hone/mempool.h>
#include "native.h"

#define POOL native
#define POOL_BEGIN(t) struct hone_mempool_cache *cache = (t)
#define POOL_END() (void)0
#define POOL_GET(p, n) hone_mempool_get_bulk(cache, p, n)
#define POOL_PUT(p, n) hone_mempool_put_bulk(cache, p, n)
#include "loop.h"

#define POOL native_cursor
#define POOL_BEGIN(t)                                                          \
	struct hone_mempool_cursor cursor;                                     \
	hone_mempool_cursor_begin(&cursor, t)
#define POOL_END() hone_mempool_cursor_end(&cursor)
#define POOL_GET(p, n) hone_mempool_cursor_get_bulk(&cursor, p, n)
#define POOL_PUT(p, n) hone_mempool_cursor_put_bulk(&cursor, p, n)
#include "loop.h"

#define ROW(name, loops)                                                       \
	{                                                                      \
		name, NULL, pool_hone_missing, pool_hone_open,                 \
			pool_hone_enter, loops##_cycle, loops##_touch,         \
			loops##_produce, loops##_consume, loops##_take,        \
			loops##_give                                           \
	}

const struct pool_subject pool_hone_native[] = {
	ROW("hone", native),
	ROW("hone-cursor", native_cursor),
	{0},
};
