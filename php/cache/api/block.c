/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block copies: one for each value and request. They are freed after the last
 * value of the request was freed, since any value may have pointers into a
 * copy.
 */
#include "../cache.h"

/*
 * A slot of the table of copies, which uses open addressing. The key is the
 * address of the entry and its birth: a later entry may have the same address.
 * The table is kept from request to request: root.u2.extra is the number of the
 * request that uses the slot, and the slot is free for all others.
 */
struct php_hone_block {
	const struct php_hone_entry *entry;
	uint64_t birth;
	zval root;
};

/* Slots, powers of two. */
#define TABLE_LEAST 64
#define TABLE_KEPT 4096

/*
 * The memory of copies is kept from request to request: fresh memory costs a
 * page fault for each 4 KiB, which takes longer than the copy.
 */
struct php_hone_chunk {
	struct php_hone_chunk *next;
	size_t size, used; /* bytes after the header */
};

#define CHUNK_HEAD PHP_HONE_VALUE_ALIGN
#define CHUNK_LEAST ((size_t)256 << 10)

_Static_assert(
	sizeof(struct php_hone_chunk) <= CHUNK_HEAD, "blocks are aligned");

static size_t
round_up(size_t size)
{
	return (size + PHP_HONE_VALUE_ALIGN - 1) &
	       ~(size_t)(PHP_HONE_VALUE_ALIGN - 1);
}

/* Finds or makes a chunk with `size` free bytes, and moves the chunk to the
 * front of the list. */
static struct php_hone_chunk *
chunk_for(struct php_hone_cache *cache, size_t size)
{
	struct php_hone_chunk **link = &cache->chunks;
	struct php_hone_chunk *chunk;

	while (*link != NULL && (*link)->size - (*link)->used < size)
		link = &(*link)->next;
	chunk = *link;
	if (chunk != NULL) {
		*link = chunk->next;
	} else {
		size_t wanted = size < CHUNK_LEAST ? CHUNK_LEAST : size;
		chunk = aligned_alloc(
			PHP_HONE_VALUE_ALIGN, CHUNK_HEAD + round_up(wanted));
		if (chunk == NULL)
			return NULL;
		chunk->size = round_up(wanted);
		chunk->used = 0;
	}
	chunk->next = cache->chunks;
	cache->chunks = chunk;
	return chunk;
}

static void *
take_memory(struct php_hone_cache *cache, size_t size)
{
	struct php_hone_chunk *chunk = cache->chunks;
	char *at;

	if (chunk == NULL || chunk->size - chunk->used < size)
		chunk = chunk_for(cache, size);
	if (chunk == NULL)
		return NULL;
	at = (char *)chunk + CHUNK_HEAD + chunk->used;
	chunk->used += size;
	return at;
}

static zend_always_inline bool
is_used(const struct php_hone_cache *cache, const struct php_hone_block *block)
{
	return block->root.u2.extra == cache->block_request;
}

/* Returns the slot of the entry's copy, or a free slot for the copy. The search
 * ends because at least half of the slots are free. */
static zend_always_inline struct php_hone_block *
find(const struct php_hone_cache *cache, const struct php_hone_entry *entry,
	uint64_t birth)
{
	/* 2^64 divided by the golden ratio spreads neighbours. */
	uint64_t hash =
		(uint64_t)(uintptr_t)entry * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t mask = cache->block_room - 1;
	uint32_t i = (uint32_t)(hash >> 32) & mask;

	for (;; i = (i + 1) & mask) {
		struct php_hone_block *block = &cache->blocks[i];
		if (!is_used(cache, block) ||
			(block->entry == entry && block->birth == birth))
			return block;
	}
}

/* Doubles the table. Returns false if memory is exhausted. */
static bool
grow(struct php_hone_cache *cache)
{
	struct php_hone_block *old = cache->blocks;
	uint32_t old_room = cache->block_room;
	uint32_t room = old_room ? old_room * 2 : TABLE_LEAST;
	struct php_hone_block *blocks = calloc(room, sizeof(*blocks));

	if (blocks == NULL)
		return false;
	/* No request has the number 0, so the new slots are free. */
	if (cache->block_request == 0)
		cache->block_request = 1;
	cache->blocks = blocks;
	cache->block_room = room;
	for (uint32_t i = 0; i < old_room; i++)
		if (is_used(cache, &old[i]))
			*find(cache, old[i].entry, old[i].birth) = old[i];
	free(old);
	return true;
}

bool
php_hone_block_find(const struct php_hone_entry *entry, zval *value)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	const struct php_hone_block *block;

	if (cache->block_room == 0)
		return false;
	block = find(cache, entry, entry->birth);
	if (!is_used(cache, block))
		return false;
	ZVAL_COPY_VALUE(value, &block->root);
	return true;
}

/* What a copy counts. The table has two to four slots for each copy. */
static size_t
cost_of(size_t size)
{
	return round_up(size) + 4 * sizeof(struct php_hone_block);
}

void *
php_hone_block_memory(size_t size)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	size_t most = (size_t)cache->block_bytes;

	if (cost_of(size) > most ||
		cache->block_bytes_used > most - cost_of(size))
		return NULL;
	if (cache->n_blocks >= cache->block_room / 2 && !grow(cache))
		return NULL;
	return take_memory(cache, round_up(size));
}

void
php_hone_block_enter(
	const struct php_hone_entry *entry, size_t size, const zval *root)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	struct php_hone_block *block = find(cache, entry, entry->birth);

	ZVAL_COPY_VALUE(&block->root, root);
	block->entry = entry;
	block->birth = entry->birth;
	block->root.u2.extra = cache->block_request;
	cache->n_blocks++;
	cache->block_bytes_used += cost_of(size);
}

void *
php_hone_block_scratch(size_t size)
{
	const struct php_hone_chunk *chunk =
		chunk_for(&HONE_G(cache), round_up(size));

	return chunk != NULL ? (char *)chunk + CHUNK_HEAD + chunk->used : NULL;
}

bool
php_hone_block_fetch(const struct php_hone_entry *entry,
	const struct php_hone_value *stored, zval *value)
{
	void *at;

	if (php_hone_block_find(entry, value))
		return true;
	at = php_hone_block_memory(stored->size);
	if (at == NULL)
		return false;
	php_hone_value_copy(stored, at, at, value);
	php_hone_block_enter(entry, stored->size, value);
	return true;
}

static void
free_table(struct php_hone_cache *cache)
{
	free(cache->blocks);
	cache->blocks = NULL;
	cache->block_room = 0;
}

void
php_hone_block_free_all(void)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	size_t kept;

	cache->n_blocks = 0;
	/* The new number makes all slots free. When the number wraps around,
	 * old slots would become used again. */
	if (++cache->block_request == 0 || cache->block_room > TABLE_KEPT)
		free_table(cache);
	kept = cache->block_room * sizeof(*cache->blocks);
	cache->block_bytes_used = 0;
	for (struct php_hone_chunk *at = cache->chunks; at != NULL;
		at = at->next) {
		at->used = 0;
		kept += at->size;
	}
	/* Requests that copied values of other sizes may leave more chunks. */
	if (kept > (size_t)cache->block_bytes)
		php_hone_block_free_memory(cache);
}

void
php_hone_block_free_memory(struct php_hone_cache *cache)
{
	free_table(cache);
	for (struct php_hone_chunk *at = cache->chunks, *next; at != NULL;
		at = next) {
		next = at->next;
		free(at);
	}
	cache->chunks = NULL;
}
