/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD into DPDK's own tests, which name "ring_mp_mc" and take no
 * option for it: such a pool gets the ops of HONE_DPDK_OPS, "hone" by default.
 *
 * HONE_DPDK_SHORTER=N makes each case of DPDK's performance test N times
 * shorter. The test measures its 5 s by the rate of the TSC, so the rates that
 * it prints are then 1/N of what they were.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rte_mempool;
int rte_mempool_set_ops_byname(
	struct rte_mempool *mp, const char *name, void *config);
uint64_t rte_get_tsc_hz(void);

/* dlsym() returns an object pointer, which ISO C does not convert. */
static void
find(const char *name, void *function)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found) {
		fprintf(stderr, "shim: there is no %s\n", name);
		abort();
	}
	memcpy(function, &found, sizeof(found));
}

int
rte_mempool_set_ops_byname(
	struct rte_mempool *mp, const char *name, void *config)
{
	int (*next)(struct rte_mempool *, const char *, void *);
	const char *ops = getenv("HONE_DPDK_OPS");

	find("rte_mempool_set_ops_byname", &next);
	if (strcmp(name, "ring_mp_mc") == 0) {
		static int told;

		name = ops ? ops : "hone";
		if (!told++)
			printf("shim: ring_mp_mc is %s\n", name);
	}
	return next(mp, name, config);
}

uint64_t
rte_get_tsc_hz(void)
{
	uint64_t (*next)(void);
	const char *shorter = getenv("HONE_DPDK_SHORTER");
	uint64_t n = shorter ? strtoull(shorter, NULL, 10) : 1;

	find("rte_get_tsc_hz", &next);
	return next() / (n > 0 ? n : 1);
}
