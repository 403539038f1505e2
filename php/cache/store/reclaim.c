/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Room for new entries. Each store goes down this ladder in
 * php_hone_make_room(), and ends at the first step that gives a block.
 *
 *	reclaim       frees the retired entries that no reader has,
 *	              if 32 of them or 16 KiB wait
 *	hold less     closes the own slot, and all slots before memory runs out,
 *	              if readers hold back an eighth of the shard
 *	look ahead    no new pins, if readers have half of what is next and the
 *	              value takes a quarter of the reserve
 *	evict ahead   the hand, until the reserve is full again,
 *	              if less than the reserve is free: 1/64 of the shard;
 *	              no new pins, if readers have three quarters of what it
 *	              passes; closes all slots, if they have a quarter as warm
 *	              values
 *	a free block
 *	fail          if the same has failed a moment ago
 *	evict         the hand, for a small value; then windows: neighbours
 *	              that are evicted together
 *	no new pins   all slots are closed; evict again
 *	wait          1 ms at most, with the mutex, for fetches in progress;
 *	              evict again
 *	fail
 *
 * For a value, publish.c then waits for requests that end. The reasons:
 * docs/design/cache.md, "Eviction".
 */
#include <time.h>
#include "arena.h"
#include "epoch.h"
#include "index.h"

/* ---- retired entries ---- */

/* From this number of held entries on, another look at them pays. */
#define HELD_AT 256
/* A store waits for fetches so often, and each time at least so long. */
#define PATIENCE 8
#define PATIENCE_NS 20000
/* After each 1/CLOSE_PAUSE of a shard that is stored, php_hone_hold_back_less()
 * checks whether all slots must be closed. */
#define CLOSE_PAUSE 128

void
php_hone_retire(struct php_hone_shard *shard, uint32_t offset)
{
	struct php_hone_entry *entry = php_hone_entry_at(shard->store, offset);
	php_hone_set64(&entry->retired, php_hone_epoch_retire(shard->store));
	/* The next store is a release: a recovery that sees the state also sees
	 * the epoch. */
	php_hone_block_become(shard, offset, PHP_HONE_RETIRED);
	entry->link = shard->retired_list;
	shard->retired_list = offset;
	shard->n_retired++;
	shard->entries--;
	php_hone_count_form(shard, entry, -1);
	if (entry->kind == PHP_HONE_CLAIM)
		shard->n_claims--;
}

/* Free the entries of a list that no reader has. The others go to held_list. */
static void
reclaim_list(struct php_hone_shard *shard, uint32_t *list,
	void (*free_block)(struct php_hone_shard *shard, uint32_t offset))
{
	struct php_hone_store *store = shard->store;
	struct php_hone_readers readers;
	uint32_t next = *list;
	if (next == 0)
		return;
	php_hone_readers_look(store, &readers);
	*list = 0;
	while (next != 0) {
		uint32_t at = next;
		struct php_hone_entry *entry = php_hone_entry_at(store, at);
		next = entry->link;
		if (php_hone_readers_have(store, &readers, entry,
			    php_hone_get64(&entry->retired))) {
			entry->link = shard->held_list;
			shard->held_list = at;
			shard->n_held++;
		} else {
			shard->n_retired--;
			free_block(shard, at);
		}
	}
	shard->held_back = (uint32_t)shard->sums[PHP_HONE_RETIRED];
}

void
php_hone_reclaim(struct php_hone_shard *shard)
{
	reclaim_list(shard, &shard->retired_list, php_hone_arena_free);
}

void
php_hone_reclaim_all(struct php_hone_shard *shard)
{
	php_hone_reclaim(shard);
	shard->n_held = 0;
	reclaim_list(shard, &shard->held_list, php_hone_arena_free);
	shard->reclaim_at = 2 * shard->n_held + HELD_AT;
	if (php_hone_much_is_held(shard))
		php_hone_readers_close(shard->store, PHP_HONE_CLOSE_AFTER);
}

/*
 * A fetch that looks at more than one chain holds back all that was retired. It
 * ends within microseconds, unless its process has lost the CPU. Returns false
 * if there was no such fetch.
 */
static bool
wait_and_reclaim(struct php_hone_shard *shard)
{
	const struct timespec a_moment = {.tv_nsec = PATIENCE_NS};
	struct php_hone_readers readers;
	unsigned waits = 0;
	for (; waits < PATIENCE; waits++) {
		php_hone_readers_look(shard->store, &readers);
		if (readers.anywhere == UINT64_MAX)
			break;
		nanosleep(&a_moment, NULL);
	}
	if (waits > 0)
		php_hone_reclaim_all(shard);
	return waits > 0;
}

