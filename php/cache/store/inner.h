/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_STORE_INNER_H
#define PHP_HONE_STORE_INNER_H
/*
 * The structures that the files of the store share. An offset is a number of
 * units of 64 bytes from the begin of the mapping. The header is at 0, so 0
 * stands for no block. Shared words are plain integers that only the functions
 * below and __atomic builtins access.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "store.h"

#define PHP_HONE_UNIT ((size_t)64)
#define PHP_HONE_MAX_SHARDS 16
#define PHP_HONE_HELD_WORDS 7
#define PHP_HONE_REGIONS (PHP_HONE_HELD_WORDS * 64)

/* Size classes of free blocks: arena.c. */
#define PHP_HONE_CLASSES 832
#define PHP_HONE_CLASS_WORDS (PHP_HONE_CLASSES / 64)
#define PHP_HONE_QUICK_SIZES 33
#define PHP_HONE_STATES 5 /* enum php_hone_state in arena.h */
#define PHP_HONE_FORMS 2  /* warm, cold */
/* Units of the largest arena: the classes end there. */
#define PHP_HONE_ARENA_MOST ((uint32_t)1 << 29)

/* What a process announces to writers: epoch.c. Only the owner writes the
 * words, but writers change `close`, and whoever finds a dead owner clears its
 * slot. */
struct php_hone_slot {
	uint64_t pin;  /* the epoch at which the request began; 0: none */
	uint64_t busy; /* 0, or what the fetch in progress may look at */
	uint64_t hits;
	uint64_t misses;
	uint64_t owner;    /* pid and start time: process.c; 0: free */
	uint32_t reserved; /* a block that it fills without the mutex */
	uint32_t since;    /* seconds; when it was pinned */
	uint64_t waits;    /* claim.c; 0, or the hash of the key it waits for */
	uint64_t began;    /* an epoch; its fetch finds no earlier retirement */
	uint64_t close;    /* generation of the pin, and the epoch of its end */
	/* A bit for each region of the mapping in which it found an entry. */
	uint64_t held[PHP_HONE_HELD_WORDS];
};

_Static_assert(sizeof(struct php_hone_slot) == 128, "two lines each");

/* Only the owner of the mutex reads and writes these words, except `wakes` and
 * `presses`, which others read. */
struct php_hone_shard {
	pthread_mutex_t mutex __attribute__((aligned(64)));
	/* The handle has the same address in each process: fork() copies it. */
	struct php_hone_store *store;
	uint32_t bit;        /* of php_hone_member.stuck */
	uint32_t first, end; /* the arena */
	uint32_t hand;       /* the block that eviction looks at next */
	uint32_t sweep;      /* the block that expiry looks at next; 0: none */
	uint32_t wakes;      /* a futex; atomic; counts claims that ended */
	/* Values are evicted for lack of memory: from the first eviction until
	 * a quarter of the shard is free; atomic. */
	uint32_t presses;
	uint64_t stores, evictions, expirations, recoveries, packed, warmed;

	/* ---- from here on, a recovery begins with zeros ---- */

	/* No entry expires before it. During a sweep: none that the sweep has
	 * seen, or that was published since its beginning. */
	uint32_t min_expires;
	uint32_t retired_list; /* retired after the last look at the slots */
	uint32_t held_list;    /* what readers had at that look */
	uint32_t n_retired, n_held; /* in both lists; in the second one */
	uint32_t reclaim_at;        /* n_retired at which reclaiming is tried */
	uint32_t held_back;   /* units that the last reclaim had to leave */
	uint32_t pause;       /* stores until evict_ahead() is tried */
	uint32_t close_pause; /* units until closing is tried again */
	uint32_t closed_at;   /* held_back when all slots were closed */
	uint32_t spare_pause; /* calls of evict_ahead() that spare no cold
				 entries */
	uint32_t n_claims;
	/* Units that the hand has looked at, and those of them that open slots
	 * have and that could be packed. */
	uint32_t warm_seen, warm_had;
	/* The last request for room that failed, and why: failure_sum(). */
	uint32_t failed_units;
	uint64_t failed_sum;
	uint64_t entries;
	/* Live values that have two forms: the warm ones, the cold ones. */
	uint64_t form_entries[PHP_HONE_FORMS], form_units[PHP_HONE_FORMS];
	uint64_t sums[PHP_HONE_STATES]; /* units in each state */
	uint64_t class_bits[PHP_HONE_CLASS_WORDS];
	uint32_t quick[PHP_HONE_QUICK_SIZES]; /* small blocks, by their units */
	uint32_t heads[PHP_HONE_CLASSES];
};

