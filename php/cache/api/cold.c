/* SPDX-License-Identifier: BSD-3-Clause */
/* Values in the cold form: store.h has when, values/cold.h how. */
#include "../cache.h"

static ZEND_COLD void
tell(struct php_hone_member *member, const struct php_hone_entry *entry,
	const char *phrase)
{
	char text[512];

	snprintf(text, sizeof text,
		"the value of '%.256s' is damaged, and was removed: %s",
		(const char *)entry->bytes + PHP_HONE_KEY_HEAD, phrase);
	php_hone_make_plain(text);
	php_hone_pools_damaged(member, text);
}

/*
 * value[1] of a cold entry, from the lowest bit: 8 bits for the type, 24 for
 * the bytes of the value that it makes, in units of 8 (0: unknown), 31 for the
 * sum, and PHP_HONE_PACKABLE.
 */
#define MADE_SHIFT 8
#define MADE_MOST 0xffffff

/* If the request does not keep it, until the next value is made. */
static void *
memory_for(struct php_hone_value *made, size_t size, bool *kept)
{
	void *at = NULL;

	if (HONE_G(cache).read != PHP_HONE_READ_COPY)
		at = php_hone_block_memory(size);
	*kept = at != NULL;
	made->data = at != NULL ? at : php_hone_block_scratch(size);
	made->size = size;
	return (void *)(uintptr_t)made->data;
}

/* Makes the value in its final place. False: the builder has to make it. */
static bool
read_direct(const struct php_hone_entry *entry, struct php_hone_value *made,
	bool *kept)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	size_t size = (size_t)(entry->value[1] >> MADE_SHIFT & MADE_MOST) * 8;
	const char *phrase;
	void *at;

	if ((entry->flags & PHP_HONE_OBJECTS) || size == 0 ||
		!php_hone_cold_is_whole(entry) ||
		(at = memory_for(made, size, kept)) == NULL ||
		!php_hone_cold_read_to(&cache->cold,
			(const char *)entry + entry->data_at, entry->data_size,
			&cache->builder, at, size, &phrase))
		return false;
	made->root = cache->builder.root;
	return Z_TYPE(made->root) == IS_ARRAY;
}

static bool
read_built(struct php_hone_member *member, const struct php_hone_entry *entry)
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

static bool
read_placed(struct php_hone_member *member, const struct php_hone_entry *entry,
	struct php_hone_value *made, bool *kept)
{
	const struct php_hone_builder *builder = &HONE_G(cache).builder;
	void *at;

	if (!read_built(member, entry) ||
		(at = memory_for(made, builder->size, kept)) == NULL)
		return false;
	php_hone_value_place(builder, at, at, &made->root);
	return true;
}

/* Puts a warm entry in the place of a cold one. */
static void
make_warm(struct php_hone_member *member, const struct php_hone_entry *entry,
	const struct php_hone_value *made)
{
	struct php_hone_entry *twin =
		php_hone_store_reserve_twin(member, entry, made->size, false);
	char *to;
	zval root;

	if (twin == NULL)
		return;
	to = (char *)twin + twin->data_at;
	php_hone_value_copy(
		made, to, php_hone_store_view(member->store, to), &root);
	php_hone_set_root(twin, &root);
	php_hone_store_publish_twin(member, twin, entry);
}

bool
php_hone_cold_make(struct php_hone_member *member,
	const struct php_hone_entry *entry, struct php_hone_value *made,
	bool *kept)
{
	*kept = true;
	if (HONE_G(cache).read != PHP_HONE_READ_COPY &&
		php_hone_block_find(entry, &made->root))
		return true;
	if (!read_direct(entry, made, kept) &&
		!read_placed(member, entry, made, kept))
		return false;
	if (*kept)
		php_hone_block_enter(
			entry, made->data, made->size, &made->root);
	if (php_hone_store_is_hot(entry))
		make_warm(member, entry, made);
	return true;
}

/* Of a value, or of what the builder has, whose entry has `others` bytes
 * besides its data. Returns false if the form does not save an eighth. */
static bool
write_cold(const struct php_hone_value *value, bool graph, size_t others)
{
	const struct php_hone_builder *builder = &HONE_G(cache).builder;
	struct php_hone_cold *cold = &HONE_G(cache).cold;
	size_t size = value != NULL ? value->size : builder->size;

	if (!php_hone_cold_write(cold, value, builder, graph))
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
	php_hone_cold_place(twin, bytes->bytes, HONE_G(cache).cold.made);
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

bool
php_hone_cold_is_whole(const struct php_hone_entry *entry)
{
	return (entry->value[1] >> 32 & INT32_MAX) ==
	       php_hone_cold_sum(
		       (const char *)entry + entry->data_at, entry->data_size);
}

void
php_hone_cold_place(
	struct php_hone_entry *entry, const void *bytes, size_t made)
{
	uint64_t sum = php_hone_cold_sum(bytes, entry->data_size);
	uint64_t eighths = made / 8 <= MADE_MOST ? made / 8 : 0;

	memcpy((char *)entry + entry->data_at, bytes, entry->data_size);
	entry->value[0] = 0;
	entry->value[1] = IS_ARRAY | eighths << MADE_SHIFT | sum << 32 |
			  PHP_HONE_PACKABLE;
}