void
php_hone_reclaim_some(struct php_hone_shard *shard)
{
	reclaim_list(shard, &shard->retired_list, php_hone_arena_free_quick);
	if (shard->n_retired >= shard->reclaim_at)
		php_hone_reclaim_all(shard);
}

/*
 * Whether all slots must be closed before so many units are stored: readers
 * hold back as much as is live, so that eviction would free no more, and free
 * memory would not last until the requests end. They may also have all that is
 * live, and each live value may be replaced once. A new value then lies beside
 * the one that it replaces, and beside one that is being copied. A sixteenth of
 * the arena is added for what later requests find, and for small pieces.
 */
static bool
held_must_end(const struct php_hone_shard *shard, uint32_t units)
{
	uint64_t live = shard->sums[PHP_HONE_LIVE];
	return shard->held_back >= live &&
	       php_hone_free_units(shard) <
		       2 * (live + units) + php_hone_units_of(shard) / 16;
}

void
php_hone_hold_back_less(struct php_hone_member *member,
	struct php_hone_shard *shard, uint32_t units)
{
	php_hone_member_close(member);
	if (shard->close_pause > units) {
		shard->close_pause -= units;
		return;
	}
	if (held_must_end(shard, units)) {
		shard->close_pause = php_hone_units_of(shard) / CLOSE_PAUSE;
		/* First free what was held by requests that have ended. */
		php_hone_reclaim_all(shard);
	}
	if (!held_must_end(shard, units)) {
		shard->closed_at = 0;
	} else if (shard->held_back >
		   shard->closed_at + php_hone_free_units(shard) / 8) {
		/* More than when all slots were closed: the requests that were
		 * closed still hold back what they had. */
		php_hone_readers_close(shard->store, 0);
		shard->closed_at = shard->held_back;
	}
}

/* ---- eviction ---- */

/* Blocks that one call of evict_ahead() or look_ahead() looks at. */
#define PACE 256
/* Stores without evict_ahead(), after it freed too little. */
#define PAUSE 256
/* Blocks that evict_expired() looks at, each time that memory is short. */
#define SWEEP 64
/* Rounds of the hand, and blocks in each, before a window is chosen. */
#define ROUNDS 4
#define ROUND 512
#define SMALL 64 /* units; up to them the hand alone mostly makes room */
/* A value of 1/LARGE of a shard may find no room, although others do. */
#define LARGE 16
/* Readers have this many times what they do not have: soon they would have all.
 */
#define MOST_HAD 3
/* Readers have 1/WARM_HAD of what the hand looked at, and it could be packed.
 * Until their requests end, cold entries would be evicted in its place. */
#define WARM_HAD 4
/* From so many retired entries on, the hand passes over what readers have. */
#define HELD_BACK 32
/* Calls of evict_ahead() that leave nothing to pack, after it was in vain. */
#define PACK_PAUSE 16
#define PACK_UNITS (PHP_HONE_PACK_BYTES / PHP_HONE_UNIT)
/* The most cold entries that one pass passes over. If it has found no warm
 * victim by then, none are passed over until evict_ahead() was called so often.
 */
#define SPARED 16384
#define SPARE_PAUSE 16
/* The cost of the bytes of a cold entry in a window, if warm ones go first. */
#define COLD_WEIGHT 16
/* Values of one size for which memory is kept from readers: look_ahead(). */
#define AHEAD 8

struct pass {
	struct php_hone_shard *shard;
	struct php_hone_member *packer; /* NULL: evict, and pack nothing */
	uint32_t now;
	uint32_t units;     /* of victims */
	uint32_t seen;      /* units of entries that the hand looked at */
	uint32_t had;       /* units of them that readers have */
	uint32_t had_warm;  /* units of those that could be packed */
	uint32_t pack_left; /* units that may still be left to be packed; 0
			       once one of them found no room */
	uint64_t cold_left; /* cold entries that may still be passed over */
	bool found_warm;    /* a victim was warm */
	bool much;          /* the hand passes over what readers have */
	struct php_hone_readers readers;
};

