/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tags. A tag is an entry with a generation. An entry remembers the hash and
 * the generation of each of its tags, and is valid while there are entries of
 * tags with these. Each generation is used once, so that it alone names a tag:
 * two tags of one hash do no harm, and a tag that was evicted and made anew
 * does not make old entries valid.
 */
#include "epoch.h"
#include "index.h"

/* A new tag is not evicted in the first turns: its entries would be lost. */
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
			if (__atomic_load_n(&entry->used, __ATOMIC_RELAXED) !=
				USED_MOST)
				__atomic_store_n(&entry->used, USED_MOST,
					__ATOMIC_RELAXED);
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
	uint64_t was = php_hone_fetch_widen(member);
	const struct php_hone_tag *tags = php_hone_entry_tags(entry);
	bool valid = true;
	for (unsigned i = 0; valid && i < entry->n_tags; i++)
		valid = find(member->store, &tags[i]) != NULL;
	php_hone_fetch_back(member, was);
	return valid;
}

bool
php_hone_store_tag(struct php_hone_member *member,
	const struct php_hone_entry *entry, unsigned i,
	struct php_hone_key *name)
{
	php_hone_fetch_widen(member);
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
	struct php_hone_store *store = member->store;
	struct php_hone_place place = php_hone_place(store, tag->hash);
	int result = 0;
	php_hone_lock(member, place.shard);
	uint32_t *link = php_hone_link_of_key(store, place, tag, PHP_HONE_TAG);
	if (link != NULL) {
		*generation = php_hone_get64(
			&php_hone_entry_at(store, php_hone_follow(link))
				 ->value[0]);
	} else {
		struct php_hone_room room = {.key = tag};
		struct php_hone_entry *entry = php_hone_reserve_locked(
			member, place.shard, &room, PHP_HONE_TAG);
		if (entry != NULL) {
			*generation = new_generation(store);
			entry->value[0] = *generation;
			entry->used = USED_MOST;
			php_hone_publish_locked(
				member, place.shard, entry, NULL);
		} else {
			result = -ENOMEM;
		}
	}
	php_hone_unlock(member, place.shard);
	return result;
}

int
php_hone_tag_generation(struct php_hone_member *member,
	const struct php_hone_key *tag, uint64_t *generation)
{
	if (tag->len > PHP_HONE_KEY_MOST)
		return -EINVAL;
	uint32_t offset = 0;
	php_hone_fetch_begin(member);
	const struct php_hone_entry *entry =
		php_hone_look_up(member, tag, PHP_HONE_TAG, &offset);
	if (entry != NULL)
		*generation = php_hone_get64(&entry->value[0]);
	php_hone_fetch_end(member);
	return entry != NULL ? 0 : make(member, tag, generation);
}

int
php_hone_store_invalidate_tag(
	struct php_hone_member *member, const struct php_hone_key *tag)
{
	struct php_hone_store *store = member->store;
	if (tag->len > PHP_HONE_KEY_MOST)
		return -EINVAL;
	php_hone_settle(member);
	struct php_hone_place place = php_hone_place(store, tag->hash);
	php_hone_lock(member, place.shard);
	uint32_t *link = php_hone_link_of_key(store, place, tag, PHP_HONE_TAG);
	if (link != NULL)
		php_hone_set64(&php_hone_entry_at(store, php_hone_follow(link))
					->value[0],
			new_generation(store));
	php_hone_unlock(member, place.shard);
	return 0;
}
