/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading: pointers into the shared memory, a block copy, or a copy. */
#include "../cache.h"
#include "../values/graph.h"

/* A request checks its age at every 16th fetch, and at every 256th one of a key
 * that it knows: to read the clock takes longer than such a fetch. */
#define CHECK_EVERY 256
#define WEIGHT 16
#define WEIGHT_KNOWN 1

/* A request that is older than hone.cache_shared_seconds closes its slot:
 * what it has read then holds back no more memory than the cache has at that
 * time. */
static void
check_age(struct php_hone_cache *cache)
{
	uint32_t age = php_hone_store_now(cache->member.store) - cache->opened;

	if (cache->read == PHP_HONE_READ_AUTO &&
		(zend_long)age > cache->shared_seconds)
		php_hone_member_close(&cache->member);
}

static zend_always_inline void
count_fetch(uint32_t weight)
{
	struct php_hone_cache *cache = &HONE_G(cache);

	if (UNEXPECTED(cache->fetches % CHECK_EVERY < weight))
		check_age(cache);
	cache->fetches += weight;
}

/* Whether pointers may stay after the end of the fetch. */
static zend_always_inline bool
is_kept(const struct php_hone_member *member)
{
	return member->open && HONE_G(cache).read <= PHP_HONE_READ_SHARED;
}

/* Whether memory_limit allows a copy, whose allocations take more than its
 * data. A PHP that records a failed allocation does not stop at it, so all
 * memory is requested at once. */
static bool
has_room(const zval *value, size_t size)
{
#ifdef ZEND_HAS_OOM
	size_t needed = Z_TYPE_P(value) == IS_ARRAY ? size * 2 : size;
	size_t used = zend_memory_usage(true);
	void *probe;

	if (PG(memory_limit) <= 0 ||
		used + needed + needed < (size_t)PG(memory_limit))
		return true;
	probe = PHP_HONE_EMALLOC(needed);
	if (probe == NULL)
		return false;
	efree(probe);
#else
	(void)value;
	(void)size;
#endif
	return true;
}

/* Returns false if there is no memory: PHP has an error then. */
static bool
take_copy(struct php_hone_member *member, const struct php_hone_entry *entry,
	zval *value)
{
	struct php_hone_value stored = {
		.data = (const char *)entry + entry->data_at,
		.size = entry->data_size,
	};
	bool good;

	ZVAL_COPY_VALUE(&stored.root, value);
	/* PHP frees a string of its own sooner than the request ends. */
	good = Z_TYPE_P(value) == IS_ARRAY &&
	       HONE_G(cache).read != PHP_HONE_READ_COPY &&
	       php_hone_block_fetch(entry, &stored, value);
	if (!good && has_room(value, stored.size)) {
		php_hone_value_unpack(&stored, value);
		good = true;
	}
	php_hone_fetch_end(member);
	if (!good)
		ZVAL_NULL(value);
	return good;
}

/* The fetch ends before PHP allocates memory. */
static bool
take_cold(struct php_hone_member *member, const struct php_hone_entry *entry,
	zval *value)
{
	uint8_t flags = entry->flags & (uint8_t)~PHP_HONE_COLD;
	struct php_hone_value made = {0};
	bool kept;
	bool good = php_hone_cold_make(member, entry, &made, &kept);
	zval root;

	php_hone_fetch_end(member);
	ZVAL_NULL(value);
	if (!good || (!kept && !has_room(&made.root, made.size)))
		return false;
	if (kept)
		ZVAL_COPY_VALUE(&root, &made.root);
	else
		php_hone_value_unpack(&made, &root);
	if (flags == 0) {
		ZVAL_COPY_VALUE(value, &root);
		return true;
	}
	good = php_hone_value_restore(value, &root, flags);
	if (!kept)
		zval_ptr_dtor(&root);
	return good;
}

/* Takes a value that has objects, or a cold one. Code of the user runs only
 * after the end of the fetch. */
