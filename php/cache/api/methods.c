/* SPDX-License-Identifier: BSD-3-Clause */
/* The class Hone\Cache: one key, tag or prefix at a time. */
#include "../cache.h"

/* The number of tags of an entry is stored in one byte. */
#define TAGS_MAX 255

bool
php_hone_cache_check(
	zend_long ttl, uint32_t ttl_at, HashTable *tags, uint32_t tags_at)
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

void
php_hone_give_default(zval *value, zval *otherwise)
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
		php_hone_give_default(return_value, otherwise);
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

	if (UNEXPECTED(ttl < 0 || tags != NULL) &&
		!php_hone_cache_check(ttl, 3, tags, 4))
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

	if (!php_hone_cache_check(ttl, 3, NULL, 0))
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
	if (!php_hone_cache_check(ttl, 2, tags, 6))
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
