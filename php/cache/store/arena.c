/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two-level segregated fit: Masmano et al., "TLSF: a New Dynamic Memory
 * Allocator for Real-Time Systems", 2004. Below 32 units, each size has a
 * class; above, each power of two has 32.
 */
#include "arena.h"

#define LINEAR PHP_HONE_LINEAR
#define LINEAR_BITS PHP_HONE_LINEAR_BITS
/* Blocks of the last class that a search looks at, one after the other. */
#define LOOK_MOST 32

/* The first class of which every block has at least that size. */
static unsigned
class_that_fits(uint32_t units)
{
	if (units < LINEAR)
		return units;
	unsigned shift = 31 - (unsigned)__builtin_clz(units) - LINEAR_BITS;
	return php_hone_class_of(units + ((uint32_t)1 << shift) - 1);
}

/* The first class from this one on that has a block; PHP_HONE_CLASSES: none. */
static unsigned
class_with_block(const struct php_hone_shard *shard, unsigned class)
{
	unsigned word = class / 64;
	if (word >= PHP_HONE_CLASS_WORDS)
		return PHP_HONE_CLASSES;
	uint64_t bits = shard->class_bits[word] & ~(uint64_t)0 << class % 64;
	if (bits == 0) {
		uint64_t words = shard->class_summary & ~(uint64_t)0 << word
								     << 1;
		if (words == 0)
			return PHP_HONE_CLASSES;
		word = (unsigned)__builtin_ctzll(words);
		bits = shard->class_bits[word];
	}
	return word * 64 + (unsigned)__builtin_ctzll(bits);
}

static void
list(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset, uint32_t units)
{
	unsigned class = php_hone_class_of(units);
	struct php_hone_free_block *b = php_hone_free_at(store, offset);
	b->next = shard->heads[class];
	b->prev = 0;
	if (b->next != 0)
		php_hone_free_at(store, b->next)->prev = offset;
	shard->heads[class] = offset;
	shard->class_bits[class / 64] |= (uint64_t)1 << class % 64;
	shard->class_summary |= (uint64_t)1 << class / 64;
	*php_hone_footer(store, offset + units) = units;
	shard->sums[PHP_HONE_FREE] += units;
}

static void
unlist(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset, uint32_t units)
{
	const struct php_hone_free_block *b = php_hone_free_at(store, offset);
	if (b->next != 0)
		php_hone_free_at(store, b->next)->prev = b->prev;
	shard->sums[PHP_HONE_FREE] -= units;
	if (b->prev != 0) {
		php_hone_free_at(store, b->prev)->next = b->next;
		return;
	}
	unsigned class = php_hone_class_of(units);
	shard->heads[class] = b->next;
	if (b->next != 0)
		return;
	shard->class_bits[class / 64] &= ~((uint64_t)1 << class % 64);
	if (shard->class_bits[class / 64] == 0)
		shard->class_summary &= ~((uint64_t)1 << class / 64);
}

/* Tell the block at `offset` whether the one before it is free. */
static void
set_prev_free(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset, bool prev_free)
{
	if (offset == shard->end)
		return;
	uint64_t word = php_hone_block(store, offset);
	uint64_t to = prev_free ? word | PHP_HONE_PREV_FREE
				: word & ~PHP_HONE_PREV_FREE;
	if (to != word)
		php_hone_set_block(store, offset, to);
}

/*
 * A block of the class in which the size itself lies may be large enough: the
 * last resort for blocks of nearly the size of the arena.
 */
static uint32_t
look_through(const struct php_hone_store *store,
	const struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = shard->heads[php_hone_class_of(units)];
	for (unsigned i = 0; offset != 0 && i < LOOK_MOST; i++) {
		if (php_hone_word_units(php_hone_block(store, offset)) >= units)
			return offset;
		offset = php_hone_free_at(store, offset)->next;
	}
	return 0;
}

static uint32_t
find(const struct php_hone_store *store, const struct php_hone_shard *shard,
	uint32_t units)
{
	/* The block that became free last, if it fits: after a value of the
	 * same size was replaced, the processor's cache still has it. */
	uint32_t offset = shard->heads[php_hone_class_of(units)];
	if (offset != 0 &&
		php_hone_word_units(php_hone_block(store, offset)) >= units)
		return offset;
	unsigned class = class_with_block(shard, class_that_fits(units));
	return class < PHP_HONE_CLASSES ? shard->heads[class]
					: look_through(store, shard, units);
}

