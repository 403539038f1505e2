/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing: reserve a block, publish an entry, change and remove entries; tags.
 */
#include <assert.h>
#include <time.h>
#include "arena.h"
#include "epoch.h"
#include "index.h"

/* ---- reserve and publish ---- */

/* Up to so many bytes, the mutex is kept until the entry is published: to fill
 * them takes less time than to take a mutex that others want. */
#define KEEP_LOCKED 32768
/* A store that finds no room waits so often, and each time so long. A member
 * that has waited in vain does not wait again in the same 1/16 second. */
#define REQUEST_WAITS 20
#define REQUEST_NS 1000000

/* The second at which what lives for so many seconds has expired. */
static uint32_t
expiry(uint32_t created, uint32_t seconds)
{
	/* One second more, since the present second has begun before. */
	uint64_t at = (uint64_t)created + seconds + 1;
	return at < UINT32_MAX ? (uint32_t)at : UINT32_MAX;
}

static size_t
align(size_t bytes)
{
	return (bytes + PHP_HONE_UNIT - 1) & ~(PHP_HONE_UNIT - 1);
}

size_t
php_hone_store_others(size_t key_len, unsigned n_tags)
{
	return php_hone_tags_at(key_len) + n_tags * sizeof(struct php_hone_tag);
}

static size_t
data_at(const struct php_hone_room *room)
{
	size_t others = php_hone_store_others(room->key->len, room->n_tags);
	return room->cold ? others : align(others);
}

/* Returns 0 if an arena has fewer. Inlined, so that a store computes data_at()
 * once. */
static inline __attribute__((always_inline)) uint32_t
units_of(const struct php_hone_store *store, const struct php_hone_room *room)
{
	size_t bytes;
	if (__builtin_add_overflow(data_at(room), room->data, &bytes) ||
		bytes > php_hone_units_of(&store->shards[0]) * PHP_HONE_UNIT ||
		room->data > UINT32_MAX)
		return 0;
	return (uint32_t)(align(bytes) / PHP_HONE_UNIT);
}

static void
fill(struct php_hone_store *store, struct php_hone_entry *entry,
	const struct php_hone_room *room, enum php_hone_kind kind)
{
	/* All but the word of the block. */
	memset(&entry->hash, 0,
		offsetof(struct php_hone_entry, bytes) + PHP_HONE_KEY_HEAD -
			offsetof(struct php_hone_entry, hash));
	entry->hash = room->key->hash;
	entry->created = php_hone_store_now(store);
	entry->expires = room->ttl != 0 ? expiry(entry->created, room->ttl) : 0;
	entry->key_len = (uint32_t)room->key->len;
	entry->data_at = (uint32_t)data_at(room);
	entry->data_size = (uint32_t)room->data;
	entry->kind = (uint8_t)kind;
	entry->n_tags = (uint8_t)room->n_tags;
	/* A later reader cannot compute this from `created`: two clocks begin
	 * their seconds at two moments, and one of them may be set. */
	entry->date = (uint32_t)time(NULL);
	unsigned char *key = entry->bytes + PHP_HONE_KEY_HEAD;
	memcpy(key, room->key->bytes, room->key->len);
	key[room->key->len] = '\0';
}

bool
php_hone_store_presses(const struct php_hone_member *member, uint64_t hash)
{
	return php_hone_get32(
		       &php_hone_shard_of(member->store, hash)->presses) != 0;
}

struct php_hone_entry *
php_hone_reserve_locked(struct php_hone_member *member,
	struct php_hone_shard *shard, const struct php_hone_room *room,
	enum php_hone_kind kind)
{
	struct php_hone_store *store = member->store;
	uint32_t units = units_of(store, room), offset = 0;
	if (units == 0)
		return NULL;
	if (!room->spare) {
		offset = php_hone_make_room(member, shard, units);
	} else {
		php_hone_reclaim_first(member, shard, units);
		if (shard->sums[PHP_HONE_FREE] >=
			(uint64_t)units + php_hone_reserve_of(shard))
			offset = php_hone_arena_alloc(shard, units);
	}
	if (offset == 0)
		return NULL;
	struct php_hone_entry *entry = php_hone_entry_at(store, offset);
	fill(store, entry, room, kind);
	return entry;
}

