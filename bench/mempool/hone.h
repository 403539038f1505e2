/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_MEMPOOL_HONE_H
#define HONE_BENCH_MEMPOOL_HONE_H
/* Hone's pool as the mempool benchmark times it. */
#include "pools.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct pool_subject pool_hone[];
extern const struct pool_subject pool_hone_cursor[];
extern const struct pool_subject pool_hone_magazine[];

#ifdef __cplusplus
}
#endif
#endif
