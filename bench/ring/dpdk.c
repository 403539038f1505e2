/* SPDX-License-Identifier: BSD-3-Clause */
/* rte_ring as Debian builds it. A ring needs no rte_eal_init(). */
#include <stdlib.h>
/* RTE_USE_LIBBSD includes headers of libbsd, which nothing here uses. */
#undef RTE_USE_LIBBSD
#include <rte_ring.h>
#include "rings.h"

#define RING dpdk
#define RING_TYPE struct rte_ring
#define RING_ADD(r, p, n) rte_ring_enqueue_burst(r, p, n, NULL)
#define RING_TAKE(r, p, n) rte_ring_dequeue_burst(r, p, n, NULL)
#include "loop.h"

static void *
open_ring(const struct ring_subject *s)
{
	void *memory;

	if (posix_memalign(&memory, RTE_CACHE_LINE_SIZE,
		    (size_t)rte_ring_get_memsize(RING_CAPACITY)) != 0 ||
		rte_ring_init(memory, s->name, RING_CAPACITY, s->flags) != 0)
		return NULL;
	return memory;
}

#define ROW(name, many, flags)                                                 \
	{                                                                      \
		name, many, flags, open_ring, dpdk_turn, dpdk_add, dpdk_take   \
	}

const struct ring_subject ring_dpdk[] = {
	ROW("dpdk-spsc", false, RING_F_SP_ENQ | RING_F_SC_DEQ),
	ROW("dpdk-mpmc", true, 0),
	ROW("dpdk-rts", true, RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ),
	ROW("dpdk-hts", true, RING_F_MP_HTS_ENQ | RING_F_MC_HTS_DEQ),
	{0},
};
