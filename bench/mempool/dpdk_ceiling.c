/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ceiling of a driver of rte_mempool that copies pointers: the ops "array"
 * have one array, and neither a lock nor an atomic operation. For one thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#undef RTE_USE_LIBBSD
#include <rte_mempool.h>
#include "dpdk_loops.h"
#include "pools.h"

struct array {
	unsigned n;
	void *objects[];
};

static int
array_alloc(struct rte_mempool *mp)
{
	struct array *a = malloc(sizeof(*a) + mp->size * sizeof(void *));

	if (!a)
		return -ENOMEM;
	a->n = 0;
	mp->pool_data = a;
	return 0;
}

static void
array_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static int
array_enqueue(struct rte_mempool *mp, void *const *objects, unsigned n)
{
	struct array *a = mp->pool_data;

	memcpy(a->objects + a->n, objects, n * sizeof(void *));
	a->n += n;
	return 0;
}

static int
array_dequeue(struct rte_mempool *mp, void **objects, unsigned n)
{
	struct array *a = mp->pool_data;

	if (n > a->n)
		return -ENOBUFS;
	a->n -= n;
	memcpy(objects, a->objects + a->n, n * sizeof(void *));
	return 0;
}

static unsigned
array_count(const struct rte_mempool *mp)
{
	const struct array *a = mp->pool_data;

	return a->n;
}

static const struct rte_mempool_ops ops_array = {
	.name = "array",
	.alloc = array_alloc,
	.free = array_free,
	.enqueue = array_enqueue,
	.dequeue = array_dequeue,
	.get_count = array_count,
};

RTE_MEMPOOL_REGISTER_OPS(ops_array);

const struct pool_subject pool_dpdk_ceiling[] = {
	{"dpdk-ceiling", "array", pool_dpdk_missing, pool_dpdk_open,
		pool_dpdk_enter, dpdk_cycle, dpdk_touch, dpdk_produce,
		dpdk_consume, dpdk_take, dpdk_give},
	{0},
};
