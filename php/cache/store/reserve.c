/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block for an entry, and the rule for those who do not finish: store.h.
 */
#include <assert.h>
#include "arena.h"
#include "epoch.h"
#include "index.h"

/*
 * Bytes up to which the mutex is kept until the entry is published. To fill so
 * many takes less time than to take a mutex that others want.
 */
#define KEEP_LOCKED 32768
/* The part of a shard from which a value is large for it. */
#define LARGE 16

uint32_t
php_hone_expiry(const struct php_hone_store *store, uint32_t seconds)
{
	/* One more, since the second that has begun does not count. */
	uint64_t at = (uint64_t)php_hone_store_now(store) + seconds + 1;
	return at < UINT32_MAX ? (uint32_t)at : UINT32_MAX;
}

unsigned
php_hone_shard_of(const struct php_hone_store *store, uint32_t offset)
{
	unsigned i = 0;
	while (offset >= php_hone_shard_at(store, i)->end)
		i++;
	return i;
}

static size_t
align(size_t bytes)
{
	return (bytes + PHP_HONE_UNIT - 1) & ~(PHP_HONE_UNIT - 1);
}

static size_t
data_at(const struct php_hone_room *room)
{
	size_t tags = php_hone_tags_at(room->key->len) +
		      room->n_tags * sizeof(struct php_hone_tag);
	return align(tags);
}

/* Units of the block; 0: more than an arena has. In line, so that a store
 * computes data_at() once. */
static inline __attribute__((always_inline)) uint32_t
units_of(const struct php_hone_store *store, const struct php_hone_room *room)
{
	const struct php_hone_shard *shard = php_hone_shard_at(store, 0);
	size_t bytes;
	if (__builtin_add_overflow(data_at(room), room->data, &bytes) ||
		__builtin_add_overflow(bytes, room->extra, &bytes) ||
		bytes > (shard->end - shard->first) * PHP_HONE_UNIT ||
		room->data > UINT32_MAX || room->extra > UINT32_MAX)
		return 0;
	return (uint32_t)(align(bytes) / PHP_HONE_UNIT);
}

static void
fill(struct php_hone_store *store, struct php_hone_entry *entry,
	const struct php_hone_room *room, enum php_hone_kind kind)
{
	entry->hash = room->key->hash;
	entry->next = 0;
	entry->link = 0;
	entry->birth = 0;
	entry->retired = 0;
	entry->value[0] = entry->value[1] = 0;
	entry->created = php_hone_store_now(store);
	entry->expires = room->ttl != 0 ? php_hone_expiry(store, room->ttl) : 0;
	entry->key_len = (uint32_t)room->key->len;
	entry->data_at = (uint32_t)data_at(room);
	entry->data_size = (uint32_t)room->data;
	entry->data_extra = (uint32_t)room->extra;
	entry->kind = (uint8_t)kind;
	entry->flags = 0;
	entry->used = 0;
	entry->n_tags = (uint8_t)room->n_tags;
	entry->hits = 0;
	memset(entry->bytes, 0, PHP_HONE_KEY_HEAD);
	unsigned char *key = entry->bytes + PHP_HONE_KEY_HEAD;
	memcpy(key, room->key->bytes, room->key->len);
	key[room->key->len] = '\0';
}

struct php_hone_entry *
php_hone_reserve_locked(struct php_hone_member *member, unsigned i,
	const struct php_hone_room *room, enum php_hone_kind kind)
{
	struct php_hone_store *store = member->store;
	uint32_t units = units_of(store, room);
	if (units == 0)
		return NULL;
	struct php_hone_shard *shard = php_hone_shard_at(store, i);
	uint32_t offset = 0;
	if (!room->spare) {
		offset = php_hone_make_room(member, shard, units);
	} else {
		if (php_hone_reclaim_pays(shard))
			php_hone_reclaim_some(store, shard);
		if (shard->sums[PHP_HONE_FREE] >=
			(uint64_t)units + shard->reserve)
			offset = php_hone_arena_alloc(store, shard, units);
	}
	if (offset == 0)
		return NULL;
	struct php_hone_entry *entry = php_hone_entry_at(store, offset);
	fill(store, entry, room, kind);
	return entry;
}

/* Before the mutex of the key's shard: tags are in other shards. */
static int
generations(struct php_hone_member *member, const struct php_hone_room *room,
	struct php_hone_tag *tags)
{
	for (unsigned i = 0; i < room->n_tags; i++) {
		tags[i].hash = room->tags[i].hash;
		int error = php_hone_tag_generation(
			member, &room->tags[i], &tags[i].generation);
		if (error != 0)
			return error;
	}
	return 0;
}

