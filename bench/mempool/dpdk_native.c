/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rte_mempool in a caller that is compiled for this machine: as Debian's
 * headers have it, and with the get of later releases.
 */
#undef RTE_USE_LIBBSD
#include <rte_lcore.h>
#include <rte_mempool.h>
#include "dpdk_loops.h"
#include "pools.h"

/*
 * Since DPDK 23.07, a get of a constant n that the cache can satisfy is a loop
 * without calls, which the compiler makes vectors of.
 */
static inline __attribute__((always_inline)) int
later_get(struct rte_mempool *pool, void **objects, unsigned n)
{
	struct rte_mempool_cache *cache =
		rte_mempool_default_cache(pool, rte_lcore_id());

	if (!__builtin_constant_p(n) || !cache || n > cache->len)
		return rte_mempool_get_bulk(pool, objects, n);
	void **top = &cache->objs[cache->len];

	for (unsigned i = 0; i < n; i++)
		objects[i] = *--top;
	cache->len -= n;
	return 0;
}

#define POOL later
#define POOL_BEGIN(t) struct rte_mempool *pool = (t)
#define POOL_END() (void)0
#define POOL_GET(p, n) later_get(pool, p, n)
#define POOL_PUT(p, n) rte_mempool_put_bulk(pool, p, n)
#include "loop.h"

#define ROW(name, loops)                                                       \
	{                                                                      \
		name, "ring_mp_mc", pool_dpdk_missing, pool_dpdk_open,         \
			pool_dpdk_enter, loops##_cycle, loops##_touch,         \
			loops##_produce, loops##_consume, loops##_take,        \
			loops##_give                                           \
	}

const struct pool_subject pool_dpdk_native[] = {
	ROW("dpdk-ring", dpdk),
	ROW("dpdk-later-get", later),
	{0},
};
