/* SPDX-License-Identifier: BSD-3-Clause */
/* The class Hone\Cache: several keys, or a part of a value. */
#include "../cache.h"

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
		php_hone_give_default(return_value, otherwise);
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
	if (!php_hone_cache_check(how.ttl, 2, how.tags, 3))
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
