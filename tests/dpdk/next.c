/* SPDX-License-Identifier: BSD-3-Clause */
/* The library of DPDK whose functions the shim stands in front of. */
#include <stddef.h>
#include <stdint.h>

struct rte_mempool;

const char *next_name;
void *next_config;

int rte_mempool_set_ops_byname(
	struct rte_mempool *mp, const char *name, void *config);
uint64_t rte_get_tsc_hz(void);

int
rte_mempool_set_ops_byname(
	struct rte_mempool *mp, const char *name, void *config)
{
	next_name = name;
	next_config = config;
	return mp ? 7 : -22;
}

uint64_t
rte_get_tsc_hz(void)
{
	return 3000;
}
