/* SPDX-License-Identifier: BSD-3-Clause */
/* Values in the cold form: store.h has when, values/cold.h how. */
#include "../cache.h"

static ZEND_COLD void
tell(struct php_hone_member *member, const struct php_hone_entry *entry,
	const char *phrase)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	bool fetching = cache->fetching;
	char text[512];

	snprintf(text, sizeof text,
		"the value of '%.256s' is damaged, and was removed: %s",
		(const char *)entry->bytes + PHP_HONE_KEY_HEAD, phrase);
	php_hone_make_plain(text);
	/* The log may allocate memory of PHP, and end the request. */
	cache->fetching = true;
	php_hone_pools_damaged(member, text);
	cache->fetching = fetching;
}

/* The most bytes of a value for each byte of its cold form, in most cases. */
#define WARM_OF_COLD 24

/* Makes the value where the request keeps it. Returns false if the builder has
 * to make it. */
static bool
read_direct(const struct php_hone_entry *entry, struct php_hone_value *made)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	struct php_hone_cold_room room;
	const char *phrase;

	if ((entry->flags & PHP_HONE_OBJECTS) ||
		!php_hone_block_begin(
			&room, (size_t)entry->data_size * WARM_OF_COLD) ||
		!php_hone_cold_is_whole(entry) ||
		!php_hone_cold_read_to(&cache->cold,
			(const char *)entry + entry->data_at, entry->data_size,
			&cache->builder, &room, &phrase) ||
		Z_TYPE(cache->builder.root) != IS_ARRAY)
		return false;
	made->root = cache->builder.root;
	made->size = room.arrays + room.strings;
	return php_hone_block_end(entry, &room, &made->root);
}

/* Makes the value in the builder. */
static bool
read_value(struct php_hone_member *member, const struct php_hone_entry *entry)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	const char *phrase = "its sum is wrong";

	if (php_hone_cold_is_whole(entry) &&
		php_hone_cold_read(&cache->cold,
			(const char *)entry + entry->data_at, entry->data_size,
			entry->flags & PHP_HONE_OBJECTS, &cache->builder,
			&phrase)) {
		if (Z_TYPE(cache->builder.root) == IS_ARRAY)
			return true;
		phrase = "it is not an array";
	}
	if (strcmp(phrase, PHP_HONE_NO_MEMORY) != 0) {
		tell(member, entry, phrase);
		php_hone_store_delete_entry(member, entry);
	}
	return false;
}

/* Puts a warm entry in the place of a cold one. The builder may have the value
 * already. */
static void
make_warm(struct php_hone_member *member, const struct php_hone_entry *entry,
	size_t size, bool built)
{
	const struct php_hone_builder *builder = &HONE_G(cache).builder;
	struct php_hone_entry *twin =
		php_hone_store_reserve_twin(member, entry, size, false);
	const char *phrase;
	char *to;
	zval root;

	if (twin == NULL)
		return;
	if (!built &&
		!php_hone_cold_read(&HONE_G(cache).cold,
			(const char *)entry + entry->data_at, entry->data_size,
			false, &HONE_G(cache).builder, &phrase)) {
		php_hone_store_cancel(member, twin);
		return;
	}
	to = (char *)twin + twin->data_at;
	php_hone_value_place(
		builder, to, php_hone_store_view(member->store, to), &root);
	php_hone_set_root(twin, &root);
	php_hone_store_publish_twin(member, twin, entry);
}

bool
php_hone_cold_make(struct php_hone_member *member,
	const struct php_hone_entry *entry, struct php_hone_value *made,
	bool *kept)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	bool copy = cache->read == PHP_HONE_READ_COPY;
	void *at = NULL;

	*kept = true;
	if (!copy && php_hone_block_find(entry, &made->root))
		return true;
	if (!copy && read_direct(entry, made)) {
		if (php_hone_store_is_hot(entry))
			make_warm(member, entry, made->size, false);
		return true;
	}
	if (!read_value(member, entry))
		return false;
	if (php_hone_store_is_hot(entry))
		make_warm(member, entry, cache->builder.size, true);
	made->size = cache->builder.size;
	if (!copy)
		at = php_hone_block_memory(made->size);
	*kept = at != NULL;
	if (at == NULL)
		at = php_hone_block_scratch(made->size);
	if (at == NULL)
		return false;
	made->data = at;
	php_hone_value_place(&cache->builder, at, at, &made->root);
	if (*kept)
		php_hone_block_enter(entry, made->size, &made->root);
	return true;
}

/* Writes the cold form of a value, or of what the builder has, whose entry has
 * a key of this length. Returns false if the form does not save an eighth. */
static bool
write_cold(const struct php_hone_value *value, bool graph, size_t others)
{
	const struct php_hone_builder *builder = &HONE_G(cache).builder;
	struct php_hone_cold *cold = &HONE_G(cache).cold;
	size_t size = value != NULL ? value->size : builder->size;

	if (value != NULL ? !php_hone_cold_write(cold, value, graph)
			  : !php_hone_cold_write_built(cold, builder, graph))
		return false;
	php_hone_cold_compress(cold, others);
	return cold->bytes.used <= size / 8 * 7;
}

/* Puts a cold entry in the place of a warm one. */
static void
pack(struct php_hone_member *member, const struct php_hone_entry *entry)
{
	const struct php_hone_buffer *bytes = &HONE_G(cache).cold.bytes;
	struct php_hone_value stored = {
		.data = (const char *)entry + entry->data_at,
		.size = entry->data_size,
	};
	struct php_hone_entry *twin;

	php_hone_root_of(entry, &stored.root);
	if (!write_cold(&stored, entry->flags == PHP_HONE_OBJECTS,
		    php_hone_store_others(entry->key_len, entry->n_tags)))
		return;
	twin = php_hone_store_reserve_twin(member, entry, bytes->used, true);
	if (twin == NULL)
		return;
	php_hone_cold_place(twin, bytes->bytes);
	php_hone_store_publish_twin(member, twin, entry);
}

void
php_hone_cold_pack(struct php_hone_member *member)
{
	const struct php_hone_entry *entry;

	while ((entry = php_hone_store_to_pack(member)) != NULL) {
		pack(member, entry);
		php_hone_fetch_end(member);
	}
}

bool
php_hone_cold_store(const struct php_hone_member *member,
	const struct php_hone_room *room, const struct php_hone_value *stored,
	bool graph)
{
	return !HONE_G(cache).cold_off &&
	       php_hone_store_presses(member, room->key->hash) &&
	       write_cold(stored, graph,
		       php_hone_store_others(room->key->len, room->n_tags));
}

/* The upper half of value[1] has the sum, below PHP_HONE_PACKABLE. */
bool
php_hone_cold_is_whole(const struct php_hone_entry *entry)
{
	return (entry->value[1] >> 32 & INT32_MAX) ==
	       php_hone_cold_sum(
		       (const char *)entry + entry->data_at, entry->data_size);
}

void
php_hone_cold_place(struct php_hone_entry *entry, const void *bytes)
{
	uint32_t sum = php_hone_cold_sum(bytes, entry->data_size);

	memcpy((char *)entry + entry->data_at, bytes, entry->data_size);
	entry->value[0] = 0;
	entry->value[1] = IS_ARRAY | PHP_HONE_PACKABLE | (uint64_t)sum << 32;
}
