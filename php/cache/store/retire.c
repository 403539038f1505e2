/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries that are no longer in the index, until no reader can have them.
 */
#include <time.h>
#include "arena.h"
#include "epoch.h"

/* Entries that are held back before another look at them pays. */
#define HELD_AT 256
/* How often, and for how long at least, a store waits for fetches. */
#define PATIENCE 8
#define PATIENCE_NS 20000
/* The part of a shard that is stored between two looks at whether all slots are
 * to be closed. */
#define CLOSE_PAUSE 128

void
php_hone_retire(struct php_hone_store *store, struct php_hone_shard *shard,
	const uint32_t *offsets, unsigned n)
{
	if (n == 0)
		return;
	/* One epoch for all: each of them was unlinked before. */
	uint64_t epoch = php_hone_epoch_retire(store);
	for (unsigned i = 0; i < n; i++) {
		struct php_hone_entry *entry =
			php_hone_entry_at(store, offsets[i]);
		php_hone_set64(&entry->retired, epoch);
		/* The release of the next store: a recovery that sees the state
		 * also sees the epoch. */
		php_hone_block_become(
			store, shard, offsets[i], PHP_HONE_RETIRED);
		entry->link = shard->retired_list;
		shard->retired_list = offsets[i];
		shard->n_retired++;
		shard->entries--;
		if (entry->kind == PHP_HONE_CLAIM)
			shard->n_claims--;
	}
}

typedef void free_fn(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset);

/* Free what can be freed of a list; the rest goes to the list of what is held
 * back. */
static void
reclaim(struct php_hone_store *store, struct php_hone_shard *shard,
	const struct php_hone_readers *readers, uint32_t list,
	free_fn *free_block)
{
	while (list != 0) {
		uint32_t at = list;
		struct php_hone_entry *entry = php_hone_entry_at(store, at);
		list = entry->link;
		if (php_hone_readers_have(store, readers, entry,
			    php_hone_get64(&entry->retired))) {
			entry->link = shard->held_list;
			shard->held_list = at;
			shard->n_held++;
		} else {
			shard->n_retired--;
			free_block(store, shard, at);
		}
	}
}

static void
reclaim_fresh(struct php_hone_store *store, struct php_hone_shard *shard,
	free_fn *free_block)
{
	uint32_t list = shard->retired_list;
	if (list == 0)
		return;
	struct php_hone_readers readers;
	php_hone_readers_look(store, &readers);
	shard->retired_list = 0;
	reclaim(store, shard, &readers, list, free_block);
	shard->held_back = (uint32_t)shard->sums[PHP_HONE_RETIRED];
}

void
php_hone_reclaim(struct php_hone_store *store, struct php_hone_shard *shard)
{
	reclaim_fresh(store, shard, php_hone_arena_free);
}

void
php_hone_reclaim_all(struct php_hone_store *store, struct php_hone_shard *shard)
{
	reclaim_fresh(store, shard, php_hone_arena_free);
	uint32_t list = shard->held_list;
	if (list == 0)
		return;
	struct php_hone_readers readers;
	php_hone_readers_look(store, &readers);
	shard->held_list = 0;
	shard->n_held = 0;
	reclaim(store, shard, &readers, list, php_hone_arena_free);
	shard->held_back = (uint32_t)shard->sums[PHP_HONE_RETIRED];
	shard->reclaim_at = 2 * shard->n_held + HELD_AT;
	if (php_hone_much_is_held(shard))
		php_hone_readers_close(store, PHP_HONE_CLOSE_AFTER);
}

bool
php_hone_reclaim_patiently(
	struct php_hone_store *store, struct php_hone_shard *shard)
{
	const struct timespec a_moment = {.tv_nsec = PATIENCE_NS};
	unsigned waits = 0;
	for (; waits < PATIENCE; waits++) {
		struct php_hone_readers readers;
		php_hone_readers_look(store, &readers);
		if (readers.anywhere == UINT64_MAX)
			break;
		nanosleep(&a_moment, NULL);
	}
	if (waits > 0)
		php_hone_reclaim_all(store, shard);
	return waits > 0;
}

void
php_hone_reclaim_some(
	struct php_hone_store *store, struct php_hone_shard *shard)
{
	reclaim_fresh(store, shard, php_hone_arena_free_quick);
	/* What is held back is looked at again when there is twice as much. */
	if (shard->n_retired >= shard->reclaim_at)
		php_hone_reclaim_all(store, shard);
}

/* Whether readers hold back more than when all slots were closed. Requests that
 * were closed then hold back what they had. */
static bool
more_is_held(const struct php_hone_shard *shard)
{
	return shard->held_back >
	       shard->closed_at + php_hone_free_units(shard) / 8;
}

static void
close_in_time(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t units)
{
	/* First, what requests had that have ended since the last look. */
	if (php_hone_held_must_end(shard, units))
		php_hone_reclaim_all(store, shard);
	if (!php_hone_held_must_end(shard, units)) {
		shard->closed_at = 0;
	} else if (more_is_held(shard)) {
		php_hone_readers_close(store, 0);
		shard->closed_at = shard->held_back;
	}
}

void
php_hone_hold_back_less(struct php_hone_member *member,
	struct php_hone_shard *shard, uint32_t units)
{
	php_hone_member_close(member);
	if (shard->close_pause > units) {
		shard->close_pause -= units;
	} else if (php_hone_held_must_end(shard, units) ||
		   shard->closed_at != 0) {
		close_in_time(member->store, shard, units);
		shard->close_pause = (shard->end - shard->first) / CLOSE_PAUSE;
	}
}
