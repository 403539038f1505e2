/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of rte_mempool (dpdk_...). Each file that includes this header
 * compiles them with its own flags. Include it once, after rte_mempool.h.
 */
#define POOL dpdk
#define POOL_BEGIN(t) struct rte_mempool *pool = (t)
#define POOL_END() (void)0
#define POOL_GET(p, n) rte_mempool_get_bulk(pool, p, n)
#define POOL_PUT(p, n) rte_mempool_put_bulk(pool, p, n)
#include "loop.h"
