/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The marks of foreign objects: a hash table of pointers, with open addressing.
 * It has more places than the pool has room for objects.
 */
#include <assert.h>
#include "mempool/mempool.h"

/* The golden ratio's, as in Fibonacci hashing. */
static size_t
home(const struct hone_mempool *pool, const void *object)
{
	uint64_t hash =
		(uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);

	assert(pool->n_places > 0);
	return (size_t)(hash >> 20) % pool->n_places;
}

static size_t
next(const struct hone_mempool *pool, size_t place)
{
	return place + 1 < pool->n_places ? place + 1 : 0;
}

/* The place of an object, or the free place where it goes. */
static size_t
foreign_find(const struct hone_mempool *pool, const void *object)
{
	size_t at = home(pool, object);

	while (pool->table[at] && pool->table[at] != object)
		at = next(pool, at);
	return at;
}

int
hone_mempool_mark_foreign(struct hone_mempool *pool, void *object)
{
	size_t at = foreign_find(pool, object);

	if (!object)
		return HONE_MEMPOOL_FAULT_FOREIGN;
	if (pool->table[at])
		return HONE_MEMPOOL_FAULT_DOUBLED;
	if (pool->n_marked == pool->capacity)
		return HONE_MEMPOOL_FAULT_FOREIGN;
	pool->table[at] = object;
	pool->n_marked++;
	return 0;
}

void
hone_mempool_unmark_foreign(struct hone_mempool *pool, void *object)
{
	size_t hole = foreign_find(pool, object);

	if (!pool->table[hole])
		return;
	pool->n_marked--;
	/* What follows the hole and may not be found across it moves there. */
	for (size_t at = next(pool, hole); pool->table[at];
		at = next(pool, at)) {
		size_t n = pool->n_places;
		size_t way = (at + n - home(pool, pool->table[at])) % n;

		if (way < (at + n - hole) % n)
			continue;
		pool->table[hole] = pool->table[at];
		hole = at;
	}
	pool->table[hole] = NULL;
}
