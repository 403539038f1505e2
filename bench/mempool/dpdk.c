/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rte_mempool as Debian builds it, with its own cache of 512 a thread. Its
 * inline functions are compiled with the flags of DPDK's pkg-config file.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
/* RTE_USE_LIBBSD includes headers of libbsd, which nothing here uses. */
#undef RTE_USE_LIBBSD
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include "dpdk_loops.h"
#include "pools.h"

/* Without huge pages, devices and files, DPDK needs no privileges. */
const char *
pool_dpdk_missing(const struct pool_subject *s)
{
	static int started;
	char lcores[16];
	const char *argv[] = {"bench", "--no-huge", "--no-pci", "--no-shconf",
		"--no-telemetry", "--log-level=critical", "-m", "256",
		"--lcores", lcores, NULL};
	cpu_set_t cpus;

	(void)s;
	if (started == 0) {
#ifdef HONE_DRIVER
		/* Its ops register when it is opened, as by EAL's option -d. */
		if (!dlopen(HONE_DRIVER, RTLD_NOW))
			return dlerror();
#endif
		snprintf(lcores, sizeof(lcores), "0@%d", sched_getcpu());
		/* rte_eal_init() pins the caller. Restore its CPUs. */
		sched_getaffinity(0, sizeof(cpus), &cpus);
		started = rte_eal_init(10, (char **)argv) < 0 ? -1 : 1;
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	return started > 0 ? NULL : "rte_eal_init() failed";
}

void *
pool_dpdk_open(const struct pool_subject *s, const struct pool_shape *shape)
{
	struct rte_mempool *pool;
	static int pools;
	char name[16];

	snprintf(name, sizeof(name), "bench%d", pools++);
	pool = rte_mempool_create_empty(name, shape->capacity,
		shape->object_size, shape->cache_size, 0, SOCKET_ID_ANY,
		RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	if (!pool || rte_mempool_set_ops_byname(pool, s->kind, NULL) != 0 ||
		rte_mempool_populate_virt(pool, shape->memory,
			shape->memory_size, 4096, NULL,
			NULL) != (int)shape->capacity)
		return NULL;
	return pool;
}

void *
pool_dpdk_enter(void *pool)
{
	/* A thread without a number of DPDK's has no cache. */
	if (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() != 0)
		return NULL;
	return pool;
}

#define ROW(name, ops)                                                         \
	{                                                                      \
		name, ops, pool_dpdk_missing, pool_dpdk_open, pool_dpdk_enter, \
			dpdk_cycle, dpdk_touch, dpdk_produce, dpdk_consume,    \
			dpdk_take, dpdk_give                                   \
	}

const struct pool_subject pool_dpdk[] = {
	ROW("dpdk-ring", "ring_mp_mc"),
	ROW("dpdk-rts", "ring_mt_rts"),
	ROW("dpdk-hts", "ring_mt_hts"),
	ROW("dpdk-stack", "stack"),
	ROW("dpdk-lf-stack", "lf_stack"),
#ifdef HONE_DRIVER
	ROW("dpdk-hone", "hone"),
#endif
	{0},
};