/* The generation of a tag, which is made if there is none. */
static int tag_generation(struct php_hone_member *member,
	const struct php_hone_key *tag, uint64_t *generation);

/* There is no room until requests end that hold back memory. Waits for them
 * without the mutex: they may need it. Returns with the mutex, or an error. */
static __attribute__((noinline, cold)) int
reserve_patiently(struct php_hone_member *member, struct php_hone_shard *shard,
	const struct php_hone_room *room, struct php_hone_entry **entry)
{
	const struct timespec pause = {.tv_nsec = REQUEST_NS};
	bool waits = units_of(member->store, room) != 0 && !room->spare &&
		     member->waited_at != php_hone_store_tick();
	for (unsigned n = 0; waits && n < REQUEST_WAITS; n++) {
		php_hone_unlock(shard);
		nanosleep(&pause, NULL);
		if (!php_hone_lock(member, shard))
			return -ETIMEDOUT;
		*entry = php_hone_reserve_locked(
			member, shard, room, PHP_HONE_VALUE);
		if (*entry != NULL)
			return 0;
	}
	if (waits)
		member->waited_at = php_hone_store_tick();
	php_hone_unlock(shard);
	return -ENOMEM;
}

/* The mutex is given back if the data are large. */
static inline __attribute__((always_inline)) void
keep_reserved(struct php_hone_member *member, struct php_hone_shard *shard,
	struct php_hone_entry *entry)
{
	member->reserved = entry;
	if (entry->data_size <= KEEP_LOCKED)
		return;
	/* If this process dies, others find the block here. */
	php_hone_set32(
		&member->slot->reserved, php_hone_offset(member->store, entry));
	php_hone_unlock(shard);
}

static int
reserve(struct php_hone_member *member, const struct php_hone_room *room,
	const struct php_hone_tag *tags, struct php_hone_entry **entry)
{
	struct php_hone_shard *shard =
		php_hone_shard_of(member->store, room->key->hash);
	if (!php_hone_lock(member, shard))
		return -ETIMEDOUT;
	*entry = php_hone_reserve_locked(member, shard, room, PHP_HONE_VALUE);
	if (__builtin_expect(*entry == NULL, 0)) {
		int error = reserve_patiently(member, shard, room, entry);
		if (error != 0)
			return error;
	}
	if (room->n_tags != 0)
		memcpy(php_hone_entry_tags(*entry), tags,
			room->n_tags * sizeof *tags);
	keep_reserved(member, shard, *entry);
	return 0;
}

int
php_hone_store_reserve(struct php_hone_member *member,
	const struct php_hone_room *room, struct php_hone_entry **entry)
{
	php_hone_settle(member);
	*entry = NULL;
	if (member->reserved != NULL)
		return -ETIMEDOUT;
	if (room->key->len > PHP_HONE_KEY_MOST || room->n_tags > UINT8_MAX)
		return -EINVAL;
	/* Checked first: a value that cannot be stored makes no tags. Without
	 * tags, a second count would take 30 of 1446 instructions of a store.
	 */
	if (room->n_tags != 0 && units_of(member->store, room) == 0)
		return -EFBIG;
	struct php_hone_tag tags[UINT8_MAX];
	int error = 0;
	/* Without the mutex of the key: tags are in other shards. */
	for (unsigned i = 0; i < room->n_tags && error == 0; i++) {
		tags[i].hash = room->tags[i].hash;
		error = tag_generation(
			member, &room->tags[i], &tags[i].generation);
	}
	if (error == 0)
		error = reserve(member, room, tags, entry);
	return error == -ENOMEM && units_of(member->store, room) == 0 ? -EFBIG
								      : error;
}

/* The shard of the reservation, with its mutex; or NULL. */
static struct php_hone_shard *
lock_reserved(struct php_hone_member *member)
{
	struct php_hone_shard *shard =
		php_hone_shard_of(member->store, member->reserved->hash);
	bool kept = php_hone_get32(&member->slot->reserved) == 0;
	return kept || php_hone_lock(member, shard) ? shard : NULL;
}