static void
pass_begin(struct pass *pass, struct php_hone_shard *shard)
{
	memset(pass, 0, offsetof(struct pass, readers));
	pass->shard = shard;
	pass->now = php_hone_store_now(shard->store);
	/* Readers may have the warm ones: then a longer search is in vain. */
	if (shard->spare_pause == 0)
		pass->cold_left = shard->entries / 2 < SPARED
					  ? shard->entries / 2
					  : SPARED;
	pass->much = shard->n_retired > HELD_BACK;
	php_hone_readers_look(shard->store, &pass->readers);
}

static bool
pass_had(const struct pass *pass, const struct php_hone_entry *entry)
{
	return php_hone_readers_have(
		pass->shard->store, &pass->readers, entry, UINT64_MAX - 1);
}

static void
evict(struct pass *pass, uint32_t offset)
{
	struct php_hone_shard *shard = pass->shard;
	struct php_hone_entry *entry = php_hone_entry_at(shard->store, offset);
	uint32_t *link = php_hone_link_of(shard->store, entry->hash, offset);
	if (link == NULL)
		return;
	if (php_hone_expired(entry, pass->now)) {
		shard->expirations++;
	} else {
		shard->evictions++;
		php_hone_set32(&shard->presses, 1);
	}
	if (php_hone_is_packable(entry))
		pass->found_warm = true;
	pass->units += php_hone_word_units(entry->block);
	php_hone_remove_locked(shard, link);
}

static uint32_t
block_after(const struct php_hone_shard *shard, uint32_t offset)
{
	uint32_t next = offset + php_hone_units_at(shard, offset);
	return next == shard->end ? shard->first : next;
}

/* The entry of a block, or NULL if the block is not live. */
static struct php_hone_entry *
live_at(const struct php_hone_shard *shard, uint32_t offset)
{
	return php_hone_state_at(shard, offset) == PHP_HONE_LIVE
		       ? php_hone_entry_at(shard->store, offset)
		       : NULL;
}

static void
lower_use(struct php_hone_entry *entry)
{
	uint8_t use = php_hone_use_of(entry);
	if (use != 0)
		php_hone_set_use(entry, use - 1u);
}

/* In place of its eviction. Passes over an entry that is too large. Returns
 * false if the entry has no other form. */
static bool
leave_to_pack(
	struct pass *pass, const struct php_hone_entry *entry, uint32_t offset)
{
	struct php_hone_member *packer = pass->packer;
	uint32_t units = php_hone_word_units(entry->block);
	if (packer == NULL || !php_hone_is_packable(entry))
		return false;
	php_hone_set32(&pass->shard->presses, 1);
	if (units > PACK_UNITS)
		return true;
	if (packer->n_packs == PHP_HONE_PACKS || units > pass->pack_left) {
		pass->pack_left = 0;
		return true;
	}
	pass->pack_left -= units;
	pass->found_warm = true;
	packer->pack[packer->n_packs].hash = entry->hash;
	packer->pack[packer->n_packs++].offset = offset;
	/* The cold form takes less than half of most values. */
	pass->units += units / 2;
	return true;
}

/* Count an entry that readers have. Returns whether the hand passes over it. */
static bool
pass_over(struct pass *pass, const struct php_hone_entry *entry)
{
	uint32_t units = php_hone_word_units(entry->block);
	if (!pass_had(pass, entry))
		return false;
	pass->had += units;
	/* What closed slots have is not given back if they are closed again. */
	if (php_hone_is_packable(entry) && units <= PACK_UNITS &&
		php_hone_readers_hold(
			pass->shard->store, &pass->readers, entry))
		pass->had_warm += units;
	/* To pack what readers have would free nothing. */
	return pass->much || pass->packer != NULL;
}

/* The hand looks at one block. */
static void
hand_step(struct pass *pass)
{
	struct php_hone_shard *shard = pass->shard;
	uint32_t at = shard->hand;
	struct php_hone_entry *entry = live_at(shard, at);
	shard->hand = block_after(shard, at);
	if (entry == NULL)
		return;
	if (php_hone_expired(entry, pass->now)) {
		evict(pass, at);
		return;
	}
	pass->seen += php_hone_word_units(entry->block);
	if (pass->cold_left != 0 && php_hone_is_cold(entry) &&
		php_hone_warm_goes_first(shard)) {
		if (--pass->cold_left == 0 && !pass->found_warm)
			shard->spare_pause = SPARE_PAUSE;
		return;
	}
	if (pass_over(pass, entry))
		return;
	/* A claim is evicted only after its time. Without it, all processes
	 * would compute the value. */
	if (php_hone_use_of(entry) != 0)
		lower_use(entry);
	else if (entry->kind != PHP_HONE_CLAIM &&
		 !leave_to_pack(pass, entry, at))
		evict(pass, at);
}

