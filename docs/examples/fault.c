/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <hone/mempool.h>

/* Print the broken rule and the object, and stop for a debugger. */
static void
report(int fault, void *object, void *name)
{
	fprintf(stderr, "pool %s: fault %d with object %p\n", (char *)name,
		fault, object);
	abort();
}

int
main(void)
{
	struct hone_mempool_cache *cache;
	struct hone_mempool *pool;
	struct hone_mempool_attr attr;
	void *packet;

	hone_mempool_attr_init(&attr);
	attr.object_size = 1500;
	attr.capacity = 1024;
	attr.name = "packets";
	attr.flags = HONE_MEMPOOL_DEBUG;
	attr.on_fault = report;
	attr.on_fault_arg = (void *)attr.name;
	if (hone_mempool_create(&pool, &attr) < 0 ||
		!(cache = hone_mempool_thread_cache(pool)))
		return EXIT_FAILURE;
	packet = hone_mempool_get(cache);
	hone_mempool_put(cache, packet);
	hone_mempool_put(cache, packet); /* once too often */
	return EXIT_SUCCESS;
}