uint32_t
php_hone_arena_alloc_long(struct php_hone_store *store,
	struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = find(store, shard, units);
	if (offset == 0)
		return 0;

	uint32_t had = php_hone_word_units(php_hone_block(store, offset));
	unlist(store, shard, offset, had);
	if (had > units) {
		/* Inside a free block: nobody sees this word yet. */
		php_hone_set_block(store, offset + units,
			php_hone_word(had - units, PHP_HONE_FREE, 0));
	}
	/* The step. The neighbour before a free block is never free. */
	php_hone_set_block(
		store, offset, php_hone_word(units, PHP_HONE_RESERVED, 0));
	shard->sums[PHP_HONE_RESERVED] += units;
	if (had > units)
		list(store, shard, offset + units, had - units);
	else
		set_prev_free(store, shard, offset + units, false);
	return offset;
}

/* The hands point at blocks; a merged block has one begin. */
static void
move_hands(struct php_hone_shard *shard, uint32_t offset, uint32_t units)
{
	if (shard->hand - offset < units)
		shard->hand = offset;
	if (shard->sweep - offset < units)
		shard->sweep = offset;
}

void
php_hone_arena_free(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset)
{
	uint64_t word = php_hone_block(store, offset);
	uint32_t units = php_hone_word_units(word);
	shard->sums[php_hone_word_state(word)] -= units;

	uint32_t next = offset + units;
	if (next < shard->end) {
		uint64_t after = php_hone_block(store, next);
		if (php_hone_word_state(after) == PHP_HONE_FREE) {
			unlist(store, shard, next, php_hone_word_units(after));
			units += php_hone_word_units(after);
		}
	}
	if (word & PHP_HONE_PREV_FREE) {
		uint32_t before = *php_hone_footer(store, offset);
		unlist(store, shard, offset - before, before);
		offset -= before;
		units += before;
	}
	/* A hand at the end of the merged block stays where it is. */
	move_hands(shard, offset, units);
	/* The step. */
	php_hone_set_block(
		store, offset, php_hone_word(units, PHP_HONE_FREE, 0));
	list(store, shard, offset, units);
	set_prev_free(store, shard, offset + units, true);
}

uint32_t
php_hone_arena_largest(
	const struct php_hone_store *store, const struct php_hone_shard *shard)
{
	if (shard->class_summary == 0)
		return 0;
	unsigned word = 63 - (unsigned)__builtin_clzll(shard->class_summary);
	unsigned bit = 63 - (unsigned)__builtin_clzll(shard->class_bits[word]);
	uint32_t most = 0;
	uint32_t offset = shard->heads[word * 64 + bit];
	for (unsigned i = 0; offset != 0 && i < LOOK_MOST; i++) {
		uint32_t units =
			php_hone_word_units(php_hone_block(store, offset));
		most = units > most ? units : most;
		offset = php_hone_free_at(store, offset)->next;
	}
	return most;
}

void
php_hone_arena_init(struct php_hone_store *store, struct php_hone_shard *shard)
{
	php_hone_set_block(store, shard->first,
		php_hone_word(shard->end - shard->first, PHP_HONE_FREE, 0));
	shard->hand = shard->first;
	php_hone_arena_rebuild(store, shard);
}

void
php_hone_arena_rebuild(
	struct php_hone_store *store, struct php_hone_shard *shard)
{
	memset(shard->sums, 0, sizeof shard->sums);
	memset(shard->quick, 0, sizeof shard->quick);
	shard->class_summary = 0;
	memset(shard->class_bits, 0, sizeof shard->class_bits);
	memset(shard->heads, 0, sizeof shard->heads);

	bool prev_free = false;
	for (uint32_t at = shard->first; at < shard->end;) {
		uint64_t word = php_hone_block(store, at);
		uint32_t units = php_hone_word_units(word);
		enum php_hone_state state = php_hone_word_state(word);
		uint32_t next = at + units;
		/* Neighbours that were not merged when the owner was killed. */
		while (state == PHP_HONE_FREE && next < shard->end) {
			word = php_hone_block(store, next);
			if (php_hone_word_state(word) != PHP_HONE_FREE)
				break;
			units += php_hone_word_units(word);
			next = at + units;
		}
		php_hone_set_block(store, at,
			php_hone_word(units, state,
				prev_free ? PHP_HONE_PREV_FREE : 0));
		move_hands(shard, at, units);
		if (state == PHP_HONE_FREE)
			list(store, shard, at, units);
		else
			shard->sums[state] += units;
		prev_free = state == PHP_HONE_FREE;
		at = next;
	}
}