/* Expired entries are evicted before any others: when the first of them is due,
 * a second hand goes through the arena once. */
static void
evict_expired(struct pass *pass)
{
	struct php_hone_shard *shard = pass->shard;
	if (shard->sweep == 0) {
		if (shard->min_expires > pass->now)
			return;
		shard->sweep = shard->first;
		shard->min_expires = UINT32_MAX;
	}
	for (unsigned i = 0; i < SWEEP; i++) {
		uint32_t at = shard->sweep;
		const struct php_hone_entry *entry = live_at(shard, at);
		shard->sweep = block_after(shard, at);
		if (entry != NULL && php_hone_expired(entry, pass->now))
			evict(pass, at);
		else if (entry != NULL && entry->expires != 0 &&
			 entry->expires < shard->min_expires)
			shard->min_expires = entry->expires;
		if (shard->sweep == shard->first) {
			shard->sweep = 0;
			return;
		}
	}
}

/* Without what readers hold back: each store would look through it, and free
 * nothing. */
static uint64_t
available(const struct php_hone_shard *shard)
{
	return php_hone_free_units(shard) + shard->sums[PHP_HONE_RETIRED] -
	       shard->held_back;
}

static bool
is_short(const struct php_hone_shard *shard)
{
	return available(shard) < php_hone_reserve_of(shard);
}

/*
 * For a value that takes a quarter of the reserve: what requests have stays
 * until they end, and the gaps between are smaller. So requests keep nothing
 * from now on if they have half of what the hand will reach for the next AHEAD
 * values, and as much as this value takes.
 */
static void
look_ahead(struct php_hone_shard *shard, uint32_t units)
{
	if (available(shard) >= (uint64_t)AHEAD * units)
		return;
	struct pass pass;
	pass_begin(&pass, shard);
	uint32_t at = shard->hand;
	for (unsigned i = 0;
		i < PACE && pass.seen < (uint64_t)AHEAD * 2 * units; i++) {
		const struct php_hone_entry *entry = live_at(shard, at);
		if (entry != NULL) {
			pass.seen += php_hone_word_units(entry->block);
			(void)pass_over(&pass, entry);
		}
		at = block_after(shard, at);
	}
	if (pass.had > pass.seen / 2 && pass.had >= units)
		php_hone_readers_keep_nothing(shard->store);
}

/* After a pass that could pack: closes all slots if readers have too many warm
 * entries. */
static void
keep_less_warm(const struct pass *pass)
{
	struct php_hone_shard *shard = pass->shard;
	shard->warm_seen += pass->seen;
	shard->warm_had += pass->had_warm;
	if (shard->warm_seen < php_hone_reserve_of(shard))
		return;
	if (shard->warm_had > shard->warm_seen / WARM_HAD &&
		php_hone_warm_goes_first(shard))
		php_hone_readers_close(shard->store, 0);
	shard->warm_seen = shard->warm_had = 0;
}

/* Whether the hand leaves values to be packed. */
static bool
may_pack(struct php_hone_member *member, const struct php_hone_shard *shard)
{
	/* Packing frees memory after this store. With less than half of the
	 * reserve, the next store may need it before. */
	if (!member->packs || member->n_packs != 0 ||
		available(shard) < php_hone_reserve_of(shard) / 2)
		return false;
	/* The cold form of some values is as long: to write it takes longer
	 * than a store. */
	if (member->in_vain < PHP_HONE_PACKS)
		return true;
	if (++member->pack_pause == PACK_PAUSE)
		member->in_vain = member->pack_pause = 0;
	return false;
}

/* Whether the member has as much to pack as it may have. */
static bool
packs_enough(const struct pass *pass)
{
	return pass->packer != NULL && pass->pack_left == 0;
}

