/* SPDX-License-Identifier: BSD-3-Clause */
/* apcu_store() and the other functions that write. */
#include "apcu.h"

static bool
store_one(
	zend_string *key, zval *value, zend_long ttl, enum php_hone_publish how)
{
	struct php_hone_write write = {.how = how, .ttl = ttl, .apcu = true};

	if (!php_hone_apcu_on())
		return false;
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_RESOURCE) {
		php_error_docref(NULL, E_WARNING,
			"Cannot store resources in apcu cache");
		return false;
	}
	return php_hone_cache_store(key, value, &write);
}

/* The result has the keys that were not stored. If a value throws, the later
 * ones are not stored, since the caller gets no result. */
static void
store_each(zval *result, HashTable *values, zend_long ttl,
	enum php_hone_publish how)
{
	zend_string *key;
	zend_ulong number;
	zval *value, failed;

	array_init(result);
	ZVAL_LONG(&failed, -1);
	ZEND_HASH_FOREACH_KEY_VAL(values, number, key, value)
	{
		key = key != NULL ? zend_string_copy(key)
				  : zend_long_to_str((zend_long)number);
		if (!store_one(key, value, ttl, how))
			zend_symtable_update(Z_ARRVAL_P(result), key, &failed);
		zend_string_release(key);
		if (EG(exception))
			break;
	}
	ZEND_HASH_FOREACH_END();
}

static void
store(zval *result, zval *key, zval *value, zend_long ttl,
	enum php_hone_publish how)
{
	if (EXPECTED(Z_TYPE_P(key) == IS_STRING)) {
		/* APCu has no default for the value. */
		ZVAL_BOOL(result, value != NULL && store_one(Z_STR_P(key),
							   value, ttl, how));
	} else if (Z_TYPE_P(key) == IS_ARRAY) {
		store_each(result, Z_ARRVAL_P(key), ttl, how);
	} else {
		php_error_docref(NULL, E_WARNING,
			"apc_store expects key parameter to be a string or an "
			"array of key/value pairs.");
		ZVAL_FALSE(result);
	}
}

#define STORE_FUNCTION(name, how)                                              \
	HONE_FUNCTION(name)                                                    \
	{                                                                      \
		zval *key, *value = NULL;                                      \
		zend_long ttl = 0;                                             \
                                                                               \
		HONE_ARGS(1, 3)                                                \
		HONE_ARG_ZVAL(key)                                             \
		HONE_ARGS_OPTIONAL                                             \
		HONE_ARG_ZVAL(value)                                           \
		HONE_ARG_LONG(ttl)                                             \
		HONE_ARGS_END();                                               \
		store(return_value, key, value, ttl, how);                     \
	}

STORE_FUNCTION(apcu_store, PHP_HONE_STORE)
STORE_FUNCTION(apcu_add, PHP_HONE_ADD)

static void
add_to(zval *result, zend_string *key, zend_long step, zval *success,
	zend_long ttl)
{
	struct php_hone_write how = {
		.how = PHP_HONE_ADD, .ttl = ttl, .apcu = true};
	zend_long sum = 0;
	bool done = php_hone_apcu_on() &&
		    php_hone_cache_add_to(key, step, &how, &sum);

	if (success != NULL)
		ZEND_TRY_ASSIGN_REF_BOOL(success, done);
	if (done)
		ZVAL_LONG(result, sum);
	else
		ZVAL_FALSE(result);
}

#define COUNT_FUNCTION(name, signed_step)                                      \
	HONE_FUNCTION(name)                                                    \
	{                                                                      \
		zend_long step = 1, ttl = 0;                                   \
		zval *success = NULL;                                          \
		zend_string *key;                                              \
                                                                               \
		HONE_ARGS(1, 4)                                                \
		HONE_ARG_STR(key)                                              \
		HONE_ARGS_OPTIONAL                                             \
		HONE_ARG_LONG(step)                                            \
		HONE_ARG_ZVAL(success)                                         \
		HONE_ARG_LONG(ttl)                                             \
		HONE_ARGS_END();                                               \
		add_to(return_value, key, signed_step, success, ttl);          \
	}

COUNT_FUNCTION(apcu_inc, step)
COUNT_FUNCTION(apcu_dec, (zend_long)(0 - (zend_ulong)step))

HONE_FUNCTION(apcu_cas)
{
	zend_long old, new_value;
	zend_string *key;

	HONE_ARGS(3, 3)
	HONE_ARG_STR(key)
	HONE_ARG_LONG(old)
	HONE_ARG_LONG(new_value)
	HONE_ARGS_END();
	RETURN_BOOL(
		php_hone_apcu_on() && php_hone_cache_cas(key, old, new_value));
}

PHP_FUNCTION(apcu_entry)
{
	zend_fcall_info fci = empty_fcall_info;
	zend_fcall_info_cache fcc = empty_fcall_info_cache;
	struct php_hone_remember how = {
		.fci = &fci,
		.fcc = &fcc,
		/* APCu waits for its lock, without a limit. */
		.wait_ms = 60000,
		.write = {.how = PHP_HONE_ADD, .apcu = true},
	};
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(2, 3)
	Z_PARAM_STR(key)
	Z_PARAM_FUNC(fci, fcc)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(how.write.ttl)
	ZEND_PARSE_PARAMETERS_END();
	if (!php_hone_apcu_enabled())
		return;
	php_hone_cache_remember(key, &how, return_value);
}
