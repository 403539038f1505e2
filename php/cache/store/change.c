/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linking and unlinking entries, and what changes entries of a key.
 */
#include <time.h>
#include "arena.h"
#include "epoch.h"
#include "index.h"

/*
 * Room for one more in a full chain: the least used entry is evicted, and of
 * these the oldest. A claim that stands ends by itself.
 */
static __attribute__((noinline, cold)) void
evict_from_chain(struct php_hone_member *member, unsigned i, uint32_t *link)
{
	struct php_hone_store *store = member->store;
	uint32_t *victim = NULL;
	uint8_t least = UINT8_MAX;
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		struct php_hone_entry *entry = php_hone_entry_at(store, at);
		uint8_t used = __atomic_load_n(&entry->used, __ATOMIC_RELAXED);
		if (used <= least &&
			(entry->kind != PHP_HONE_CLAIM ||
				php_hone_expired(
					entry, php_hone_store_now(store)))) {
			least = used;
			victim = link;
		}
		link = &entry->next;
	}
	if (victim == NULL)
		return;
	php_hone_remove_locked(member, i, victim);
	php_hone_shard_at(store, i)->evictions++;
}

static bool
is_full(const struct php_hone_store *store, uint32_t at)
{
	unsigned n = 0;
	for (; at != 0; n++)
		at = php_hone_follow(&php_hone_entry_at(store, at)->next);
	return n >= PHP_HONE_CHAIN_MOST;
}

void
php_hone_publish_locked(struct php_hone_member *member, unsigned i,
	struct php_hone_entry *entry, uint32_t *link)
{
	struct php_hone_store *store = member->store;
	struct php_hone_shard *shard = php_hone_shard_at(store, i);
	uint32_t offset = php_hone_offset(store, entry);
	uint32_t old = 0;
	/* Before the link: an epoch that is not later than that at which a
	 * reader finds it. */
	entry->birth = php_hone_epoch_now(store);
	if (link != NULL) {
		struct php_hone_entry *before =
			php_hone_entry_at(store, php_hone_follow(link));
		old = php_hone_offset(store, before);
		entry->next = before->next;
		/* Its readers go on to write no counter of the new one. */
		entry->used = __atomic_load_n(&before->used, __ATOMIC_RELAXED);
		php_hone_will_retire(before);
	} else {
		link = php_hone_bucket(
			store, php_hone_place(store, entry->hash));
		if (is_full(store, php_hone_follow(link)))
			evict_from_chain(member, i, link);
		entry->next = php_hone_follow(link);
	}
	php_hone_block_become(store, shard, offset, PHP_HONE_LIVE);
	php_hone_link(link, offset);
	shard->entries++;
	if (entry->kind == PHP_HONE_CLAIM)
		shard->n_claims++;
	if (entry->expires != 0 && entry->expires < shard->min_expires)
		shard->min_expires = entry->expires;
	php_hone_retire(store, shard, &old, old != 0);
}

void
php_hone_remove_locked(
	struct php_hone_member *member, unsigned i, uint32_t *link)
{
	struct php_hone_store *store = member->store;
	uint32_t offset = php_hone_follow(link);
	struct php_hone_entry *entry = php_hone_entry_at(store, offset);
	php_hone_will_retire(entry);
	php_hone_link(link, entry->next);
	php_hone_retire(store, php_hone_shard_at(store, i), &offset, 1);
}

bool
php_hone_entry_valid(
	struct php_hone_member *member, const struct php_hone_entry *entry)
{
	if (php_hone_expired(entry, php_hone_store_now(member->store)))
		return false;
	if (entry->n_tags == 0)
		return true;
	php_hone_fetch_begin(member);
	bool valid = php_hone_tags_valid(member, entry);
	php_hone_fetch_end(member);
	return valid;
}

int
php_hone_store_delete(
	struct php_hone_member *member, const struct php_hone_key *key)
{
	struct php_hone_store *store = member->store;
	php_hone_settle(member);
	struct php_hone_place place = php_hone_place(store, key->hash);
	php_hone_lock(member, place.shard);
	uint32_t *link =
		php_hone_link_of_key(store, place, key, PHP_HONE_VALUE);
	int result = -ENOENT;
	if (link != NULL) {
		if (php_hone_entry_valid(member,
			    php_hone_entry_at(store, php_hone_follow(link))))
			result = 0;
		php_hone_remove_locked(member, place.shard, link);
		if (php_hone_reclaim_pays(
			    php_hone_shard_at(store, place.shard)))
			php_hone_reclaim_some(
				store, php_hone_shard_at(store, place.shard));
	}
	php_hone_unlock(member, place.shard);
	return result;
}

