/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_MEMPOOL_SLOTS_WRAP_H
#define HONE_TESTS_MEMPOOL_SLOTS_WRAP_H
/*
 * Deques that have no room for all magazines: what they lack room for spills.
 * The library has such deques only in pools of many caches. One file of a
 * program may include this.
 */
#include "mempool.h"
#include "mempool_support.h"

static size_t deque_slots; /* 0: as the library chooses */

STANDS_FOR(const char *, hone_mempool_layout,
	struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	const char *name = __real_hone_mempool_layout(layout, attr);

	if (deque_slots > 0)
		layout->deque_slots = deque_slots;
	return name;
}

#endif
