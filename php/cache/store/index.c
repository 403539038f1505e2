/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding entries: docs/design/cache.md, "Keys of one chain". */
#include "epoch.h"
#include "index.h"

/* One fetch of 16 is counted in its entry, as 16; if the entry has many hits,
 * one of 256. Each count takes the entry's cache line from the other CPUs. */
#define SAMPLE 16
#define SAMPLE_HOT 256
#define HOT 4096
/* Seconds in which the hits of a cold entry are counted. */
#define WINDOW 64

uint32_t *
php_hone_link_of_key(struct php_hone_store *store,
	const struct php_hone_key *key, enum php_hone_kind kind)
{
	uint32_t *link =
		php_hone_bucket(store, php_hone_place(store, key->hash));
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		struct php_hone_entry *entry = php_hone_entry_at(store, at);
		if (php_hone_entry_is(entry, key, kind))
			return link;
		link = &entry->next;
	}
	return NULL;
}

uint32_t *
php_hone_link_of(
	const struct php_hone_store *store, uint64_t hash, uint32_t offset)
{
	uint32_t *link = php_hone_bucket(store, php_hone_place(store, hash));
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		if (at == offset)
			return link;
		link = &php_hone_entry_at(store, at)->next;
	}
	return NULL;
}

const struct php_hone_entry *
php_hone_lookup(struct php_hone_member *member, const struct php_hone_key *key,
	enum php_hone_kind kind)
{
	const struct php_hone_store *store = member->store;
	struct php_hone_place place = php_hone_place(store, key->hash);
	php_hone_fetch_chain(member, place);
	const uint32_t *link = php_hone_bucket(store, place);
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		const struct php_hone_entry *entry =
			php_hone_seen_at(store, at);
		if (php_hone_entry_is(entry, key, kind))
			return entry;
		link = &entry->next;
	}
	return NULL;
}

static void
count(uint64_t *counter)
{
	/* Only the owner of the slot writes this word. */
	php_hone_set64(counter, php_hone_get64(counter) + 1);
}

/* Eviction depends on this count. A lost update does no harm. */
static void
touch(struct php_hone_member *member, const struct php_hone_entry *seen)
{
	const struct php_hone_store *store = member->store;
	struct php_hone_entry *entry =
		php_hone_entry_at(store, php_hone_seen_offset(store, seen));
	/* Read through the view that found the entry: the other view is another
	 * page. */
	uint8_t used = php_hone_use_of(seen);
	if (used < 3)
		php_hone_set_use(entry, used + 1u);
	uint32_t hits = php_hone_get32(&seen->hits);
	uint32_t step = hits < HOT ? SAMPLE : SAMPLE_HOT;
	if ((++member->lookups & (step - 1)) == 0)
		php_hone_set32(&entry->hits, hits + step);
}

const struct php_hone_entry *
php_hone_store_to_pack(struct php_hone_member *member)
{
	const struct php_hone_store *store = member->store;
	while (member->n_packs != 0) {
		unsigned n = --member->n_packs;
		uint64_t hash = member->pack[n].hash;
		uint32_t at = member->pack[n].offset;
		const struct php_hone_entry *entry =
			php_hone_seen_at(store, at);
		php_hone_fetch_chain(member, php_hone_place(store, hash));
		/* Another entry may be there by now. */
		if (php_hone_link_of(store, hash, at) != NULL &&
			php_hone_is_packable(entry)) {
			member->in_vain += member->in_vain < PHP_HONE_PACKS;
			return entry;
		}
		php_hone_fetch_end(member);
	}
	return NULL;
}

static const struct php_hone_entry **
known_of(struct php_hone_member *member, uint64_t hash)
{
	return &member->known[(hash * 0x9e3779b97f4a7c15 >> 32) %
			      PHP_HONE_KNOWN];
}

/* The bit of the entry's region is set since the entry was found, so nobody
 * frees it. It may no longer be the entry of its key. */
const struct php_hone_entry *
php_hone_store_known(
	struct php_hone_member *member, const struct php_hone_key *key)
{
	const struct php_hone_entry *entry = *known_of(member, key->hash);
	/* Acquire: pairs with the link that follows php_hone_will_retire(). */
	if (entry == NULL || !php_hone_entry_is(entry, key, PHP_HONE_VALUE) ||
		__atomic_load_n(&entry->retired, __ATOMIC_ACQUIRE) != 0)
		return NULL;
	touch(member, entry);
	count(&member->slot->hits);
	return entry;
}

/* Bits of entry.special: the entry is cold, or has tags. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SPECIAL (PHP_HONE_COLD | 0xff00)
#else
#define SPECIAL (PHP_HONE_COLD << 8 | 0xff)
#endif

/* Keep an entry with tags that are valid. A cold one is not kept: its caller
 * reads it within the fetch. Returns false if the tags are not valid. */