int
php_hone_store_delete_entry(
	struct php_hone_member *member, const struct php_hone_entry *entry)
{
	struct php_hone_store *store = member->store;
	php_hone_settle(member);
	struct php_hone_place place = php_hone_place(store, entry->hash);
	uint32_t offset = php_hone_seen_offset(store, entry);
	php_hone_lock(member, place.shard);
	uint32_t *link = php_hone_link_of(store, offset);
	if (link != NULL) {
		php_hone_remove_locked(member, place.shard, link);
		if (php_hone_reclaim_pays(
			    php_hone_shard_at(store, place.shard)))
			php_hone_reclaim_some(
				store, php_hone_shard_at(store, place.shard));
	}
	php_hone_unlock(member, place.shard);
	return link != NULL ? 0 : -ENOENT;
}

int
php_hone_store_change(struct php_hone_member *member,
	const struct php_hone_key *key,
	bool (*change)(
		const struct php_hone_entry *entry, uint64_t *to, void *opaque),
	void *opaque)
{
	struct php_hone_store *store = member->store;
	php_hone_settle(member);
	struct php_hone_place place = php_hone_place(store, key->hash);
	php_hone_lock(member, place.shard);
	uint32_t *link =
		php_hone_link_of_key(store, place, key, PHP_HONE_VALUE);
	int result = -ENOENT;
	if (link != NULL) {
		uint32_t offset = php_hone_follow(link);
		struct php_hone_entry *entry = php_hone_entry_at(store, offset);
		uint64_t to = php_hone_get64(&entry->value[0]);
		if (!php_hone_entry_valid(member, entry)) {
			result = -ENOENT;
		} else if (change(php_hone_seen_at(store, offset), &to,
				   opaque)) {
			__atomic_store_n(
				&entry->value[0], to, __ATOMIC_RELEASE);
			result = 0;
		} else {
			result = -ECANCELED;
		}
	}
	php_hone_unlock(member, place.shard);
	return result;
}

static void
clear_shard(struct php_hone_store *store, unsigned i)
{
	struct php_hone_shard *shard = php_hone_shard_at(store, i);
	for (uint32_t b = 0; b <= store->bucket_mask; b++) {
		uint32_t *link =
			php_hone_bucket(store, (struct php_hone_place){i, b});
		uint32_t first = php_hone_follow(link);
		for (uint32_t at = first; at != 0;) {
			struct php_hone_entry *entry =
				php_hone_entry_at(store, at);
			php_hone_will_retire(entry);
			at = php_hone_follow(&entry->next);
		}
		if (first != 0)
			php_hone_link(link, 0);
	}
	uint32_t offsets[256];
	unsigned n = 0;
	for (uint32_t at = shard->first; at < shard->end;) {
		uint64_t word = php_hone_block(store, at);
		if (php_hone_word_state(word) == PHP_HONE_LIVE)
			offsets[n++] = at;
		at += php_hone_word_units(word);
		if (n == 256) {
			php_hone_retire(store, shard, offsets, n);
			n = 0;
		}
	}
	php_hone_retire(store, shard, offsets, n);
	php_hone_reclaim_all(store, shard);
	php_hone_arena_drain(store, shard);
	php_hone_claims_wake(shard);
}

void
php_hone_store_clear(struct php_hone_member *member)
{
	struct php_hone_store *store = member->store;
	php_hone_settle(member);
	for (unsigned i = 0; i < store->n_shards; i++) {
		php_hone_lock(member, i);
		clear_shard(store, i);
		php_hone_unlock(member, i);
	}
	uint64_t hits = 0;
	uint64_t misses = 0;
	for (uint32_t i = 0; i < store->n_slots; i++) {
		hits += php_hone_get64(&store->slots[i].hits);
		misses += php_hone_get64(&store->slots[i].misses);
	}
	php_hone_set64(&store->region->hits_before, hits);
	php_hone_set64(&store->region->misses_before, misses);
	__atomic_store_n(
		&store->region->start, (int64_t)time(NULL), __ATOMIC_RELAXED);
}
