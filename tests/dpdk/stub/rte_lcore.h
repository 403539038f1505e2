/* SPDX-License-Identifier: BSD-3-Clause */
/* What the driver includes of DPDK, for driver_test.c. */
#ifndef STUB_RTE_LCORE_H
#define STUB_RTE_LCORE_H
#define RTE_MAX_LCORE 24
#define LCORE_ID_ANY UINT32_MAX
#define likely(condition) (condition)
#define unlikely(condition) (condition)

unsigned rte_lcore_id(void);
unsigned rte_lcore_count(void);
#endif