static bool
take_other(struct php_hone_member *member, const struct php_hone_entry *entry,
	zval *value)
{
	uint8_t flags = entry->flags;
	bool good;
	zval root;

	if (flags & PHP_HONE_COLD)
		return take_cold(member, entry, value);
	ZVAL_COPY_VALUE(&root, value);
	if (is_kept(member)) {
		php_hone_fetch_end(member);
		return php_hone_value_restore(value, &root, flags);
	}
	if (!take_copy(member, entry, &root)) {
		ZVAL_NULL(value);
		return false;
	}
	good = php_hone_value_restore(value, &root, flags);
	zval_ptr_dtor(&root);
	return good;
}

static zend_always_inline const struct php_hone_entry **
recent_of(const void *address)
{
	return &HONE_G(cache).recent[(uintptr_t)address / PHP_HONE_VALUE_ALIGN %
				     PHP_HONE_RECENT];
}

bool
php_hone_cache_fetched(const zend_array *array, struct php_hone_value *stored)
{
	const struct php_hone_entry *entry = *recent_of(array);

	if (entry == NULL ||
		(const char *)entry + entry->data_at != (const char *)array)
		return false;
	ZVAL_ARR(&stored->root, (zend_array *)(uintptr_t)array);
	stored->data = array;
	stored->size = entry->data_size;
	return true;
}

static zend_always_inline bool
take_known(const struct php_hone_entry *entry, zval *value)
{
	php_hone_root_of(entry, value);
	if (UNEXPECTED(entry->flags != 0)) {
		zval root = *value;
		return php_hone_value_restore(value, &root, entry->flags);
	}
	if (Z_TYPE_P(value) == IS_ARRAY)
		*recent_of(Z_ARRVAL_P(value)) = entry;
	return true;
}

/* Also ends the fetch. */
static zend_always_inline bool
take(struct php_hone_member *member, const struct php_hone_entry *entry,
	zval *value)
{
	if (entry == NULL) {
		php_hone_fetch_end(member);
		return false;
	}
	php_hone_root_of(entry, value);
	if (UNEXPECTED(entry->flags != 0))
		return take_other(member, entry, value);
	if (!is_kept(member) && entry->data_size != 0)
		return take_copy(member, entry, value);
	if (Z_TYPE_P(value) == IS_ARRAY)
		*recent_of(Z_ARRVAL_P(value)) = entry;
	php_hone_fetch_end(member);
	return true;
}

bool
php_hone_cache_fetch(zend_string *key, zval *value)
{
	struct php_hone_member *member = php_hone_cache_open();
	const struct php_hone_entry *entry;
	struct php_hone_key of;

	if (UNEXPECTED(member == NULL))
		return false;
	/* Not by php_hone_key_of(): the hash comes last, which saves 2 of 329
	 * instructions. */
	of.bytes = ZSTR_VAL(key);
	of.len = ZSTR_LEN(key);
	of.hash = ZSTR_HASH(key);
	if (EXPECTED(HONE_G(cache).read <= PHP_HONE_READ_SHARED)) {
		entry = php_hone_store_known(member, &of);
		if (entry != NULL) {
			count_fetch(WEIGHT_KNOWN);
			return take_known(entry, value);
		}
	}
	count_fetch(WEIGHT);
	return take(member, php_hone_fetch_find(member, &of), value);
}

static zend_always_inline const struct php_hone_entry *
look(struct php_hone_member *member, zend_string *key, uint32_t grace)
{
	struct php_hone_key of = php_hone_key_of(key);
	const struct php_hone_entry *entry = php_hone_fetch_peek(member, &of);

	if (entry != NULL && entry->expires != 0 &&
		(uint64_t)entry->expires + grace <=
			php_hone_store_now(member->store))
		return NULL;
	return entry;
}

const struct php_hone_entry *
php_hone_cache_look(
	struct php_hone_member *member, zend_string *key, uint32_t grace)
{
	return look(member, key, grace);
}