/* The reservation was published, or is freed. */
static void
end_reserved(struct php_hone_member *member)
{
	member->reserved = NULL;
	php_hone_set32(&member->slot->reserved, 0);
}

static void
free_reserved(struct php_hone_member *member, struct php_hone_shard *shard)
{
	uint32_t offset = php_hone_offset(member->store, member->reserved);
	/* First, so that nobody frees the block again. */
	end_reserved(member);
	php_hone_arena_free(shard, offset);
	php_hone_unlock(shard);
}

void
php_hone_store_cancel(
	struct php_hone_member *member, struct php_hone_entry *entry)
{
	assert(member->reserved == entry);
	(void)entry;
	struct php_hone_shard *shard = lock_reserved(member);
	/* If this fails, the next php_hone_settle() tries again. */
	if (shard != NULL)
		free_reserved(member, shard);
}

/* Whether a link leads to an entry that has not expired, and has valid tags. */
static bool
valid(struct php_hone_member *member, const uint32_t *link)
{
	if (link == NULL)
		return false;
	const struct php_hone_entry *entry =
		php_hone_linked(member->store, link);
	return !php_hone_expired(entry, php_hone_store_now(member->store)) &&
	       (entry->n_tags == 0 || php_hone_tags_valid(member, entry));
}

int
php_hone_store_publish(struct php_hone_member *member,
	struct php_hone_entry *entry, enum php_hone_publish how)
{
	assert(member->reserved == entry);
	struct php_hone_store *store = member->store;
	struct php_hone_shard *shard = lock_reserved(member);
	if (shard == NULL)
		return -ETIMEDOUT;
	struct php_hone_key key = {(const char *)php_hone_entry_key(entry),
		entry->key_len, entry->hash};
	uint32_t *link = php_hone_link_of_key(store, &key, PHP_HONE_VALUE);
	if (how != PHP_HONE_STORE &&
		valid(member, link) != (how == PHP_HONE_REPLACE)) {
		free_reserved(member, shard);
		return how == PHP_HONE_ADD ? -EEXIST : -ENOENT;
	}
	php_hone_publish_locked(shard, entry, link);
	end_reserved(member);
	shard->stores++;
	if (shard->n_claims != 0) {
		link = php_hone_link_of_key(store, &key, PHP_HONE_CLAIM);
		if (link != NULL) {
			php_hone_remove_locked(shard, link);
			php_hone_claims_wake(shard);
		}
	}
	php_hone_unlock(shard);
	return 0;
}

/* ---- the other form of an entry ---- */

static bool
may_be_warm(const struct php_hone_shard *shard, uint32_t units)
{
	return shard->sums[PHP_HONE_FREE] >=
		       units + php_hone_reserve_of(shard) / 2 &&
	       (shard->presses == 0 || shard->form_units[0] + units <=
					       php_hone_warm_most(shard));
}

static void
take_after(struct php_hone_entry *twin, const struct php_hone_entry *of)
{
	twin->created = of->created;
	twin->expires = of->expires;
	twin->date = of->date;
	twin->used = php_hone_use_of(of);
	twin->hits = php_hone_get32(&of->hits);
	twin->flags = of->flags ^ PHP_HONE_COLD;
	memcpy(twin->bytes, of->bytes, PHP_HONE_KEY_HEAD);
	memcpy(php_hone_entry_tags(twin), php_hone_entry_tags(of),
		of->n_tags * sizeof(struct php_hone_tag));
}

/* The link to an entry that a reader sees, or NULL if it was removed. */
static uint32_t *
link_of(const struct php_hone_store *store, const struct php_hone_entry *seen)
{
	return php_hone_link_of(
		store, seen->hash, php_hone_seen_offset(store, seen));
}