/* Readers have given memory back by the time that it is needed. */
static void
evict_ahead(struct php_hone_member *member, struct php_hone_shard *shard)
{
	struct php_hone_store *store = shard->store;
	struct pass pass;
	pass_begin(&pass, shard);
	shard->spare_pause -= shard->spare_pause != 0;
	evict_expired(&pass);
	if (may_pack(member, shard)) {
		pass.packer = member;
		pass.pack_left = PACK_UNITS;
	}
	/* Entries that can be evicted may be far apart. The hand makes one turn
	 * at most. */
	uint64_t most = pass.much ? shard->entries : PACE;
	for (uint64_t i = 0;
		i < most && pass.units < php_hone_reserve_of(shard) / 2 &&
		!packs_enough(&pass);
		i++)
		hand_step(&pass);
	if (pass.had > pass.seen / (MOST_HAD + 1) * MOST_HAD)
		php_hone_readers_keep_nothing(store);
	else if (pass.packer != NULL)
		keep_less_warm(&pass);
	php_hone_reclaim(shard);
	if (!pass.much || packs_enough(&pass))
		return;
	bool too_little = pass.units < php_hone_reserve_of(shard) / 4;
	if (too_little) {
		php_hone_reclaim_all(shard);
		too_little = is_short(shard);
	}
	/* Too little was freed: close all slots, and do not try again for PAUSE
	 * stores. */
	php_hone_readers_close(store, too_little ? 0 : PHP_HONE_CLOSE_AFTER);
	shard->pause = too_little ? PAUSE : 0;
}

/* ---- a window: neighbours that are evicted together ---- */

struct window {
	uint32_t begin, units; /* units of whole blocks */
	int64_t cost;
};

/* Returns the cost of the eviction of a block. Negative if the block cannot be
 * freed now. */
static int64_t
window_cost(const struct pass *pass, uint32_t at)
{
	const struct php_hone_shard *shard = pass->shard;
	const struct php_hone_entry *entry =
		php_hone_entry_at(shard->store, at);
	enum php_hone_state state = php_hone_state_at(shard, at);
	if (state == PHP_HONE_FREE || state == PHP_HONE_QUICK)
		return 0;
	if (state == PHP_HONE_RESERVED ||
		php_hone_readers_have(shard->store, &pass->readers, entry,
			state == PHP_HONE_LIVE ? UINT64_MAX - 1
					       : entry->retired))
		return -1;
	if (state == PHP_HONE_RETIRED || php_hone_expired(entry, pass->now))
		return 0;
	/* The loss of a claim or a tag costs more than its bytes. */
	int64_t weight = entry->kind == PHP_HONE_VALUE ? 1 : 64;
	if (php_hone_is_cold(entry) && php_hone_warm_goes_first(shard))
		weight = COLD_WEIGHT;
	return weight * php_hone_units_at(shard, at) *
	       (1 + 4 * php_hone_use_of(entry));
}

/* Find the cheapest run of blocks of that many units within `reach` units from
 * the hand on. If there is none, find the first run beyond. */
static bool
window_choose(const struct pass *pass, uint32_t units, uint64_t reach,
	struct window *best)
{
	const struct php_hone_shard *shard = pass->shard;
	struct window w = {shard->hand, 0, 0};
	uint64_t seen = 0;
	*best = (struct window){0, 0, INT64_MAX};
	/* A window does not cross the end of the arena, so look at one turn and
	 * a window more. */
	for (uint32_t at = shard->hand;
		seen < (uint64_t)php_hone_units_of(shard) + units;) {
		uint32_t next = block_after(shard, at);
		int64_t cost = window_cost(pass, at);
		seen += php_hone_units_at(shard, at);
		if (cost < 0) {
			w = (struct window){next, 0, 0};
		} else {
			w.units += php_hone_units_at(shard, at);
			w.cost += cost;
		}
		while (w.units >= units) {
			if (w.cost < best->cost)
				*best = w;
			uint32_t first = php_hone_units_at(shard, w.begin);
			w.cost -= window_cost(pass, w.begin);
			w.units -= first;
			w.begin += first;
		}
		if (best->units != 0 && seen >= reach)
			break;
		if (next == shard->first)
			w = (struct window){next, 0, 0};
		at = next;
	}
	return best->units != 0;
}

/* The hand goes to the cheapest window, and lowers the counters it passes. */
static bool
window_evict(struct php_hone_shard *shard, uint32_t units)
{
	struct pass pass;
	pass_begin(&pass, shard);
	uint64_t reach = php_hone_units_of(shard) / 16;
	if (reach < (uint64_t)units * 8)
		reach = (uint64_t)units * 8;
	struct window w;
	if (!window_choose(&pass, units, reach, &w))
		return false;
	while (shard->hand != w.begin) {
		struct php_hone_entry *entry = live_at(shard, shard->hand);
		if (entry != NULL)
			lower_use(entry);
		shard->hand = block_after(shard, shard->hand);
	}
	for (uint32_t at = w.begin; at < w.begin + w.units;
		at += php_hone_units_at(shard, at))
		if (live_at(shard, at) != NULL)
			evict(&pass, at);
	php_hone_reclaim_all(shard);
	return true;
}

