/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in which all addresses have the same upper 32 bits. */
#include <sys/mman.h>
#include "mempool/mempool.h"

bool
hone_mempool_in_window(uintptr_t first, size_t size)
{
	uint64_t last = (uint64_t)first + size - 1;

	return first >> 16 >> 16 == last >> 32;
}

/* Every address is in a window if there is no window or pointers are short. */
static bool
any_place_will_do(size_t window)
{
	return window == 0 || sizeof(void *) <= sizeof(uint32_t);
}

void *
hone_mempool_mmap(size_t size, size_t window, size_t unit, int flags)
{
	size_t space = size + window + unit, head;
	char *base;

	if (any_place_will_do(window))
		return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
	/* Reserves addresses, not memory: enough for any start address. */
	base = mmap(NULL, space, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return MAP_FAILED;
	head = -(uintptr_t)base & (unit - 1);
	if (!hone_mempool_in_window((uintptr_t)base + head, window))
		head = ~(uintptr_t)base % ((uint64_t)1 << 32) + 1;
	if (mmap(base + head, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED,
		    -1, 0) == MAP_FAILED) {
		(void)munmap(base, space);
		return MAP_FAILED;
	}
	if (head > 0)
		(void)munmap(base, head);
	/* Never empty: head is less than window + unit. */
	(void)munmap(base + head + size, space - head - size);
	return base + head;
}