/* The begin of the mapping. */
struct php_hone_region {
	char name[32];
	int64_t start;
	uint64_t hits_before, misses_before; /* at the last clear */
	uint64_t closed_slots;
	uint64_t cold_hits;  /* since the last clear; atomic */
	uint64_t generation; /* of tags; each value is used once */
	uint32_t slots_high; /* slots beyond were never taken */
	uint32_t evicted;    /* 1: a value was evicted; atomic */
	/* Seconds of the last lines in the log, by enum php_hone_news. */
	uint32_t told[PHP_HONE_NEWS];
	/* The second until which requests begin closed: epoch.c; atomic. */
	uint32_t short_until;
	/* Written at each removal. */
	uint64_t epoch __attribute__((aligned(64)));
} __attribute__((aligned(64)));

/* The handle of a process, constant after php_hone_store_create(). It has what
 * readers need of a shard: writers change the cache lines of the shard itself.
 */
struct php_hone_store {
	unsigned char *rw; /* where writers write */
	const unsigned char
		*ro; /* where readers look; the same if unprotected */
	struct php_hone_region *region;
	struct php_hone_slot *slots;
	struct php_hone_shard *shards;
	size_t size;
	uint32_t n_shards, n_slots;
	uint32_t bucket_mask;
	uint32_t buckets[PHP_HONE_MAX_SHARDS]; /* offsets of arrays of links */
	uint64_t recip; /* regions << 32 / units: php_hone_region_of() */
	int64_t made;   /* CLOCK_MONOTONIC, seconds */
};

