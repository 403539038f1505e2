/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_STORE_EPOCH_H
#define PHP_HONE_STORE_EPOCH_H
/*
 * Which retired entries a reader may have: docs/design/cache.md, "Epochs".
 */
#include "index.h"

/* Values of php_hone_slot.busy; others are php_hone_busy_bucket(). */
#define PHP_HONE_IDLE 0
#define PHP_HONE_ANYWHERE 1

static inline uint64_t
php_hone_busy_bucket(struct php_hone_place place)
{
	return ((uint64_t)place.shard << 32 | place.bucket) + 2;
}

/* The bit of an entry in php_hone_slot.held. */
static inline unsigned
php_hone_region_of(const struct php_hone_store *store, uint32_t offset)
{
	return (unsigned)(offset * store->recip >> 32);
}

/* What one look at the slots has found. */
#define PHP_HONE_BUSY_MOST 16
#define PHP_HONE_CLOSED_MOST 16
struct php_hone_readers {
	/* No reader has an entry that retired before this epoch. */
	uint64_t min_pin;
	/* Fetches in progress: the bucket, and an epoch. The fetch finds no
	 * entry that retired before it. */
	uint64_t busy[PHP_HONE_BUSY_MOST], since[PHP_HONE_BUSY_MOST];
	/* The least such epoch of the fetches that may look anywhere.
	 * UINT64_MAX if there is none. */
	uint64_t anywhere;
	/* Regions in which open slots found entries. */
	uint64_t held[PHP_HONE_HELD_WORDS];
	uint32_t n_busy, n_closed;
	/* Regions in which a closed slot found entries that were born at `end`
	 * or before. The last element also has the slots for which there is no
	 * room. */
	struct php_hone_closed {
		uint64_t end;
		uint64_t held[PHP_HONE_HELD_WORDS];
	} closed[PHP_HONE_CLOSED_MOST];
};

/* Count a removal. The entry was unlinked before. Returns the epoch of the
 * retirement. */
uint64_t php_hone_epoch_retire(struct php_hone_store *store);
uint64_t php_hone_epoch_now(const struct php_hone_store *store);

/* Look at all slots. php_hone_readers_have() is exact for entries that were
 * unlinked before the look. For a live entry, it is an estimate. */
void php_hone_readers_look(
	const struct php_hone_store *store, struct php_hone_readers *readers);
/* The same of one slot: min_pin is UINT64_MAX if it has neither a pin nor a
 * fetch. */
void php_hone_readers_look_at(const struct php_hone_store *store, uint32_t slot,
	struct php_hone_readers *readers);
/* A hash of what the slots announce and of `with`. */
uint64_t php_hone_readers_sum(
	const struct php_hone_store *store, uint64_t with);
/* Whether a reader may have that entry, retired at that epoch. */
bool php_hone_readers_have(const struct php_hone_store *store,
	const struct php_hone_readers *readers,
	const struct php_hone_entry *entry, uint64_t retired);
/* Whether an open slot has found an entry in the region of that one. */
bool php_hone_readers_hold(const struct php_hone_store *store,
	const struct php_hone_readers *readers,
	const struct php_hone_entry *entry);

/* Seconds after which a pin is closed if memory is short. */
#define PHP_HONE_CLOSE_AFTER 1
/* Close the slots that were pinned for that many seconds or more. */
void php_hone_readers_close(struct php_hone_store *store, uint32_t seconds);

/* Close all slots, and those of the requests that begin in the next minute:
 * they copy what they fetch. For when stores find no room, or soon would not.
 */
void php_hone_readers_keep_nothing(struct php_hone_store *store);

/* php_hone_fetch_begin() of a fetch that looks at one chain. */
void php_hone_fetch_chain(
	struct php_hone_member *member, struct php_hone_place place);
/* Keep an entry that was found until the last unpin, if the slot is open. */
void php_hone_fetch_keep(
	struct php_hone_member *member, const struct php_hone_entry *entry);

#endif