struct php_hone_entry *
php_hone_store_reserve_twin(struct php_hone_member *member,
	const struct php_hone_entry *of, size_t data, bool cold)
{
	struct php_hone_store *store = member->store;
	struct php_hone_key key = {
		(const char *)php_hone_entry_key(of), of->key_len, of->hash};
	struct php_hone_room room = {
		.data = data, .key = &key, .n_tags = of->n_tags, .cold = cold};
	struct php_hone_shard *shard = php_hone_shard_of(store, of->hash);
	uint32_t units = units_of(store, &room), offset = 0;
	if (cold)
		member->in_vain = member->pack_pause = 0;
	php_hone_settle(member);
	if (units == 0 || member->reserved != NULL ||
		!php_hone_trylock(member, shard))
		return NULL;
	php_hone_reclaim_first(member, shard, units);
	if ((cold || may_be_warm(shard, units)) && link_of(store, of) != NULL)
		offset = php_hone_arena_alloc(shard, units);
	if (offset == 0) {
		php_hone_unlock(shard);
		return NULL;
	}
	struct php_hone_entry *twin = php_hone_entry_at(store, offset);
	fill(store, twin, &room, PHP_HONE_VALUE);
	take_after(twin, of);
	keep_reserved(member, shard, twin);
	return twin;
}

void
php_hone_store_publish_twin(struct php_hone_member *member,
	struct php_hone_entry *twin, const struct php_hone_entry *of)
{
	assert(member->reserved == twin);
	struct php_hone_shard *shard = lock_reserved(member);
	if (shard == NULL)
		return;
	uint32_t *link = link_of(member->store, of);
	if (link == NULL) {
		free_reserved(member, shard);
		return;
	}
	php_hone_publish_locked(shard, twin, link);
	end_reserved(member);
	shard->warmed += !php_hone_is_cold(twin);
	php_hone_unlock(shard);
}

/* ---- link, change and unlink ---- */

/* Evicts the least used entry of a full chain; of several, the oldest. A claim
 * that stands is not evicted, since it ends by itself. */
static __attribute__((noinline, cold)) void
evict_from_chain(struct php_hone_shard *shard, uint32_t *link)
{
	uint32_t now = php_hone_store_now(shard->store);
	uint32_t *victim = NULL;
	uint8_t least = UINT8_MAX;
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		struct php_hone_entry *entry =
			php_hone_entry_at(shard->store, at);
		uint8_t used = php_hone_use_of(entry);
		if (used <= least && (entry->kind != PHP_HONE_CLAIM ||
					     php_hone_expired(entry, now))) {
			least = used;
			victim = link;
		}
		link = &entry->next;
	}
	if (victim == NULL)
		return;
	php_hone_remove_locked(shard, victim);
	shard->evictions++;
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
php_hone_publish_locked(struct php_hone_shard *shard,
	struct php_hone_entry *entry, uint32_t *link)
{
	struct php_hone_store *store = shard->store;
	uint32_t offset = php_hone_offset(store, entry), old = 0;
	/* Read before the link: the birth is not later than the epoch at which
	 * a reader finds the entry. */
	entry->birth = php_hone_epoch_now(store);
	if (link != NULL) {
		old = php_hone_follow(link);
		struct php_hone_entry *before = php_hone_entry_at(store, old);
		entry->next = before->next;
		/* Readers that raised the counter of the old entry need not
		 * raise that of the new one. */
		php_hone_set_use(entry, php_hone_use_of(before));
		php_hone_will_retire(before);
	} else {
		link = php_hone_bucket(
			store, php_hone_place(store, entry->hash));
		if (is_full(store, php_hone_follow(link)))
			evict_from_chain(shard, link);
		entry->next = php_hone_follow(link);
	}
	php_hone_block_become(shard, offset, PHP_HONE_LIVE);
	php_hone_link(link, offset);
	shard->entries++;
	php_hone_count_form(shard, entry, 1);
	if (__builtin_expect(php_hone_is_cold(entry), 0))
		shard->packed++;
	if (entry->kind == PHP_HONE_CLAIM)
		shard->n_claims++;
	if (entry->expires != 0 && entry->expires < shard->min_expires)
		shard->min_expires = entry->expires;
	if (old != 0)
		php_hone_retire(shard, old);
}

void
php_hone_remove_locked(struct php_hone_shard *shard, uint32_t *link)
{
	uint32_t offset = php_hone_follow(link);
	struct php_hone_entry *entry = php_hone_entry_at(shard->store, offset);
	php_hone_will_retire(entry);
	php_hone_link(link, entry->next);
	php_hone_retire(shard, offset);
}

