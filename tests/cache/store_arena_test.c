/* SPDX-License-Identifier: BSD-3-Clause */
/* Which free block of a shard becomes a value. */
#include "arena.h"
#include "store_support.h"

static struct php_hone_store *store;
static struct php_hone_shard *shard;

FIXTURE(setup)
{
	store = make_store((size_t)4 << 20, 1);
	shard = &store->shards[0];
	return 0;
}

FIXTURE(teardown)
{
	php_hone_store_unmap(store);
	return 0;
}

static uint32_t
alloc(uint32_t units)
{
	uint32_t offset = php_hone_arena_alloc(store, shard, units);
	assert_true(offset != 0);
	assert_int_equal(
		php_hone_word_units(php_hone_block(store, offset)), units);
	return offset;
}

/* Behind the lists of quick blocks lie the heads of the other lists. */
TEST_WITH(a_block_that_is_too_large_to_be_quick_has_its_size, setup, teardown)
{
	enum { LEAST = 2, MOST = 40 };
	uint32_t small[MOST];
	for (uint32_t units = LEAST; units < MOST; units++) {
		small[units] = alloc(units);
		/* Two free neighbours would be one block. */
		alloc(1);
	}
	for (uint32_t units = LEAST; units < MOST; units++)
		php_hone_arena_free(store, shard, small[units]);
	for (uint32_t units = LEAST; units < MOST; units++)
		assert_int_not_equal(
			alloc(PHP_HONE_QUICK_SIZES + units), small[units]);
}

/* Both free blocks are in the last list, and the first one is too small. */
TEST_WITH(the_largest_block_is_found_behind_another_one, setup, teardown)
{
	uint32_t large = alloc(1055);
	alloc(1);
	uint32_t less = alloc(1024);
	alloc(1);
	alloc(php_hone_arena_largest(store, shard));
	assert_int_equal(php_hone_free_units(shard), 0);
	php_hone_arena_free(store, shard, large);
	php_hone_arena_free(store, shard, less);
	assert_int_equal(alloc(1055), large);
	assert_int_equal(alloc(1024), less);
}
