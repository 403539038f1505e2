/* SPDX-License-Identifier: BSD-3-Clause */
/* What the driver includes of DPDK, for driver_test.c: the build copies this
 * file under the name of each header. */
#ifndef STUB_RTE_H
#define STUB_RTE_H
#include <stddef.h>
#include <stdint.h>

/* rte_log.h */
#define RTE_LOG(level, type, ...) stub_log(#level " " #type ": " __VA_ARGS__)

void stub_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* rte_malloc.h */
void *rte_zmalloc_socket(
	const char *type, size_t size, unsigned align, int socket);
void rte_free(void *memory);

/* rte_lcore.h */
#define RTE_MAX_LCORE 24
#define LCORE_ID_ANY UINT32_MAX
#define likely(condition) (condition)
#define unlikely(condition) (condition)

unsigned rte_lcore_id(void);
unsigned rte_lcore_count(void);

/* rte_mempool.h */
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
