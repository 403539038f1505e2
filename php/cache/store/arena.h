/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_STORE_ARENA_H
#define PHP_HONE_STORE_ARENA_H
/*
 * The blocks of a shard, for the owner of its mutex. An arena is a sequence of
 * blocks without gaps. The first word of a block has its size in units and its
 * state. Each step that changes the sequence is one store of such a word, so a
 * walk by the sizes is correct after a kill at any instruction.
 */
#include "inner.h"

/* PHP_HONE_STATES is their number. */
enum php_hone_state {
	PHP_HONE_FREE,
	PHP_HONE_RESERVED,
	PHP_HONE_LIVE,
	PHP_HONE_RETIRED,
	/* Free, in the list of its size, not merged. */
	PHP_HONE_QUICK,
};

/* The block before this one is free, and its size is in its last 4 bytes. */
#define PHP_HONE_PREV_FREE ((uint64_t)1 << 40)

static inline uint32_t
php_hone_word_units(uint64_t word)
{
	return (uint32_t)word;
}

static inline enum php_hone_state
php_hone_word_state(uint64_t word)
{
	return (enum php_hone_state)(word >> 32 & 0xff);
}

static inline uint64_t
php_hone_word(uint32_t units, enum php_hone_state state, uint64_t flags)
{
	return units | (uint64_t)state << 32 | flags;
}

static inline uint64_t
php_hone_block(const struct php_hone_shard *shard, uint32_t offset)
{
	return php_hone_get64(php_hone_at(shard->store, offset));
}

static inline uint32_t
php_hone_units_at(const struct php_hone_shard *shard, uint32_t offset)
{
	return php_hone_word_units(php_hone_block(shard, offset));
}

static inline enum php_hone_state
php_hone_state_at(const struct php_hone_shard *shard, uint32_t offset)
{
	return php_hone_word_state(php_hone_block(shard, offset));
}

/* Release, so that the compiler keeps the order of the steps. */
static inline void
php_hone_set_block(
	const struct php_hone_shard *shard, uint32_t offset, uint64_t word)
{
	uint64_t *block = php_hone_at(shard->store, offset);
	__atomic_store_n(block, word, __ATOMIC_RELEASE);
}

/* Change the state of a block that is not free, and the sums. */
static inline void
php_hone_block_become(struct php_hone_shard *shard, uint32_t offset,
	enum php_hone_state state)
{
	uint64_t word = php_hone_block(shard, offset);
	uint32_t units = php_hone_word_units(word);
	shard->sums[php_hone_word_state(word)] -= units;
	shard->sums[state] += units;
	php_hone_set_block(shard, offset,
		php_hone_word(units, state, word & PHP_HONE_PREV_FREE));
}

/* Count an entry that becomes live (1), or is no longer live (-1), if its value
 * has two forms. Tags and claims do not have the bit. */
static inline void
php_hone_count_form(struct php_hone_shard *shard,
	const struct php_hone_entry *entry, int by)
{
	if ((entry->value[1] & PHP_HONE_PACKABLE) == 0)
		return;
	unsigned form = php_hone_is_cold(entry);
	uint64_t units = php_hone_word_units(entry->block);
	shard->form_entries[form] += (uint64_t)by;
	shard->form_units[form] += (uint64_t)by * units;
}

static inline uint32_t
php_hone_units_of(const struct php_hone_shard *shard)
{
	return shard->end - shard->first;
}

/* A look at the slots pays from 32 retired entries or 16 KiB of them on: memory
 * that is used again soon is still in the CPU cache. */
static inline bool
php_hone_reclaim_pays(const struct php_hone_shard *shard)
{
	return shard->n_retired - shard->n_held >= 32 ||
	       shard->sums[PHP_HONE_RETIRED] > shard->held_back + (uint64_t)256;
}

/* Whether readers hold back so much that a writer closes its own slot, and the
 * slots of old requests. */
static inline bool
php_hone_much_is_held(const struct php_hone_shard *shard)
{
	return shard->held_back > php_hone_units_of(shard) / 8;
}

/* What a store does before it looks for a block. */
static inline void
php_hone_reclaim_first(struct php_hone_member *member,
	struct php_hone_shard *shard, uint32_t units)
{
	if (php_hone_reclaim_pays(shard))
		php_hone_reclaim_some(shard);
	if (php_hone_much_is_held(shard))
		php_hone_hold_back_less(member, shard, units);
}

/* Units that eviction keeps free. */
static inline uint32_t
php_hone_reserve_of(const struct php_hone_shard *shard)
{
	return php_hone_units_of(shard) / 64;
}

/* Units of warm entries that stay while memory is short. */
static inline uint32_t
php_hone_warm_most(const struct php_hone_shard *shard)
{
	return php_hone_units_of(shard) / 10;
}

/* Whether cold entries stay. */
static inline bool
php_hone_warm_goes_first(const struct php_hone_shard *shard)
{
	return shard->form_units[0] > php_hone_warm_most(shard);
}

static inline uint64_t
php_hone_free_units(const struct php_hone_shard *shard)
{
	return shard->sums[PHP_HONE_FREE] + shard->sums[PHP_HONE_QUICK];
}

/* php_hone_arena_alloc() if no quick block has that size. */
uint32_t php_hone_arena_alloc_long(
	struct php_hone_shard *shard, uint32_t units);

/* Returns a reserved block, or 0. */
static inline uint32_t
php_hone_arena_alloc(struct php_hone_shard *shard, uint32_t units)
{
	if (units >= PHP_HONE_QUICK_SIZES || shard->quick[units] == 0)
		return php_hone_arena_alloc_long(shard, units);
	uint32_t offset = shard->quick[units];
	shard->quick[units] = php_hone_entry_at(shard->store, offset)->link;
	php_hone_block_become(shard, offset, PHP_HONE_RESERVED);
	return offset;
}

void php_hone_arena_free(struct php_hone_shard *shard, uint32_t offset);
/* The same, but a small block becomes quick: it is not merged with its
 * neighbours until php_hone_arena_drain(). */
void php_hone_arena_free_quick(struct php_hone_shard *shard, uint32_t offset);
void php_hone_arena_drain(struct php_hone_shard *shard);
/* Units of the largest free block. */
uint32_t php_hone_arena_largest(const struct php_hone_shard *shard);
/* Derive lists, flags and sums, which are zero, from the words, and merge free
 * neighbours. */
void php_hone_arena_rebuild(struct php_hone_shard *shard);
/* ---- for arena.c and the tests ---- */

/* Smaller sizes have a class each. Above, each power of two has as many. */
#define PHP_HONE_LINEAR 32
#define PHP_HONE_LINEAR_BITS 5

struct php_hone_free_block {
	uint64_t word;
	uint32_t next, prev;
};

static inline struct php_hone_free_block *
php_hone_free_at(const struct php_hone_shard *shard, uint32_t offset)
{
	return php_hone_at(shard->store, offset);
}

/* The size of a free block, in its last 4 bytes. */
static inline uint32_t *
php_hone_footer(const struct php_hone_shard *shard, uint32_t end)
{
	return (uint32_t *)php_hone_at(shard->store, end) - 1;
}

/* The class of a block of that size. */
static inline unsigned
php_hone_class_of(uint32_t units)
{
	if (units < PHP_HONE_LINEAR)
		return units;
	unsigned log = 31 - (unsigned)__builtin_clz(units);
	unsigned shift = log - PHP_HONE_LINEAR_BITS;
	return PHP_HONE_LINEAR + shift * PHP_HONE_LINEAR +
	       (units >> shift & (PHP_HONE_LINEAR - 1));
}

#endif