bool
php_hone_lock_key(struct php_hone_member *member,
	const struct php_hone_key *key, enum php_hone_kind kind,
	struct php_hone_found *found)
{
	struct php_hone_store *store = member->store;
	php_hone_settle(member);
	found->shard = php_hone_shard_of(store, key->hash);
	if (!php_hone_lock(member, found->shard))
		return false;
	found->link = php_hone_link_of_key(store, key, kind);
	found->entry = found->link != NULL ? php_hone_linked(store, found->link)
					   : NULL;
	return true;
}

static void
remove_and_unlock(struct php_hone_shard *shard, uint32_t *link)
{
	if (link != NULL) {
		php_hone_remove_locked(shard, link);
		if (php_hone_reclaim_pays(shard))
			php_hone_reclaim_some(shard);
	}
	php_hone_unlock(shard);
}

int
php_hone_store_delete(
	struct php_hone_member *member, const struct php_hone_key *key)
{
	struct php_hone_found found;
	if (!php_hone_lock_key(member, key, PHP_HONE_VALUE, &found))
		return -ETIMEDOUT;
	bool counts = valid(member, found.link);
	remove_and_unlock(found.shard, found.link);
	return counts ? 0 : -ENOENT;
}

int
php_hone_store_delete_entry(
	struct php_hone_member *member, const struct php_hone_entry *entry)
{
	struct php_hone_shard *shard =
		php_hone_shard_of(member->store, entry->hash);
	php_hone_settle(member);
	if (!php_hone_lock(member, shard))
		return -ETIMEDOUT;
	uint32_t *link = link_of(member->store, entry);
	remove_and_unlock(shard, link);
	return link != NULL ? 0 : -ENOENT;
}

int
php_hone_store_change(struct php_hone_member *member,
	const struct php_hone_key *key, struct php_hone_change *change)
{
	struct php_hone_found found;
	if (!php_hone_lock_key(member, key, PHP_HONE_VALUE, &found))
		return -ETIMEDOUT;
	struct php_hone_entry *entry = found.entry;
	int result = 0;
	if (entry == NULL || !valid(member, found.link)) {
		result = -ENOENT;
	} else if ((uint8_t)entry->value[1] != change->type ||
		   entry->flags != 0 ||
		   (change->compare && entry->value[0] != change->old)) {
		result = -ECANCELED;
	} else {
		change->result = change->by;
		if (!change->compare)
			change->result += entry->value[0];
		__atomic_store_n(
			&entry->value[0], change->result, __ATOMIC_RELEASE);
	}
	php_hone_unlock(found.shard);
	return result;
}

static void
clear_shard(struct php_hone_shard *shard)
{
	struct php_hone_store *store = shard->store;
	struct php_hone_place place = {(unsigned)(shard - store->shards), 0};
	for (; place.bucket <= store->bucket_mask; place.bucket++) {
		uint32_t *link = php_hone_bucket(store, place);
		while (php_hone_follow(link) != 0)
			php_hone_remove_locked(shard, link);
	}
	php_hone_reclaim_all(shard);
	php_hone_arena_drain(shard);
	php_hone_claims_wake(shard);
}

int
php_hone_store_clear(struct php_hone_member *member)
{
	struct php_hone_store *store = member->store;
	int result = 0;
	php_hone_settle(member);
	for (unsigned i = 0; i < store->n_shards; i++) {
		struct php_hone_shard *shard = &store->shards[i];
		if (!php_hone_lock(member, shard)) {
			result = -ETIMEDOUT;
			continue;
		}
		clear_shard(shard);
		php_hone_unlock(shard);
	}
	uint64_t hits = 0;
	uint64_t misses = 0;
	for (uint32_t i = 0; i < store->n_slots; i++) {
		hits += php_hone_get64(&store->slots[i].hits);
		misses += php_hone_get64(&store->slots[i].misses);
	}
	php_hone_set64(&store->region->hits_before, hits);
	php_hone_set64(&store->region->misses_before, misses);
	php_hone_set64(&store->region->cold_hits, 0);
	__atomic_store_n(
		&store->region->start, (int64_t)time(NULL), __ATOMIC_RELAXED);
	return result;
}

