/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A claim is an entry beside that of the key. It names the process that
 * computes the value: value[0] is the number of the process's slot, and
 * value[1] is the word `owner` of that slot.
 *
 * A process that waits has the hash of the key in its slot: from a claim, one
 * finds its owner, the claim for which that owner waits, and so on. All begin
 * to wait under the mutex of shard 0, so the last member of a circle finds all
 * of it, and does not wait. Keys of one hash count as one key: then a value may
 * be computed twice, or a wait ends by its time.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "epoch.h"
#include "index.h"

/* A process that dies wakes nobody. */
#define LOOK_EVERY_MS 50

void
php_hone_claims_wake(struct php_hone_shard *shard)
{
	__atomic_fetch_add(&shard->wakes, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shard->wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool
is_mine(const struct php_hone_member *member,
	const struct php_hone_entry *entry)
{
	return entry->value[0] ==
		       (uint64_t)(member->slot - member->store->slots) &&
	       entry->value[1] == php_hone_get64(&member->slot->owner);
}

/* Whether a claim stands: its time has not passed, and its process lives. */
static bool
stands(const struct php_hone_member *member, const struct php_hone_entry *entry)
{
	const struct php_hone_store *store = member->store;
	uint64_t slot = php_hone_get64(&entry->value[0]);
	return !php_hone_expired(entry, php_hone_store_now(store)) &&
	       php_hone_get64(&store->slots[slot].owner) == entry->value[1] &&
	       php_hone_owner_lives(entry->value[1]);
}

int
php_hone_store_claim(struct php_hone_member *member,
	const struct php_hone_key *key, uint32_t seconds)
{
	struct php_hone_store *store = member->store;
	struct php_hone_room room = {.key = key, .ttl = seconds};
	struct php_hone_found old;
	int result = -EBUSY;
	if (key->len > PHP_HONE_KEY_MOST)
		return -EINVAL;
	if (!php_hone_lock_key(member, key, PHP_HONE_CLAIM, &old))
		return -ETIMEDOUT;
	if (old.entry == NULL || is_mine(member, old.entry) ||
		!stands(member, old.entry)) {
		struct php_hone_entry *entry = php_hone_reserve_locked(
			member, old.shard, &room, PHP_HONE_CLAIM);
		result = -ENOMEM;
		if (entry != NULL) {
			entry->value[0] =
				(uint64_t)(member->slot - store->slots);
			entry->value[1] = php_hone_get64(&member->slot->owner);
			/* The reservation may have evicted the old claim. */
			php_hone_publish_locked(old.shard, entry,
				php_hone_link_of_key(
					store, key, PHP_HONE_CLAIM));
			result = 0;
		}
	}
	php_hone_unlock(old.shard);
	return result;
}

void
php_hone_store_unclaim(
	struct php_hone_member *member, const struct php_hone_key *key)
{
	struct php_hone_found found;
	/* The claim then ends by its time. */
	if (!php_hone_lock_key(member, key, PHP_HONE_CLAIM, &found))
		return;
	if (found.entry != NULL && is_mine(member, found.entry)) {
		php_hone_remove_locked(found.shard, found.link);
		php_hone_claims_wake(found.shard);
	}
	php_hone_unlock(found.shard);
}

/* Returns the slot whose owner has claimed a key of that hash, or NULL. */
static const struct php_hone_slot *
claimer(struct php_hone_member *member, uint64_t hash)
{
	const struct php_hone_store *store = member->store;
	struct php_hone_place place = php_hone_place(store, hash);
	const struct php_hone_slot *slot = NULL;
	php_hone_fetch_chain(member, place);
	const uint32_t *link = php_hone_bucket(store, place);
	for (uint32_t at; slot == NULL && (at = php_hone_follow(link)) != 0;) {
		const struct php_hone_entry *entry =
			php_hone_seen_at(store, at);
		if (entry->hash == hash && entry->kind == PHP_HONE_CLAIM &&
			stands(member, entry))
			slot = &store->slots[php_hone_get64(&entry->value[0])];
		link = &entry->next;
	}
	php_hone_fetch_end(member);
	return slot;
}

/* Whether the claims and their owners lead to the member itself. */
static bool
leads_back(struct php_hone_member *member, uint64_t hash)
{
	/* The steps are bounded, since claims begin and end during the search.
	 */
	for (uint32_t i = 0; i < member->store->n_slots && hash != 0; i++) {
		const struct php_hone_slot *slot = claimer(member, hash);
		if (slot == member->slot)
			return true;
		hash = slot == NULL ? 0 : php_hone_get64(&slot->waits);
	}
	return false;
}

static bool
is_claimed(struct php_hone_member *member, const struct php_hone_key *key)
{
	const struct php_hone_entry *entry =
		php_hone_lookup(member, key, PHP_HONE_CLAIM);
	bool claimed = entry != NULL && stands(member, entry);
	php_hone_fetch_end(member);
	return claimed;
}

int64_t
php_hone_store_milliseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int
wait_for(struct php_hone_member *member, const struct php_hone_key *key,
	unsigned timeout)
{
	struct php_hone_store *store = member->store;
	struct php_hone_shard *shard = php_hone_shard_of(store, key->hash);
	int64_t end = php_hone_store_milliseconds() + timeout;
	for (;;) {
		/* Load this before the look: if the claim ends after the look,
		 * the futex does not wait. */
		uint32_t wakes =
			__atomic_load_n(&shard->wakes, __ATOMIC_ACQUIRE);
		if (!is_claimed(member, key))
			return 0;
		int64_t left = end - php_hone_store_milliseconds();
		if (left <= 0)
			return -ETIMEDOUT;
		if (left > LOOK_EVERY_MS)
			left = LOOK_EVERY_MS;
		struct timespec t = {0, left * 1000000};
		syscall(SYS_futex, &shard->wakes, FUTEX_WAIT, wakes, &t, NULL,
			0);
	}
}

int
php_hone_store_wait(struct php_hone_member *member,
	const struct php_hone_key *key, unsigned timeout)
{
	struct php_hone_shard *first = &member->store->shards[0];
	php_hone_settle(member);
	if (!php_hone_lock(member, first))
		return -ETIMEDOUT;
	bool circle = leads_back(member, key->hash);
	if (!circle)
		php_hone_set64(&member->slot->waits, key->hash);
	php_hone_unlock(first);
	if (circle)
		return -EDEADLK;
	int result = wait_for(member, key, timeout);
	php_hone_set64(&member->slot->waits, 0);
	return result;
}
