/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_STORE_INDEX_H
#define PHP_HONE_STORE_INDEX_H
/*
 * The index of a shard: an array of chains. A link is the 4-byte offset of the
 * next entry. One store of one link inserts, replaces or removes an entry, so
 * readers need no mutex, and a chain needs no repair. A removed entry keeps its
 * own link, so a reader at this entry still reaches the rest of the chain.
 */
#include "inner.h"

/* The most entries of a chain: PHP's hash has no secret, so a user who chooses
 * keys can choose them for one chain. By chance, no chain is half as long. */
#define PHP_HONE_CHAIN_MOST 64

/* The chain of a key. Entries of all kinds share it. */
struct php_hone_place {
	unsigned shard;
	uint32_t bucket;
};

static inline struct php_hone_place
php_hone_place(const struct php_hone_store *store, uint64_t hash)
{
	/* Fibonacci hashing: the low bits of PHP's hash vary most, and the high
	 * bits of the product depend on all of them. */
	uint64_t mixed = hash * 0x9e3779b97f4a7c15;
	unsigned shard = (unsigned)((mixed >> 32) * store->n_shards >> 32);
	return (struct php_hone_place){
		shard, (uint32_t)(mixed >> 24) & store->bucket_mask};
}

static inline struct php_hone_shard *
php_hone_shard_of(const struct php_hone_store *store, uint64_t hash)
{
	return &store->shards[php_hone_place(store, hash).shard];
}

static inline uint32_t *
php_hone_bucket(const struct php_hone_store *store, struct php_hone_place place)
{
	return (uint32_t *)php_hone_at(store, store->buckets[place.shard]) +
	       place.bucket;
}

/* Acquire: pairs with php_hone_link(); the entry is complete. */
static inline uint32_t
php_hone_follow(const uint32_t *link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

static inline void
php_hone_link(uint32_t *link, uint32_t to)
{
	__atomic_store_n(link, to, __ATOMIC_RELEASE);
}

/*
 * Mark an entry before it is unlinked. A reader that sees that the entry is
 * gone, or sees its successor, also sees the mark: php_hone_store_known().
 * Recovery may cut a damaged chain without marks: it retires the cut entries
 * before anybody can store.
 */
static inline void
php_hone_will_retire(struct php_hone_entry *entry)
{
	php_hone_set64(&entry->retired, UINT64_MAX);
}

static inline bool
php_hone_entry_is(const struct php_hone_entry *entry,
	const struct php_hone_key *key, enum php_hone_kind kind)
{
	return entry->hash == key->hash && entry->kind == kind &&
	       entry->key_len == key->len &&
	       memcmp(php_hone_entry_key(entry), key->bytes, key->len) == 0;
}

/* The entry to which a link leads. */
static inline struct php_hone_entry *
php_hone_linked(const struct php_hone_store *store, const uint32_t *link)
{
	return php_hone_entry_at(store, php_hone_follow(link));
}

/* For the owner of the mutex: the link to the entry of a key, or NULL. */
uint32_t *php_hone_link_of_key(struct php_hone_store *store,
	const struct php_hone_key *key, enum php_hone_kind kind);
/* The link to the entry of that hash and offset, or NULL if it was removed. */
uint32_t *php_hone_link_of(
	const struct php_hone_store *store, uint64_t hash, uint32_t offset);

/* For readers: begins a fetch. The entry as they see it, or NULL. */
const struct php_hone_entry *php_hone_lookup(struct php_hone_member *member,
	const struct php_hone_key *key, enum php_hone_kind kind);

/* An entry as readers see it: in the view without the right to write. */
static inline const struct php_hone_entry *
php_hone_seen_at(const struct php_hone_store *store, uint32_t offset)
{
	return (const void *)(store->ro + offset * PHP_HONE_UNIT);
}

#endif
