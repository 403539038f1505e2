/* SPDX-License-Identifier: BSD-3-Clause */
/* The class Hone\Cache. */
#include "../cache.h"

/* The number of tags of an entry is stored in one byte. */
#define TAGS_MAX 255

/* Throws and returns false if an argument is invalid. ttl_at and tags_at are
 * the numbers of the arguments. */
static bool
check(zend_long ttl, uint32_t ttl_at, HashTable *tags, uint32_t tags_at)
{
	zval *tag;

	if (ttl < 0) {
		zend_argument_value_error(
			ttl_at, "must be greater than or equal to 0");
		return false;
	}
	if (tags == NULL)
		return true;
	if (zend_hash_num_elements(tags) > TAGS_MAX) {
		zend_argument_value_error(
			tags_at, "must have at most %d elements", TAGS_MAX);
		return false;
	}
	ZEND_HASH_FOREACH_VAL(tags, tag)
	{
		ZVAL_DEREF(tag);
		if (Z_TYPE_P(tag) != IS_STRING) {
			zend_argument_type_error(tags_at,
				"must have only strings, %s given",
				zend_zval_type_name(tag));
			return false;
		}
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

ZEND_METHOD(Hone_Cache, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

HONE_METHOD(Hone_Cache, enabled)
{
	HONE_ARGS(0, 0)
	HONE_ARGS_END();
	RETURN_BOOL(php_hone_cache_open() != NULL);
}

static void
give_default(zval *value, zval *otherwise)
{
	if (otherwise == NULL)
		ZVAL_NULL(value);
	else
		ZVAL_COPY_DEREF(value, otherwise);
}

HONE_METHOD(Hone_Cache, fetch)
{
	zval *otherwise = NULL, *found = NULL;
	zend_string *key;
	bool success;

	HONE_ARGS(1, 3)
	HONE_ARG_STR(key)
	HONE_ARGS_OPTIONAL
	HONE_ARG_ZVAL(otherwise)
	HONE_ARG_ZVAL(found)
	HONE_ARGS_END();
	success = php_hone_cache_fetch(key, return_value);
	if (UNEXPECTED(!success) && !EG(exception))
		give_default(return_value, otherwise);
	if (found != NULL && !EG(exception))
		ZEND_TRY_ASSIGN_REF_BOOL(found, success);
}

/* A method of one string. */
#define KEY_METHOD(name, RETURN, function)                                     \
	HONE_METHOD(Hone_Cache, name)                                          \
	{                                                                      \
		zend_string *key;                                              \
                                                                               \
		HONE_ARGS(1, 1)                                                \
		HONE_ARG_STR(key)                                              \
		HONE_ARGS_END();                                               \
		RETURN(function(key));                                         \
	}

KEY_METHOD(exists, RETURN_BOOL, php_hone_cache_exists)
KEY_METHOD(delete, RETURN_BOOL, php_hone_cache_delete)
KEY_METHOD(invalidate_tag, RETURN_BOOL, php_hone_cache_invalidate)
KEY_METHOD(delete_prefix, RETURN_LONG, php_hone_cache_delete_prefix)

static zend_always_inline void
store(zval *result, zend_string *key, zval *value, zend_long ttl,
	HashTable *tags, enum php_hone_publish how)
{
	struct php_hone_write write = {.how = how, .ttl = ttl, .tags = tags};

	if (UNEXPECTED(ttl < 0 || tags != NULL) && !check(ttl, 3, tags, 4))
		return;
	ZVAL_BOOL(result, php_hone_cache_store(key, value, &write));
}

#define STORE_METHOD(name, how)                                                \
	HONE_METHOD(Hone_Cache, name)                                          \
	{                                                                      \
		HashTable *tags = NULL;                                        \
		zend_long ttl = 0;                                             \
		zend_string *key;                                              \
		zval *value;                                                   \
                                                                               \
		HONE_ARGS(2, 4)                                                \
		HONE_ARG_STR(key)                                              \
		HONE_ARG_ZVAL(value)                                           \
		HONE_ARGS_OPTIONAL                                             \
		HONE_ARG_LONG(ttl)                                             \
		HONE_ARG_ARRAY_HT(tags)                                        \
		HONE_ARGS_END();                                               \
		store(return_value, key, value, ttl, tags, how);               \
	}

STORE_METHOD(store, PHP_HONE_STORE)
STORE_METHOD(add, PHP_HONE_ADD)
STORE_METHOD(replace, PHP_HONE_REPLACE)

static void
add_to(zval *result, zend_string *key, zend_long step, zend_long ttl)
{
	struct php_hone_write how = {.how = PHP_HONE_ADD, .ttl = ttl};
	zend_long sum;

	if (!check(ttl, 3, NULL, 0))
		return;
	if (php_hone_cache_add_to(key, step, &how, &sum))
		ZVAL_LONG(result, sum);
	else
		ZVAL_FALSE(result);
}

#define COUNT_METHOD(name, signed_step)                                        \
	HONE_METHOD(Hone_Cache, name)                                          \
	{                                                                      \
		zend_long step = 1, ttl = 0;                                   \
		zend_string *key;                                              \
                                                                               \
		HONE_ARGS(1, 3)                                                \
		HONE_ARG_STR(key)                                              \
		HONE_ARGS_OPTIONAL                                             \
		HONE_ARG_LONG(step)                                            \
		HONE_ARG_LONG(ttl)                                             \
		HONE_ARGS_END();                                               \
		add_to(return_value, key, signed_step, ttl);                   \
	}

COUNT_METHOD(inc, step)
COUNT_METHOD(dec, (zend_long)(0 - (zend_ulong)step))

HONE_METHOD(Hone_Cache, cas)
{
	zend_long old, new_value;
	zend_string *key;

	HONE_ARGS(3, 3)
	HONE_ARG_STR(key)
	HONE_ARG_LONG(old)
	HONE_ARG_LONG(new_value)
	HONE_ARGS_END();
	RETURN_BOOL(php_hone_cache_cas(key, old, new_value));
}

ZEND_METHOD(Hone_Cache, remember)
{
	zend_fcall_info fci = empty_fcall_info;
	zend_fcall_info_cache fcc = empty_fcall_info_cache;
	struct php_hone_remember how = {.fci = &fci, .fcc = &fcc};
	HashTable *tags = NULL;
	zend_long ttl, grace = 0;
	double wait = 5.0;
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(3, 6)
	Z_PARAM_STR(key)
	Z_PARAM_LONG(ttl)
	Z_PARAM_FUNC(fci, fcc)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(grace)
	Z_PARAM_DOUBLE(wait)
	Z_PARAM_ARRAY_HT(tags)
	ZEND_PARSE_PARAMETERS_END();
	if (!check(ttl, 2, tags, 6))
		return;
	if (grace < 0 || grace > UINT32_MAX) {
		zend_argument_value_error(
			4, "must be between 0 and %u", (unsigned)UINT32_MAX);
		return;
	}
	if (!(wait >= 0.0 && wait <= 86400.0)) {
		zend_argument_value_error(5, "must be between 0 and 86400");
		return;
	}
	how.write.ttl = ttl;
	how.write.tags = tags;
	how.grace = (uint32_t)grace;
	how.wait_ms = (unsigned)(wait * 1000.0);
	php_hone_cache_remember(key, &how, return_value);
}

ZEND_METHOD(Hone_Cache, clear)
{
	struct php_hone_member *member = php_hone_cache_open();

	ZEND_PARSE_PARAMETERS_NONE();
	if (member == NULL)
		RETURN_FALSE;
	RETURN_BOOL(php_hone_cache_result(
			    member, php_hone_store_clear(member)) == 0);
}

/* Whether all are strings and ints. Sets *refers if one is a reference. */
static bool
are_keys(HashTable *list, bool *refers)
{
	zval *key;

	ZEND_HASH_FOREACH_VAL(list, key)
	{
		*refers |= Z_ISREF_P(key);
		ZVAL_DEREF(key);
		if (Z_TYPE_P(key) != IS_STRING && Z_TYPE_P(key) != IS_LONG)
			return false;
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

ZEND_METHOD(Hone_Cache, fetch_field)
{
	zval *path, *otherwise = NULL, *element, copy, plain;
	bool refers = false;
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(2, 3)
	Z_PARAM_STR(key)
	Z_PARAM_ZVAL(path)
	Z_PARAM_OPTIONAL
	Z_PARAM_ZVAL(otherwise)
	ZEND_PARSE_PARAMETERS_END();
	if (Z_TYPE_P(path) == IS_ARRAY &&
		!are_keys(Z_ARRVAL_P(path), &refers)) {
		zend_argument_type_error(2, "must have only strings and ints");
		return;
	}
	if (Z_TYPE_P(path) != IS_ARRAY && Z_TYPE_P(path) != IS_STRING &&
		Z_TYPE_P(path) != IS_LONG) {
		zend_argument_type_error(2,
			"must be of type array|string|int, %s given",
			zend_zval_type_name(path));
		return;
	}
	ZVAL_UNDEF(&plain);
	/* Code of the user may change references. */
	if (refers) {
		array_init(&plain);
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(path), element)
		{
			ZVAL_COPY_DEREF(&copy, element);
			add_next_index_zval(&plain, &copy);
		}
		ZEND_HASH_FOREACH_END();
		path = &plain;
	}
	if (!php_hone_cache_field(key, path, return_value) && !EG(exception))
		give_default(return_value, otherwise);
	zval_ptr_dtor(&plain);
}

/* The keys may be ints: PHP converts keys of arrays that look like ints. */
static zend_string *
key_of(zval *element)
{
	ZVAL_DEREF(element);
	if (Z_TYPE_P(element) == IS_STRING)
		return zend_string_copy(Z_STR_P(element));
	if (Z_TYPE_P(element) == IS_LONG)
		return zend_long_to_str(Z_LVAL_P(element));
	zend_argument_type_error(1, "must have only strings and ints, %s given",
		zend_zval_type_name(element));
	return NULL;
}

ZEND_METHOD(Hone_Cache, fetch_multi)
{
	zend_string *key;
	HashTable *keys;
	zval *element;
	zval value;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_ARRAY_HT(keys)
	ZEND_PARSE_PARAMETERS_END();
	array_init_size(return_value, zend_hash_num_elements(keys));
	ZEND_HASH_FOREACH_VAL(keys, element)
	{
		key = key_of(element);
		if (key == NULL)
			return;
		if (php_hone_cache_fetch(key, &value))
			zend_symtable_update(
				Z_ARRVAL_P(return_value), key, &value);
		zend_string_release(key);
		if (EG(exception))
			return;
	}
	ZEND_HASH_FOREACH_END();
}

ZEND_METHOD(Hone_Cache, store_multi)
{
	struct php_hone_write how = {.how = PHP_HONE_STORE};
	zend_string *key;
	HashTable *values;
	zend_ulong number;
	bool all = true;
	zval *value;

	ZEND_PARSE_PARAMETERS_START(1, 3)
	Z_PARAM_ARRAY_HT(values)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(how.ttl)
	Z_PARAM_ARRAY_HT(how.tags)
	ZEND_PARSE_PARAMETERS_END();
	if (!check(how.ttl, 2, how.tags, 3))
		return;
	ZEND_HASH_FOREACH_KEY_VAL(values, number, key, value)
	{
		key = key != NULL ? zend_string_copy(key)
				  : zend_long_to_str((zend_long)number);
		all = php_hone_cache_store(key, value, &how) && all;
		zend_string_release(key);
		if (EG(exception))
			return;
	}
	ZEND_HASH_FOREACH_END();
	RETURN_BOOL(all);
}

ZEND_METHOD(Hone_Cache, delete_multi)
{
	zend_long deleted = 0;
	zend_string *key;
	HashTable *keys;
	zval *element;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_ARRAY_HT(keys)
	ZEND_PARSE_PARAMETERS_END();
	ZEND_HASH_FOREACH_VAL(keys, element)
	{
		key = key_of(element);
		if (key == NULL)
			return;
		deleted += php_hone_cache_delete(key);
		zend_string_release(key);
	}
	ZEND_HASH_FOREACH_END();
	RETURN_LONG(deleted);
}

ZEND_METHOD(Hone_Cache, entries)
{
	zend_string *prefix = ZSTR_EMPTY_ALLOC();

	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_STR(prefix)
	ZEND_PARSE_PARAMETERS_END();
	php_hone_entries_new(return_value, prefix);
}