static int
reserve(struct php_hone_member *member, const struct php_hone_room *room,
	const struct php_hone_tag *tags, struct php_hone_entry **entry)
{
	struct php_hone_store *store = member->store;
	unsigned i = php_hone_place(store, room->key->hash).shard;
	php_hone_lock(member, i);
	*entry = php_hone_reserve_locked(member, i, room, PHP_HONE_VALUE);
	if (*entry == NULL) {
		php_hone_unlock(member, i);
		return -ENOMEM;
	}
	if (room->n_tags != 0)
		memcpy(php_hone_entry_tags(*entry), tags,
			room->n_tags * sizeof *tags);
	member->reserved = *entry;
	if (room->data + room->extra <= KEEP_LOCKED)
		return 0;
	/* If this process dies, others find the block here. */
	php_hone_set32(&member->slot->reserved, php_hone_offset(store, *entry));
	php_hone_unlock(member, i);
	return 0;
}

int
php_hone_store_reserve(struct php_hone_member *member,
	const struct php_hone_room *room, struct php_hone_entry **entry)
{
	php_hone_settle(member);
	*entry = NULL;
	if (room->key->len > PHP_HONE_KEY_MOST || room->n_tags > UINT8_MAX)
		return -EINVAL;
	if (room->n_tags == 0) {
		/* Not counted before: a store counts the units once, and that
		 * is 30 of 1446 instructions. */
		int error = reserve(member, room, NULL, entry);
		return error < 0 && units_of(member->store, room) == 0 ? -EFBIG
								       : error;
	}
	/* A value that cannot be stored makes no tags. */
	if (units_of(member->store, room) == 0)
		return -EFBIG;
	struct php_hone_tag tags[UINT8_MAX];
	int error = generations(member, room, tags);
	return error != 0 ? error : reserve(member, room, tags, entry);
}

/* The mutex of the reservation, which is kept or taken again. */
static unsigned
lock_reserved(struct php_hone_member *member)
{
	unsigned i =
		php_hone_place(member->store, member->reserved->hash).shard;
	if ((member->locked & 1u << i) == 0)
		php_hone_lock(member, i);
	return i;
}

static void
free_reserved(struct php_hone_member *member, unsigned i)
{
	struct php_hone_store *store = member->store;
	uint32_t offset = php_hone_offset(store, member->reserved);
	member->reserved = NULL;
	/* First, so that nobody frees it again. */
	php_hone_set32(&member->slot->reserved, 0);
	php_hone_arena_free(store, php_hone_shard_at(store, i), offset);
	php_hone_unlock(member, i);
}

void
php_hone_store_cancel(
	struct php_hone_member *member, struct php_hone_entry *entry)
{
	assert(member->reserved == entry);
	(void)entry;
	free_reserved(member, lock_reserved(member));
}

/* Whether the entry to which a link leads counts as that of its key. */
static bool
valid(struct php_hone_member *member, const uint32_t *link)
{
	if (link == NULL)
		return false;
	const struct php_hone_entry *entry =
		php_hone_entry_at(member->store, php_hone_follow(link));
	return php_hone_entry_valid(member, entry);
}

/*
 * A value that is large for its shard was stored, and readers may have the one
 * before it. If they had both, the next one may not fit: look now, and not when
 * that one comes.
 */
static void
leave_room(struct php_hone_member *member, struct php_hone_shard *shard,
	uint32_t offset)
{
	struct php_hone_store *store = member->store;
	uint32_t units = php_hone_word_units(php_hone_block(store, offset));
	if (units < (shard->end - shard->first) / LARGE)
		return;
	php_hone_reclaim(store, shard);
	if (php_hone_much_is_held(shard))
		php_hone_hold_back_less(member, shard, units);
}

int
php_hone_store_publish(struct php_hone_member *member,
	struct php_hone_entry *entry, enum php_hone_publish how)
{
	assert(member->reserved == entry);
	struct php_hone_store *store = member->store;
	unsigned i = lock_reserved(member);
	struct php_hone_place place = php_hone_place(store, entry->hash);
	struct php_hone_key key = {(const char *)php_hone_entry_key(entry),
		entry->key_len, entry->hash};
	uint32_t *link =
		php_hone_link_of_key(store, place, &key, PHP_HONE_VALUE);
	if (how != PHP_HONE_STORE &&
		valid(member, link) != (how == PHP_HONE_REPLACE)) {
		free_reserved(member, i);
		return how == PHP_HONE_ADD ? -EEXIST : -ENOENT;
	}
	struct php_hone_shard *shard = php_hone_shard_at(store, i);
	php_hone_publish_locked(member, i, entry, link);
	member->reserved = NULL;
	uint32_t unlocked = php_hone_get32(&member->slot->reserved);
	php_hone_set32(&member->slot->reserved, 0);
	shard->stores++;
	if (unlocked != 0)
		leave_room(member, shard, unlocked);
	if (shard->n_claims != 0) {
		link = php_hone_link_of_key(store, place, &key, PHP_HONE_CLAIM);
		if (link != NULL) {
			php_hone_remove_locked(member, i, link);
			php_hone_claims_wake(shard);
		}
	}
	php_hone_unlock(member, i);
	return 0;
}
