/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small blocks that wait for the next entry of their size. To merge a block
 * with its neighbours and to split it again takes a third of the time of a
 * small store.
 */
#include "arena.h"

/* The part of an arena that may wait so. */
#define QUICK_PART 32

void
php_hone_arena_free_quick(struct php_hone_store *store,
	struct php_hone_shard *shard, uint32_t offset)
{
	uint32_t units = php_hone_word_units(php_hone_block(store, offset));
	if (units >= PHP_HONE_QUICK_SIZES ||
		shard->sums[PHP_HONE_QUICK] >=
			(shard->end - shard->first) / QUICK_PART) {
		php_hone_arena_free(store, shard, offset);
		return;
	}
	php_hone_block_become(store, shard, offset, PHP_HONE_QUICK);
	php_hone_entry_at(store, offset)->link = shard->quick[units];
	shard->quick[units] = offset;
}

void
php_hone_arena_drain(struct php_hone_store *store, struct php_hone_shard *shard)
{
	for (uint32_t units = 1; units < PHP_HONE_QUICK_SIZES; units++) {
		while (shard->quick[units] != 0) {
			uint32_t offset = shard->quick[units];
			shard->quick[units] =
				php_hone_entry_at(store, offset)->link;
			php_hone_arena_free(store, shard, offset);
		}
	}
}
