/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures, and the map of the memory.
 */
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
add_shard(const struct php_hone_store *store,
	const struct php_hone_shard *shard, struct php_hone_store_info *info)
{
	info->used +=
		(shard->sums[PHP_HONE_LIVE] + shard->sums[PHP_HONE_RESERVED]) *
		PHP_HONE_UNIT;
	info->retired += shard->sums[PHP_HONE_RETIRED] * PHP_HONE_UNIT;
	info->free += php_hone_free_units(shard) * PHP_HONE_UNIT;
	size_t largest = php_hone_arena_largest(store, shard) * PHP_HONE_UNIT;
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
	const struct php_hone_shard *first = &store->shards[0];
	*info = (struct php_hone_store_info){.name = region->name,
		.size = store->size,
		/* Three units are for the head and a key of about 60 bytes. */
		.largest_value =
			(first->end - first->first - 3) * PHP_HONE_UNIT,
		.closed_slots = php_hone_get64(&region->closed_slots),
		.cold_hits = php_hone_get64(&region->cold_hits),
		.shards = store->n_shards,
		.slots = store->n_slots,
		.epoch = php_hone_epoch_now(store),
		.start = __atomic_load_n(&region->start, __ATOMIC_RELAXED)};
	php_hone_slots_reap(member, NULL);
	for (unsigned i = 0; i < store->n_shards; i++) {
		struct php_hone_shard *shard = &store->shards[i];
		if (!php_hone_lock(member, i))
			continue;
		/* Free and merge what waits for it: the figures count it as
		 * free. */
		php_hone_reclaim_all(store, shard);
		php_hone_arena_drain(store, shard);
		add_shard(store, shard, info);
		php_hone_unlock(member, i);
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
		uint64_t word = php_hone_get64(&entry->block);
		for (unsigned i = 0; i < n; i++) {
			if (php_hone_readers_have(
				    store, &shares[i].readers, entry, retired))
				shares[i].holder.bytes +=
					php_hone_word_units(word) *
					PHP_HONE_UNIT;
		}
		list = entry->link;
	}
}

/* Looks at the next slots from *at on; returns how many may hold anything. */
static unsigned
look_at_some(
	const struct php_hone_store *store, uint32_t *at, struct share *shares)
{
	uint32_t high =
		__atomic_load_n(&store->region->slots_high, __ATOMIC_ACQUIRE);
	unsigned n = 0;
	for (; *at < high && n < TOGETHER; ++*at) {
		const struct php_hone_slot *slot = &store->slots[*at];
		shares[n].holder = (struct php_hone_holder){
			.pid = (int32_t)(php_hone_get64(&slot->owner) >> 32),
			.slot = *at,
			.seconds = php_hone_store_now(store) -
				   php_hone_get32(&slot->since)};
		n += php_hone_readers_look_at(store, *at, &shares[n].readers);
	}
	return n;
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
	unsigned n = 0, some;
	uint32_t at = 0;
	php_hone_settle(member);
	php_hone_slots_reap(member, NULL);
	while ((some = look_at_some(store, &at, shares)) != 0) {
		for (unsigned i = 0; i < store->n_shards; i++) {
			const struct php_hone_shard *shard = &store->shards[i];
			if (!php_hone_lock(member, i))
				continue;
			add_list(store, shard->retired_list, shares, some);
			add_list(store, shard->held_list, shares, some);
			php_hone_unlock(member, i);
		}
		for (unsigned i = 0; i < some; i++) {
			if (shares[i].holder.bytes != 0)
				n = insert(holders, n, most, &shares[i].holder);
		}
	}
	return n;
}

/* ---- the map ---- */

/* The part that is being filled. Positions are units times the number of parts,
 * so that a part has as many of them as the memory has units. */
struct part {
	unsigned char *map;
	size_t parts, i;
	uint64_t units;
	uint64_t at;    /* the end of the last range */
	uint64_t of[4]; /* what each kind has of this part */
};

static void
end_part(struct part *p)
{
	unsigned most = 0;
	for (unsigned kind = 1; kind < 4; kind++) {
		if (p->of[kind] > p->of[most])
			most = kind;
	}
	memset(p->of, 0, sizeof p->of);
	p->map[p->i++] = (unsigned char)most;
}

/* From the end of the last range to this unit. */
static void
add_range(struct part *p, uint64_t unit, unsigned kind)
{
	uint64_t to = unit * p->parts;
	while (p->at < to) {
		uint64_t end = (p->i + 1) * p->units;
		uint64_t next = to < end ? to : end;
		p->of[kind] += next - p->at;
		p->at = next;
		if (next == end)
			end_part(p);
	}
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
	struct part p = {.map = map,
		.parts = parts,
		.units = store->size / PHP_HONE_UNIT};
	php_hone_settle(member);
	for (unsigned i = 0; i < store->n_shards; i++) {
		const struct php_hone_shard *shard = &store->shards[i];
		if (!php_hone_lock(member, i))
			continue;
		add_range(&p, shard->first, 3);
		for (uint32_t at = shard->first; at < shard->end;) {
			uint64_t word = php_hone_block(store, at);
			at += php_hone_word_units(word);
			add_range(&p, at, kinds[php_hone_word_state(word)]);
		}
		php_hone_unlock(member, i);
	}
	add_range(&p, p.units, 3);
}