bool
php_hone_cache_peek(zend_string *key, uint32_t grace, zval *value)
{
	struct php_hone_member *member = php_hone_cache_open();

	if (member == NULL)
		return false;
	count_fetch(WEIGHT);
	return take(member, php_hone_cache_look(member, key, grace), value);
}

bool
php_hone_cache_exists(zend_string *key)
{
	struct php_hone_member *member = php_hone_cache_open();
	bool found;

	if (member == NULL)
		return false;
	count_fetch(WEIGHT);
	found = look(member, key, 0) != NULL;
	php_hone_fetch_end(member);
	return found;
}

/* A public property without code of the user; NULL if there is none. */
static zval *
property_of(zend_object *object, zend_string *name)
{
	const zend_property_info *info;
	zval *property = NULL;

	/* Names that begin so are those of other properties. */
	if (!php_hone_object_is_plain(object) ||
		(ZSTR_LEN(name) != 0 && ZSTR_VAL(name)[0] == '\0'))
		return NULL;
	info = zend_hash_find_ptr(&object->ce->properties_info, name);
	if (info != NULL && !(info->flags & ZEND_ACC_STATIC)) {
		uint32_t slot = OBJ_PROP_TO_NUM(info->offset);
		/* A virtual property of PHP 8.4 has an offset past them. */
		if ((info->flags & ZEND_ACC_PUBLIC) &&
			slot < (uint32_t)object->ce->default_properties_count)
			property = &object->properties_table[slot];
	} else if (object->properties != NULL) {
		property = zend_hash_find_ind(object->properties, name);
	}
	return property != NULL && Z_TYPE_P(property) != IS_UNDEF ? property
								  : NULL;
}

static zval *
element_of(zval *value, zval *key)
{
	zend_string *name;

	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_OBJECT) {
		name = zval_get_string(key);
		value = property_of(Z_OBJ_P(value), name);
		zend_string_release(name);
		return value;
	}
	if (Z_TYPE_P(value) != IS_ARRAY)
		return NULL;
	return Z_TYPE_P(key) == IS_LONG
		       ? zend_hash_index_find(
				 Z_ARRVAL_P(value), (zend_ulong)Z_LVAL_P(key))
		       : zend_symtable_find(Z_ARRVAL_P(value), Z_STR_P(key));
}

/* $value[$path[0]][$path[1]]..., or ->{$path[0]} of an object; or NULL. The
 * result belongs to `value`. Without code of the user. */
static zval *
field_of(zval *value, zval *path)
{
	zval *key;

	if (Z_TYPE_P(path) != IS_ARRAY)
		return element_of(value, path);
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(path), key)
	{
		value = element_of(value, key);
		if (value == NULL)
			break;
	}
	ZEND_HASH_FOREACH_END();
	return value;
}

bool
php_hone_cache_field(zend_string *key, zval *path, zval *value)
{
	struct php_hone_member *member = php_hone_cache_open();
	const struct php_hone_entry *entry;
	struct php_hone_key of = php_hone_key_of(key);
	zval *field;
	zval root;

	if (member == NULL)
		return false;
	count_fetch(WEIGHT);
	entry = php_hone_fetch_find(member, &of);
	if (entry != NULL && entry->flags == 0) {
		php_hone_root_of(entry, &root);
		field = field_of(&root, path);
		/* Without a copy of the value. */
		if (field == NULL || Z_TYPE_P(field) < IS_STRING ||
			is_kept(member)) {
			if (field != NULL)
				ZVAL_COPY_VALUE(value, field);
			php_hone_fetch_end(member);
			return field != NULL;
		}
	}
	if (!take(member, entry, &root))
		return false;
	field = field_of(&root, path);
	if (field != NULL)
		ZVAL_COPY_DEREF(value, field);
	zval_ptr_dtor(&root);
	return field != NULL;
}