static __attribute__((noinline)) bool
keep_special(struct php_hone_member *member, const struct php_hone_entry *entry)
{
	if (entry->n_tags != 0 && !php_hone_tags_valid(member, entry))
		return false;
	if (!php_hone_is_cold(entry))
		php_hone_fetch_keep(member, entry);
	return true;
}

/* value[0] of a cold entry has the number of its window, and the hits in it.
 * A lost update does no harm. */
static void
count_cold(struct php_hone_member *member, const struct php_hone_entry *seen)
{
	const struct php_hone_store *store = member->store;
	struct php_hone_entry *entry =
		php_hone_entry_at(store, php_hone_seen_offset(store, seen));
	uint64_t window = php_hone_store_now(store) / WINDOW;
	uint64_t had = php_hone_get64(&seen->value[0]);
	uint32_t hits = had >> 32 == window ? (uint32_t)had + 1 : 1;
	php_hone_set64(&entry->value[0], window << 32 | hits);
	(void)__atomic_fetch_add(
		&store->region->cold_hits, 1, __ATOMIC_RELAXED);
}

bool
php_hone_store_is_hot(const struct php_hone_entry *entry)
{
	return (uint32_t)php_hone_get64(&entry->value[0]) >= PHP_HONE_HOT;
}

static __attribute__((noinline)) const struct php_hone_entry *
miss(struct php_hone_member *member)
{
	count(&member->slot->misses);
	return NULL;
}

const struct php_hone_entry *
php_hone_fetch_find(
	struct php_hone_member *member, const struct php_hone_key *key)
{
	const struct php_hone_entry *entry =
		php_hone_lookup(member, key, PHP_HONE_VALUE);
	if (entry == NULL ||
		(entry->expires != 0 &&
			php_hone_expired(
				entry, php_hone_store_now(member->store))))
		return miss(member);
	if ((entry->special & SPECIAL) == 0) {
		php_hone_fetch_keep(member, entry);
		/* An entry that ends by a tag or by time gets no mark. */
		if (member->open && entry->expires == 0)
			*known_of(member, key->hash) = entry;
	} else {
		if (!keep_special(member, entry))
			return miss(member);
		if (php_hone_is_cold(entry))
			count_cold(member, entry);
	}
	touch(member, entry);
	count(&member->slot->hits);
	return entry;
}

const struct php_hone_entry *
php_hone_fetch_peek(
	struct php_hone_member *member, const struct php_hone_key *key)
{
	const struct php_hone_entry *entry =
		php_hone_lookup(member, key, PHP_HONE_VALUE);
	if (entry == NULL)
		return NULL;
	return keep_special(member, entry) ? entry : NULL;
}

/* ---- a walk ---- */

/* `now`: php_hone_store_now(), once for the whole walk. */
static bool
visit_chain(struct php_hone_member *member, struct php_hone_place place,
	uint32_t now,
	bool (*visit)(const struct php_hone_entry *entry, void *opaque),
	void *opaque)
{
	const struct php_hone_store *store = member->store;
	bool more = true;
	php_hone_fetch_chain(member, place);
	uint32_t at = php_hone_follow(php_hone_bucket(store, place));
	while (at != 0) {
		const struct php_hone_entry *entry =
			php_hone_seen_at(store, at);
		if (entry->kind == PHP_HONE_VALUE &&
			!php_hone_expired(entry, now) &&
			(entry->n_tags == 0 ||
				php_hone_tags_valid(member, entry)))
			more = visit(entry, opaque) && more;
		at = php_hone_follow(&entry->next);
	}
	php_hone_fetch_end(member);
	return more;
}

/* The high half of the cursor is the shard, the low one the bucket. */
void
php_hone_store_walk(struct php_hone_member *member, uint64_t *cursor,
	bool (*visit)(const struct php_hone_entry *entry, void *opaque),
	void *opaque)
{
	const struct php_hone_store *store = member->store;
	uint32_t now = php_hone_store_now(store);
	bool more = true;
	while (more && *cursor != UINT64_MAX) {
		struct php_hone_place place = {
			(unsigned)(*cursor >> 32), (uint32_t)*cursor};
		/* Most buckets are empty: no fetch begins for those. */
		if (php_hone_follow(php_hone_bucket(store, place)) != 0)
			more = visit_chain(member, place, now, visit, opaque);
		if (place.bucket < store->bucket_mask)
			++*cursor;
		else if (place.shard + 1 < store->n_shards)
			*cursor = (uint64_t)(place.shard + 1) << 32;
		else
			*cursor = UINT64_MAX;
	}
}
