/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shard whose mutex's owner died. The index and the words of the blocks are
 * right at each instruction; the rest is derived from them. This may itself be
 * killed at any instruction: it begins anew then.
 */
#include "arena.h"
#include "epoch.h"
#include "index.h"

#define REACHED UINT32_MAX

static bool
is_block(const struct php_hone_shard *shard, uint32_t offset)
{
	return offset >= shard->first && offset < shard->end;
}

/* Entries that the index leads to have link REACHED, all others 0. */
static void
mark(struct php_hone_store *store, struct php_hone_shard *shard, unsigned i)
{
	for (uint32_t at = shard->first; at < shard->end;) {
		uint64_t word = php_hone_block(store, at);
		if (php_hone_word_state(word) != PHP_HONE_FREE)
			php_hone_entry_at(store, at)->link = 0;
		at += php_hone_word_units(word);
	}
	for (uint32_t b = 0; b <= store->bucket_mask; b++) {
		uint32_t *link =
			php_hone_bucket(store, (struct php_hone_place){i, b});
		for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
			struct php_hone_entry *entry =
				php_hone_entry_at(store, at);
			/* A chain that a stray write damaged ends here. */
			if (!is_block(shard, at) || entry->link == REACHED) {
				php_hone_link(link, 0);
				break;
			}
			entry->link = REACHED;
			link = &entry->next;
		}
	}
}

/* Whether a process fills that block without the mutex. */
static bool
somebody_fills(const struct php_hone_store *store, uint32_t offset)
{
	for (uint32_t i = 0; i < store->n_slots; i++) {
		if (php_hone_get32(&store->slots[i].reserved) == offset)
			return true;
	}
	return false;
}

/* Reservations that were finished, but not yet taken off the slot. */
static void
forget_finished(
	struct php_hone_store *store, const struct php_hone_shard *shard)
{
	for (uint32_t i = 0; i < store->n_slots; i++) {
		uint32_t *reserved = &store->slots[i].reserved;
		uint32_t offset = php_hone_get32(reserved);
		if (!is_block(shard, offset))
			continue;
		bool found = false;
		for (uint32_t at = shard->first; at < shard->end && !found;) {
			uint64_t word = php_hone_block(store, at);
			found = at == offset &&
				php_hone_word_state(word) == PHP_HONE_RESERVED;
			at += php_hone_word_units(word);
		}
		if (!found)
			php_hone_set32(reserved, 0);
	}
}

static void
decide(struct php_hone_store *store, uint32_t at, uint64_t word)
{
	struct php_hone_entry *entry = php_hone_entry_at(store, at);
	enum php_hone_state state = php_hone_word_state(word);
	enum php_hone_state to = state;
	if (state == PHP_HONE_FREE)
		return;
	if (entry->link == REACHED) {
		/* Its removal was begun, or nothing. */
		php_hone_set64(&entry->retired, 0);
		to = PHP_HONE_LIVE;
	} else if (state == PHP_HONE_LIVE) {
		/* Readers may have it: it was published once. */
		php_hone_set64(&entry->retired, php_hone_epoch_retire(store));
		to = PHP_HONE_RETIRED;
	} else if (state == PHP_HONE_QUICK ||
		   (state == PHP_HONE_RESERVED && !somebody_fills(store, at))) {
		to = PHP_HONE_FREE;
	}
	if (to != state)
		php_hone_set_block(store, at,
			php_hone_word(php_hone_word_units(word), to, 0));
}

static void
count(struct php_hone_store *store, struct php_hone_shard *shard)
{
	shard->retired_list = shard->held_list = 0;
	shard->n_retired = shard->n_held = 0;
	shard->reclaim_at = 0;
	shard->held_back = 0;
	shard->close_pause = 0;
	shard->closed_at = 0;
	shard->entries = 0;
	shard->n_claims = 0;
	shard->min_expires = 0;
	for (uint32_t at = shard->first; at < shard->end;) {
		uint64_t word = php_hone_block(store, at);
		struct php_hone_entry *entry = php_hone_entry_at(store, at);
		switch (php_hone_word_state(word)) {
		case PHP_HONE_LIVE:
			shard->entries++;
			if (entry->kind == PHP_HONE_CLAIM)
				shard->n_claims++;
			break;
		case PHP_HONE_RETIRED:
			entry->link = shard->retired_list;
			shard->retired_list = at;
			shard->n_retired++;
			break;
		case PHP_HONE_FREE:
		case PHP_HONE_QUICK:
		case PHP_HONE_RESERVED:
			break;
		}
		at += php_hone_word_units(word);
	}
}

void
php_hone_recover(struct php_hone_store *store, struct php_hone_shard *shard)
{
	mark(store, shard, (unsigned)(shard - store->shards));
	for (uint32_t at = shard->first; at < shard->end;) {
		uint64_t word = php_hone_block(store, at);
		decide(store, at, word);
		at += php_hone_word_units(word);
	}
	forget_finished(store, shard);
	php_hone_arena_rebuild(store, shard);
	count(store, shard);
	shard->recoveries++;
}