static uint32_t
room_by_windows(struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = 0;
	/* Try again: a reader may fetch from the window during its eviction. */
	for (unsigned i = 0; i < 3 && offset == 0; i++) {
		if (!window_evict(shard, units))
			return 0;
		offset = php_hone_arena_alloc(shard, units);
	}
	return offset;
}

static uint32_t
room_by_hand(struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = 0;
	for (unsigned round = 0; round < ROUNDS && offset == 0; round++) {
		struct pass pass;
		pass_begin(&pass, shard);
		/* Cold ones go if a turn has been in vain, and rather than
		 * windows, whose search is long. */
		if (shard->pause != 0 || round == ROUNDS - 1)
			pass.cold_left = 0;
		for (unsigned i = 0; i < ROUND && pass.units < 2 * units; i++)
			hand_step(&pass);
		php_hone_reclaim(shard);
		offset = php_hone_arena_alloc(shard, units);
	}
	return offset;
}

static uint32_t
room_by_eviction(struct php_hone_shard *shard, uint32_t units)
{
	php_hone_reclaim(shard);
	php_hone_arena_drain(shard);
	uint32_t offset = php_hone_arena_alloc(shard, units);
	if (offset == 0 && units <= SMALL)
		offset = room_by_hand(shard, units);
	if (offset == 0)
		offset = room_by_windows(shard, units);
	return offset;
}

/* Of what readers announce, what waits for them, and the time in 1/16 s. */
static uint64_t
failure_sum(const struct php_hone_shard *shard)
{
	return php_hone_readers_sum(shard->store,
		((uint64_t)php_hone_store_tick() << 32) + shard->n_retired +
			shard->sums[PHP_HONE_LIVE]);
}

/* The steps before the search for a free block. */
static void
prepare_room(struct php_hone_member *member, struct php_hone_shard *shard,
	uint32_t units)
{
	php_hone_reclaim_first(member, shard, units);
	if (shard->presses != 0 &&
		php_hone_free_units(shard) > php_hone_units_of(shard) / 4)
		php_hone_set32(&shard->presses, 0);
	if (units > php_hone_reserve_of(shard) / 4)
		look_ahead(shard, units);
	if (shard->pause != 0)
		shard->pause--;
	else if (is_short(shard))
		evict_ahead(member, shard);
}

/* The steps after it. Readers that hold back too much may have died. */
static uint32_t
force_room(struct php_hone_member *member, struct php_hone_shard *shard,
	uint32_t units)
{
	uint32_t offset = room_by_eviction(shard, units);
	if (offset != 0)
		return offset;
	php_hone_slots_reap(member, shard);
	if (units < php_hone_units_of(shard) / LARGE)
		php_hone_readers_keep_nothing(shard->store);
	else
		php_hone_readers_close(shard->store, 0);
	offset = room_by_eviction(shard, units);
	if (offset == 0 && wait_and_reclaim(shard))
		offset = room_by_eviction(shard, units);
	return offset;
}

/* The member that evicts the first value of the store reports this. */
static void
report_first(struct php_hone_member *member)
{
	uint32_t *evicted = &member->store->region->evicted;
	if (__atomic_exchange_n(evicted, 1, __ATOMIC_RELAXED) == 0)
		/* The first second is 1. */
		member->evicted =
			php_hone_store_now(member->store) <= PHP_HONE_EARLY;
}

uint32_t
php_hone_make_room(struct php_hone_member *member, struct php_hone_shard *shard,
	uint32_t units)
{
	uint64_t evictions = shard->evictions;
	prepare_room(member, shard, units);
	uint32_t offset = php_hone_arena_alloc(shard, units);
	/* What failed a moment ago fails again without the work. */
	if (offset == 0 && (units < shard->failed_units ||
				   shard->failed_sum != failure_sum(shard))) {
		offset = force_room(member, shard, units);
		if (offset == 0) {
			shard->failed_units = units;
			shard->failed_sum = failure_sum(shard);
		}
	}
	if (shard->evictions != evictions &&
		php_hone_get32(&member->store->region->evicted) == 0)
		report_first(member);
	return offset;
}