static inline uint64_t
php_hone_get64(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void
php_hone_set64(uint64_t *word, uint64_t to)
{
	__atomic_store_n(word, to, __ATOMIC_RELAXED);
}

static inline uint32_t
php_hone_get32(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void
php_hone_set32(uint32_t *word, uint32_t to)
{
	__atomic_store_n(word, to, __ATOMIC_RELAXED);
}

static inline void *
php_hone_at(const struct php_hone_store *store, uint32_t offset)
{
	return store->rw + offset * PHP_HONE_UNIT;
}

static inline struct php_hone_entry *
php_hone_entry_at(const struct php_hone_store *store, uint32_t offset)
{
	return php_hone_at(store, offset);
}

static inline uint32_t
php_hone_offset(const struct php_hone_store *store, const void *writable)
{
	return (uint32_t)((size_t)((const unsigned char *)writable -
				   store->rw) /
			  PHP_HONE_UNIT);
}

/* The same of an address in the view of readers. */
static inline uint32_t
php_hone_seen_offset(const struct php_hone_store *store, const void *seen)
{
	return (uint32_t)((size_t)((const unsigned char *)seen - store->ro) /
			  PHP_HONE_UNIT);
}

static inline const unsigned char *
php_hone_entry_key(const struct php_hone_entry *entry)
{
	return entry->bytes + PHP_HONE_KEY_HEAD;
}

static inline uint8_t
php_hone_use_of(const struct php_hone_entry *entry)
{
	return __atomic_load_n(&entry->used, __ATOMIC_RELAXED);
}

static inline void
php_hone_set_use(struct php_hone_entry *entry, unsigned to)
{
	__atomic_store_n(&entry->used, (uint8_t)to, __ATOMIC_RELAXED);
}

static inline bool
php_hone_is_cold(const struct php_hone_entry *entry)
{
	return (entry->flags & PHP_HONE_COLD) != 0;
}

static inline bool
php_hone_is_packable(const struct php_hone_entry *entry)
{
	return entry->kind == PHP_HONE_VALUE && !php_hone_is_cold(entry) &&
	       (entry->value[1] & PHP_HONE_PACKABLE) != 0;
}

/* What an entry remembers of a tag: publish.c. */
struct php_hone_tag {
	uint64_t hash, generation;
};

static inline size_t
php_hone_tags_at(size_t key_len)
{
	size_t end = offsetof(struct php_hone_entry, bytes) +
		     PHP_HONE_KEY_HEAD + key_len + 1;
	return (end + 7) & ~(size_t)7;
}

static inline struct php_hone_tag *
php_hone_entry_tags(const struct php_hone_entry *entry)
{
	return (struct php_hone_tag *)((unsigned char *)entry +
				       php_hone_tags_at(entry->key_len));
}

/* ---- process.c ---- */

/* Whether the process that took a slot still runs. */
bool php_hone_owner_lives(uint64_t owner);
/*
 * Free the slots of processes that died, and the blocks that they filled. The
 * caller has the mutex of `shard`, or no mutex if it is NULL.
 */
void php_hone_slots_reap(
	struct php_hone_member *member, struct php_hone_shard *shard);

/* Returns false if another member has the mutex. */
bool php_hone_trylock(
	struct php_hone_member *member, struct php_hone_shard *shard);
/* Returns false if another process has the mutex and is stopped. */
bool php_hone_lock(
	struct php_hone_member *member, struct php_hone_shard *shard);
void php_hone_unlock(struct php_hone_shard *shard);
/* Put a shard in order after the owner of its mutex died. */
void php_hone_recover(struct php_hone_shard *shard);
/* Cancel an unfinished reservation: store.h has the rule. The reservation stays
 * if the mutex of its shard cannot be taken. */
void php_hone_settle(struct php_hone_member *member);

/* ---- arena.c ---- */

/* A clock of 1/16 second. */
uint32_t php_hone_store_tick(void);

/* ---- reclaim.c ---- */

/* Returns a reserved block of that many units, or 0 if there is no room. */
uint32_t php_hone_make_room(struct php_hone_member *member,
	struct php_hone_shard *shard, uint32_t units);

/* Retire an entry that was unlinked. */
void php_hone_retire(struct php_hone_shard *shard, uint32_t offset);
/*
 * Free the entries that retired since the last call and that no reader can
 * have. The others are held back: php_hone_reclaim_all() looks at these, too.
 */
void php_hone_reclaim(struct php_hone_shard *shard);
void php_hone_reclaim_all(struct php_hone_shard *shard);
/* The same as php_hone_reclaim(), but small blocks become quick. Looks at what
 * is held back, too, if there is twice as much as at the last look. */
void php_hone_reclaim_some(struct php_hone_shard *shard);
/* Before so many units are stored, if readers hold back much. Closes the
 * member's own slot, and all others if free memory would not last otherwise. */
void php_hone_hold_back_less(struct php_hone_member *member,
	struct php_hone_shard *shard, uint32_t units);

/* ---- publish.c ---- */

/* Whether each tag of an entry still has the generation it was stored with. */
bool php_hone_tags_valid(
	struct php_hone_member *member, const struct php_hone_entry *entry);

/* ---- claim.c ---- */

void php_hone_claims_wake(struct php_hone_shard *shard);

/* ---- publish.c, for the owner of the mutex ---- */

/* The entry of a key; `link` and `entry` are NULL if there is none. */
struct php_hone_found {
	struct php_hone_shard *shard;
	uint32_t *link;
	struct php_hone_entry *entry;
};

/* Cancels an unfinished reservation, takes the mutex of a key, and finds its
 * entry. Returns false without the mutex: -ETIMEDOUT. */
bool php_hone_lock_key(struct php_hone_member *member,
	const struct php_hone_key *key, enum php_hone_kind kind,
	struct php_hone_found *found);

/* A reserved entry whose head and key are filled in, or NULL. */
struct php_hone_entry *php_hone_reserve_locked(struct php_hone_member *member,
	struct php_hone_shard *shard, const struct php_hone_room *room,
	enum php_hone_kind kind);
/* Link an entry at `link`, and retire the entry that was there; or link it
 * before the whole chain if `link` is NULL. */
void php_hone_publish_locked(struct php_hone_shard *shard,
	struct php_hone_entry *entry, uint32_t *link);
/* Unlink and retire the entry to which a link leads. */
void php_hone_remove_locked(struct php_hone_shard *shard, uint32_t *link);

static inline bool
php_hone_expired(const struct php_hone_entry *entry, uint32_t now)
{
	return entry->expires != 0 && entry->expires <= now;
}

#endif
