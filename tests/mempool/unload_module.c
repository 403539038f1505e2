/* SPDX-License-Identifier: BSD-3-Clause */
/* A module with the static library in it, for unload_test.c. */
#include <stdlib.h>
#include <hone/hone.h>

__attribute__((visibility("default"))) void use_a_pool(void);

void
use_a_pool(void)
{
	struct hone_mempool_attr attr;
	struct hone_mempool *pool;

	hone_mempool_attr_init(&attr);
	attr.object_size = attr.capacity = 64;
	if (hone_mempool_create(&pool, &attr) != 0 ||
		!hone_mempool_thread_cache(pool) ||
		hone_mempool_destroy(pool) != 0)
		abort();
}
