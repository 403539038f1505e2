/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STUB_RTE_MEMPOOL_H
#define STUB_RTE_MEMPOOL_H
#include <stdint.h>

struct rte_mempool {
	char name[26];
	void *pool_data;
	int socket_id;
	uint32_t size;
};

struct rte_mempool_ops {
	char name[32];
	int (*alloc)(struct rte_mempool *mp);
	void (*free)(struct rte_mempool *mp);
	int (*enqueue)(struct rte_mempool *mp, void *const *objs, unsigned n);
	int (*dequeue)(struct rte_mempool *mp, void **objs, unsigned n);
	unsigned (*get_count)(const struct rte_mempool *mp);
};

int rte_mempool_register_ops(const struct rte_mempool_ops *ops);

#define RTE_MEMPOOL_REGISTER_OPS(ops)                                          \
	static void __attribute__((constructor)) register_##ops(void)          \
	{                                                                      \
		(void)rte_mempool_register_ops(&(ops));                        \
	}                                                                      \
	_Static_assert(1, "takes the semicolon")
#endif