/* ---- tags ---- */

/*
 * A tag is an entry with a generation, which is used once. An entry stores the
 * hash and the generation of each of its tags, and is valid while tags with
 * these generations exist. So two tags of one hash do no harm, and a tag that
 * was evicted and made anew does not make old entries valid.
 */

/* The count of a new tag: without the tag, its entries would be lost. */
#define USED_MOST 3

static const struct php_hone_entry *
find(struct php_hone_store *store, const struct php_hone_tag *tag)
{
	const uint32_t *link =
		php_hone_bucket(store, php_hone_place(store, tag->hash));
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		struct php_hone_entry *entry = php_hone_entry_at(store, at);
		if (entry->kind == PHP_HONE_TAG && entry->hash == tag->hash &&
			php_hone_get64(&entry->value[0]) == tag->generation) {
			if (php_hone_use_of(entry) != USED_MOST)
				php_hone_set_use(entry, USED_MOST);
			return entry;
		}
		link = &entry->next;
	}
	return NULL;
}

bool
php_hone_tags_valid(
	struct php_hone_member *member, const struct php_hone_entry *entry)
{
	const struct php_hone_tag *tags = php_hone_entry_tags(entry);
	bool valid = true;
	php_hone_fetch_begin(member);
	for (unsigned i = 0; valid && i < entry->n_tags; i++)
		valid = find(member->store, &tags[i]) != NULL;
	php_hone_fetch_end(member);
	return valid;
}

bool
php_hone_store_tag(struct php_hone_member *member,
	const struct php_hone_entry *entry, unsigned i,
	struct php_hone_key *name)
{
	const struct php_hone_entry *tag =
		find(member->store, &php_hone_entry_tags(entry)[i]);
	if (tag == NULL)
		return false;
	name->bytes = (const char *)php_hone_entry_key(tag);
	name->len = tag->key_len;
	name->hash = tag->hash;
	return true;
}

static uint64_t
new_generation(struct php_hone_store *store)
{
	return __atomic_add_fetch(
		&store->region->generation, 1, __ATOMIC_RELAXED);
}

static int
make(struct php_hone_member *member, const struct php_hone_key *tag,
	uint64_t *generation)
{
	struct php_hone_room room = {.key = tag};
	struct php_hone_found found;
	if (!php_hone_lock_key(member, tag, PHP_HONE_TAG, &found))
		return -ETIMEDOUT;
	struct php_hone_entry *entry = found.entry;
	if (entry == NULL) {
		entry = php_hone_reserve_locked(
			member, found.shard, &room, PHP_HONE_TAG);
		if (entry != NULL) {
			entry->value[0] = new_generation(member->store);
			entry->used = USED_MOST;
			php_hone_publish_locked(found.shard, entry, NULL);
		}
	}
	if (entry != NULL)
		*generation = php_hone_get64(&entry->value[0]);
	php_hone_unlock(found.shard);
	return entry != NULL ? 0 : -ENOMEM;
}

static int
tag_generation(struct php_hone_member *member, const struct php_hone_key *tag,
	uint64_t *generation)
{
	if (tag->len > PHP_HONE_KEY_MOST)
		return -EINVAL;
	const struct php_hone_entry *entry =
		php_hone_lookup(member, tag, PHP_HONE_TAG);
	if (entry != NULL)
		*generation = php_hone_get64(&entry->value[0]);
	php_hone_fetch_end(member);
	return entry != NULL ? 0 : make(member, tag, generation);
}

int
php_hone_store_invalidate_tag(
	struct php_hone_member *member, const struct php_hone_key *tag)
{
	struct php_hone_found found;
	if (tag->len > PHP_HONE_KEY_MOST)
		return -EINVAL;
	if (!php_hone_lock_key(member, tag, PHP_HONE_TAG, &found))
		return -ETIMEDOUT;
	if (found.entry != NULL)
		php_hone_set64(
			&found.entry->value[0], new_generation(member->store));
	php_hone_unlock(found.shard);
	return 0;
}
