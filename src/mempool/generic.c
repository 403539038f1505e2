/* SPDX-License-Identifier: BSD-3-Clause */
#include "mempool/slots.h"

void
hone_mempool_from_short_generic(
	void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	for (size_t i = 0; i < n; i++)
		objs[i] = (void *)(upper | slots[i]);
}

void
hone_mempool_to_short_generic(uint32_t *slots, void *const *objs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		slots[i] = (uint32_t)(uintptr_t)objs[i];
}
