/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures, and the map of the memory. */
#include "arena.h"
#include "epoch.h"

/* Seconds from one line in the log to the next one of its kind. */
#define QUIET 60

bool
php_hone_store_tell(struct php_hone_store *store, enum php_hone_news news)
{
	uint32_t *told = &store->region->told[news];
	uint32_t last = php_hone_get32(told);
	uint32_t now = php_hone_store_now(store);
	return (last == 0 || now - last >= QUIET) &&
	       __atomic_compare_exchange_n(told, &last, now, false,
		       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void
add_shard(const struct php_hone_shard *shard, struct php_hone_store_info *info)
{
	info->used +=
		(shard->sums[PHP_HONE_LIVE] + shard->sums[PHP_HONE_RESERVED]) *
		PHP_HONE_UNIT;
	info->retired += shard->sums[PHP_HONE_RETIRED] * PHP_HONE_UNIT;
	info->free += php_hone_free_units(shard) * PHP_HONE_UNIT;
	size_t largest = php_hone_arena_largest(shard) * PHP_HONE_UNIT;
	info->whole += largest;
	if (largest > info->largest_free)
		info->largest_free = largest;
	info->entries += shard->entries;
	info->stores += shard->stores;
	info->evictions += shard->evictions;
	info->expirations += shard->expirations;
	info->recoveries += shard->recoveries;
	info->cold_entries += shard->form_entries[1];
	info->cold_bytes += shard->form_units[1] * PHP_HONE_UNIT;
	info->packed += shard->packed;
	info->warmed += shard->warmed;
}

void
php_hone_store_info(
	struct php_hone_member *member, struct php_hone_store_info *info)
{
	struct php_hone_store *store = member->store;
	const struct php_hone_region *region = store->region;
	php_hone_settle(member);
	*info = (struct php_hone_store_info){.name = region->name,
		.size = store->size,
		/* Three units are for the head and a key of about 60 bytes. */
		.largest_value = (php_hone_units_of(&store->shards[0]) - 3) *
				 PHP_HONE_UNIT,
		.closed_slots = php_hone_get64(&region->closed_slots),
		.cold_hits = php_hone_get64(&region->cold_hits),
		.shards = store->n_shards,
		.slots = store->n_slots,
		.epoch = php_hone_epoch_now(store),
		.start = __atomic_load_n(&region->start, __ATOMIC_RELAXED)};
	php_hone_slots_reap(member, NULL);
	for (unsigned i = 0; i < store->n_shards; i++) {
		struct php_hone_shard *shard = &store->shards[i];
		if (!php_hone_lock(member, shard))
			continue;
		php_hone_reclaim_all(shard);
		php_hone_arena_drain(shard);
		add_shard(shard, info);
		php_hone_unlock(shard);
	}
	for (uint32_t i = 0; i < store->n_slots; i++) {
		const struct php_hone_slot *slot = &store->slots[i];
		info->hits += php_hone_get64(&slot->hits);
		info->misses += php_hone_get64(&slot->misses);
		info->slots_used += php_hone_get64(&slot->owner) != 0;
	}
	info->hits -= php_hone_get64(&region->hits_before);
	info->misses -= php_hone_get64(&region->misses_before);
}

/* ---- who holds back what ---- */

/* Slots for which one walk over the lists is enough. Each takes 1.4 KB of the
 * stack. */
#define TOGETHER 16

struct share {
	struct php_hone_readers readers;
	struct php_hone_holder holder;
};

static void
add_list(const struct php_hone_store *store, uint32_t list,
	struct share *shares, unsigned n)
{
	while (list != 0) {
		const struct php_hone_entry *entry =
			php_hone_entry_at(store, list);
		uint64_t retired = php_hone_get64(&entry->retired);
		for (unsigned i = 0; i < n; i++)
			if (php_hone_readers_have(
				    store, &shares[i].readers, entry, retired))
				shares[i].holder.bytes +=
					php_hone_word_units(entry->block) *
					PHP_HONE_UNIT;
		list = entry->link;
	}
}

/* Insert by bytes, the most first. Returns the new length. */
static unsigned
insert(struct php_hone_holder *holders, unsigned n, unsigned most,
	const struct php_hone_holder *holder)
{
	unsigned at = n;
	while (at > 0 && holders[at - 1].bytes < holder->bytes)
		at--;
	if (at == most)
		return n;
	unsigned last = n < most ? n : most - 1;
	memmove(&holders[at + 1], &holders[at], (last - at) * sizeof *holders);
	holders[at] = *holder;
	return last + 1;
}

unsigned
php_hone_store_holders(struct php_hone_member *member,
	struct php_hone_holder *holders, unsigned most)
{
	struct php_hone_store *store = member->store;
	struct share shares[TOGETHER];
	unsigned n = 0, some = 0;
	php_hone_settle(member);
	php_hone_slots_reap(member, NULL);
	uint32_t high =
		__atomic_load_n(&store->region->slots_high, __ATOMIC_ACQUIRE);
	for (uint32_t slot = 0; slot < high; slot++) {
		const struct php_hone_slot *at = &store->slots[slot];
		struct share *share = &shares[some];
		share->holder = (struct php_hone_holder){
			.pid = (int32_t)(php_hone_get64(&at->owner) >> 32),
			.slot = slot,
			.seconds = php_hone_store_now(store) -
				   php_hone_get32(&at->since)};
		php_hone_readers_look_at(store, slot, &share->readers);
		some += share->readers.min_pin != UINT64_MAX;
		if (some < TOGETHER && slot + 1 < high)
			continue;
		for (unsigned i = 0; i < store->n_shards && some != 0; i++) {
			struct php_hone_shard *shard = &store->shards[i];
			if (!php_hone_lock(member, shard))
				continue;
			add_list(store, shard->retired_list, shares, some);
			add_list(store, shard->held_list, shares, some);
			php_hone_unlock(shard);
		}
		while (some != 0)
			if (shares[--some].holder.bytes != 0)
				n = insert(
					holders, n, most, &shares[some].holder);
	}
	return n;
}

/* ---- the map ---- */

/* The kind of each part whose middle lies before the unit `end`, from the part
 * *i on. */
static void
fill_map(const struct php_hone_store *store, unsigned char *map, size_t parts,
	size_t *i, uint64_t end, unsigned char kind)
{
	uint64_t units = store->size / PHP_HONE_UNIT;
	while (*i < parts && (2 * *i + 1) * units < 2 * parts * end)
		map[(*i)++] = kind;
}

void
php_hone_store_map(
	struct php_hone_member *member, unsigned char *map, size_t parts)
{
	static const unsigned char kinds[] = {[PHP_HONE_FREE] = 0,
		[PHP_HONE_RESERVED] = 1,
		[PHP_HONE_LIVE] = 1,
		[PHP_HONE_RETIRED] = 2,
		[PHP_HONE_QUICK] = 0};
	struct php_hone_store *store = member->store;
	size_t n = 0;
	php_hone_settle(member);
	for (unsigned i = 0; i < store->n_shards; i++) {
		struct php_hone_shard *shard = &store->shards[i];
		fill_map(store, map, parts, &n, shard->first, 3);
		if (!php_hone_lock(member, shard))
			continue;
		for (uint32_t at = shard->first; at < shard->end;) {
			enum php_hone_state state =
				php_hone_state_at(shard, at);
			at += php_hone_units_at(shard, at);
			fill_map(store, map, parts, &n, at, kinds[state]);
		}
		php_hone_unlock(shard);
	}
	fill_map(store, map, parts, &n, store->size / PHP_HONE_UNIT, 3);
}
