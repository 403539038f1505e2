/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block copies: one for each value and request. They are freed after the last
 * value of the request was freed, since any value may have pointers into a
 * copy.
 */
#include "../cache.h"

/* The head of a copy, which has one unit of the alignment. The table has it by
 * the address of the entry; a later entry may have the same address. */
struct block {
	uint64_t birth; /* of the entry */
	zval root;
};

/* A larger table is not kept for the next request. */
#define TABLE_KEPT 4096
/* The bytes of one of its places. */
#define PLACE (sizeof(Bucket) + 2 * sizeof(uint32_t))

/*
 * The memory of copies is kept from request to request: fresh memory costs a
 * page fault for each 4 KiB, which takes longer than the copy.
 */
struct php_hone_chunk {
	struct php_hone_chunk *next;
	size_t size, used; /* bytes after the header */
};

/* The size of both heads. */
#define HEAD PHP_HONE_VALUE_ALIGN
#define CHUNK_LEAST ((size_t)256 << 10)

_Static_assert(
	sizeof(struct php_hone_chunk) <= HEAD && sizeof(struct block) <= HEAD,
	"blocks are aligned");

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
		chunk = aligned_alloc(HEAD, HEAD + wanted);
		if (chunk == NULL)
			return NULL;
		chunk->size = wanted;
		chunk->used = 0;
	}
	chunk->next = cache->chunks;
	cache->chunks = chunk;
	return chunk;
}

/* PHP's tables use the low bits of a key. Large entries have the same low bits
 * of the address: 2^64 divided by the golden ratio spreads the addresses in the
 * high bits, which become the low ones. */
static zend_always_inline zend_ulong
key_of(const struct php_hone_entry *entry)
{
	return __builtin_bswap64(
		(uintptr_t)entry * UINT64_C(0x9e3779b97f4a7c15));
}

/* Doubles the table. Returns false if memory is exhausted: PHP would end the
 * process. */
static bool
grow(HashTable *blocks)
{
	uint32_t places = blocks->nTableSize ? blocks->nTableSize * 2 : 64;
	/* Compilers leave out a malloc() that only free() uses. */
	void *volatile tried = malloc(places * PLACE);

	if (tried == NULL)
		return false;
	free(tried);
	if (blocks->nTableSize == 0)
		zend_hash_init(blocks, places, NULL, NULL, true);
	zend_hash_extend(blocks, places, false);
	return true;
}

bool
php_hone_block_find(const struct php_hone_entry *entry, zval *value)
{
	HashTable *blocks = &HONE_G(cache).blocks;
	const struct block *block;

	if (zend_hash_num_elements(blocks) == 0)
		return false;
	block = zend_hash_index_find_ptr(blocks, key_of(entry));
	if (block == NULL || block->birth != entry->birth)
		return false;
	ZVAL_COPY_VALUE(value, &block->root);
	return true;
}

/* What a copy counts, with up to two places of the table. */
static size_t
cost_of(size_t size)
{
	return HEAD + round_up(size) + 2 * PLACE;
}

void *
php_hone_block_memory(size_t size)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	size_t most = (size_t)cache->block_bytes;
	struct php_hone_chunk *chunk;
	char *at;

	if (cost_of(size) > most ||
		cache->block_bytes_used > most - cost_of(size))
		return NULL;
	if (zend_hash_num_elements(&cache->blocks) ==
			cache->blocks.nTableSize &&
		!grow(&cache->blocks))
		return NULL;
	chunk = chunk_for(cache, HEAD + round_up(size));
	if (chunk == NULL)
		return NULL;
	at = (char *)chunk + HEAD + chunk->used;
	chunk->used += HEAD + round_up(size);
	return at + HEAD;
}

void
php_hone_block_enter(const struct php_hone_entry *entry, const void *copy,
	size_t size, const zval *root)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	struct block *block = (struct block *)((uintptr_t)copy - HEAD);

	block->birth = entry->birth;
	ZVAL_COPY_VALUE(&block->root, root);
	zend_hash_index_update_ptr(&cache->blocks, key_of(entry), block);
	cache->block_bytes_used += cost_of(size);
}

void *
php_hone_block_scratch(size_t size)
{
	const struct php_hone_chunk *chunk =
		chunk_for(&HONE_G(cache), round_up(size));

	return chunk != NULL ? (char *)chunk + HEAD + chunk->used : NULL;
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
	php_hone_block_enter(entry, at, stored->size, value);
	return true;
}

static void
free_table(HashTable *blocks)
{
	if (blocks->nTableSize != 0)
		zend_hash_destroy(blocks);
	blocks->nTableSize = 0;
	blocks->nNumOfElements = 0;
}

void
php_hone_block_free_all(void)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	size_t kept;

	if (cache->blocks.nTableSize > TABLE_KEPT)
		free_table(&cache->blocks);
	else if (zend_hash_num_elements(&cache->blocks) != 0)
		zend_hash_clean(&cache->blocks);
	cache->block_bytes_used = 0;
	kept = cache->blocks.nTableSize * PLACE;
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
	free_table(&cache->blocks);
	for (struct php_hone_chunk *at = cache->chunks, *next; at != NULL;
		at = next) {
		next = at->next;
		free(at);
	}
	cache->chunks = NULL;
}
