/* SPDX-License-Identifier: BSD-3-Clause */
/* All keys, a batch at a time, so that the memory for them is bounded. */
#include "../cache.h"

static const char *
key_of_entry(const struct php_hone_entry *entry)
{
	return (const char *)entry->bytes + PHP_HONE_KEY_HEAD;
}

static bool
begins_with(const struct php_hone_entry *entry, const zend_string *prefix)
{
	return entry->key_len >= ZSTR_LEN(prefix) &&
	       memcmp(key_of_entry(entry), ZSTR_VAL(prefix),
		       ZSTR_LEN(prefix)) == 0;
}

static void
describe(const struct php_hone_entry *entry, struct php_hone_item *item)
{
	size_t size = (size_t)entry->data_at + entry->data_size;

	item->size = (size + PHP_HONE_VALUE_ALIGN - 1) &
		     ~(size_t)(PHP_HONE_VALUE_ALIGN - 1);
	item->hits = __atomic_load_n(&entry->hits, __ATOMIC_RELAXED);
	item->created = (zend_long)entry->date;
	/* The store rounds up: a value lives at least for its lifetime. */
	item->ttl =
		entry->expires != 0 ? entry->expires - entry->created - 1 : 0;
	item->expires = item->ttl != 0 ? item->created + item->ttl : 0;
	item->type = (uint8_t)entry->value[1];
	item->flags = entry->flags & (uint8_t)~PHP_HONE_COLD;
	item->n_tags = entry->n_tags;
}

static void
free_items(struct php_hone_walk *walk)
{
	for (uint32_t i = 0; i < walk->n; i++)
		zend_string_release(walk->items[i].key);
	if (walk->items != NULL)
		efree(walk->items);
	walk->items = NULL;
	walk->n = 0;
	walk->at = 0;
}

void
php_hone_walk_reset(struct php_hone_walk *walk)
{
	free_items(walk);
	walk->cursor = 0;
}

struct gather {
	struct php_hone_walk *walk;
	zend_string *prefix; /* NULL: every key */
	uint32_t room;
};

/* Called without a mutex; also after it returned false, for the rest of the
 * bucket. */
static bool
gather(const struct php_hone_entry *entry, void *opaque)
{
	struct gather *into = opaque;
	struct php_hone_walk *walk = into->walk;

	if (into->prefix != NULL && !begins_with(entry, into->prefix))
		return true;
	if (walk->n == into->room) {
		into->room =
			into->room == 0 ? PHP_HONE_WALK_BATCH : into->room * 2;
		walk->items = safe_erealloc(
			walk->items, into->room, sizeof *walk->items, 0);
	}
	walk->items[walk->n].key =
		zend_string_init(key_of_entry(entry), entry->key_len, 0);
	describe(entry, &walk->items[walk->n]);
	return ++walk->n < PHP_HONE_WALK_BATCH;
}

bool
php_hone_walk_batch(struct php_hone_walk *walk, zend_string *prefix)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct gather into = {.walk = walk, .prefix = prefix};

	free_items(walk);
	if (member == NULL || walk->cursor == UINT64_MAX)
		return false;
	php_hone_store_walk(member, &walk->cursor, gather, &into);
	return walk->n > 0;
}

bool
php_hone_walk_one(zend_string *key, struct php_hone_item *item)
{
	struct php_hone_member *member = php_hone_cache_open();
	const struct php_hone_entry *entry;

	if (member == NULL)
		return false;
	entry = php_hone_cache_look(member, key, 0);
	if (entry != NULL)
		describe(entry, item);
	php_hone_fetch_end(member);
	return entry != NULL;
}

struct deletion {
	struct php_hone_member *member;
	const zend_string *prefix;
	zend_long deleted;
	int error;
};

static bool
delete_if_match(const struct php_hone_entry *entry, void *opaque)
{
	struct deletion *deletion = opaque;

	if (deletion->error != -ETIMEDOUT &&
		begins_with(entry, deletion->prefix)) {
		deletion->error =
			php_hone_store_delete_entry(deletion->member, entry);
		deletion->deleted += deletion->error == 0;
	}
	return deletion->error != -ETIMEDOUT;
}

/* Each entry is deleted while the walk looks at it: a fetch of many entries
 * would meanwhile keep writers from freeing anything. */
zend_long
php_hone_cache_delete_prefix(zend_string *prefix)
{
	struct deletion deletion = {php_hone_cache_open(), prefix, 0, 0};
	uint64_t cursor = 0;

	if (deletion.member != NULL)
		php_hone_store_walk(
			deletion.member, &cursor, delete_if_match, &deletion);
	php_hone_cache_result(deletion.member, deletion.error);
	return deletion.deleted;
}
