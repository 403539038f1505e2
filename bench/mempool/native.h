/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_MEMPOOL_NATIVE_H
#define HONE_BENCH_MEMPOOL_NATIVE_H
/*
 * Loops of callers that are compiled for this machine (-march=native), where
 * inline functions may use its widest vectors. Each row has the pool of another
 * row: only the loops differ. And the ceiling of DPDK's pool, whose ops differ.
 */
#include "pools.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct pool_subject pool_hone_native[];
extern const struct pool_subject pool_dpdk_native[];
extern const struct pool_subject pool_dpdk_ceiling[];

/* Those of pool_dpdk. */
const char *pool_dpdk_missing(const struct pool_subject *s);
void *pool_dpdk_open(
	const struct pool_subject *s, const struct pool_shape *shape);
void *pool_dpdk_enter(void *pool);
/* Those of pool_hone. */
const char *pool_hone_missing(const struct pool_subject *s);
void *pool_hone_open(
	const struct pool_subject *s, const struct pool_shape *shape);
void *pool_hone_enter(void *pool);

#ifdef __cplusplus
}
#endif
#endif
