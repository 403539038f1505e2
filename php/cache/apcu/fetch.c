/* SPDX-License-Identifier: BSD-3-Clause */
/* apcu_fetch(), apcu_exists() and apcu_delete(). */
#include "apcu.h"

/* The result has the values of the keys that exist, or true for each. Inline:
 * otherwise apcu_exists() takes 2 % more instructions. */
static zend_always_inline void
find_each(zval *result, HashTable *keys, bool fetches)
{
	zend_string *name;
	zval *key, value;
	bool found;

	array_init(result);
	ZEND_HASH_FOREACH_VAL(keys, key)
	{
		ZVAL_DEREF(key);
		if (Z_TYPE_P(key) != IS_STRING) {
			php_error_docref(NULL, E_WARNING,
				"apc_%s() expects a string or array of "
				"strings.",
				fetches ? "fetch" : "exists");
			continue;
		}
		/* __wakeup() may assign to a reference that has the key. */
		name = fetches ? zend_string_copy(Z_STR_P(key)) : Z_STR_P(key);
		ZVAL_TRUE(&value);
		found = php_hone_apcu_on() &&
			(fetches ? php_hone_cache_fetch(name, &value)
				 : php_hone_cache_exists(name));
		if (found)
			zend_hash_update(Z_ARRVAL_P(result), name, &value);
		if (fetches)
			zend_string_release(name);
	}
	ZEND_HASH_FOREACH_END();
}

HONE_FUNCTION(apcu_fetch)
{
	zval *key, *success = NULL;
	bool found = true;

	HONE_ARGS(1, 2)
	HONE_ARG_ZVAL(key)
	HONE_ARGS_OPTIONAL
	HONE_ARG_ZVAL(success)
	HONE_ARGS_END();
	if (UNEXPECTED(Z_TYPE_P(key) == IS_ARRAY)) {
		find_each(return_value, Z_ARRVAL_P(key), true);
	} else {
		if (UNEXPECTED(Z_TYPE_P(key) != IS_STRING))
			convert_to_string(key);
		if (EG(exception))
			return;
		found = php_hone_apcu_on() &&
			php_hone_cache_fetch(Z_STR_P(key), return_value);
		if (!found)
			ZVAL_FALSE(return_value);
		/* As in APCu: a value whose __wakeup() throws was found. */
		found = found || EG(exception) != NULL;
	}
	if (success != NULL)
		ZEND_TRY_ASSIGN_REF_BOOL(success, found);
}

HONE_FUNCTION(apcu_exists)
{
	zval *key;

	HONE_ARGS(1, 1)
	HONE_ARG_ZVAL(key)
	HONE_ARGS_END();
	if (Z_TYPE_P(key) == IS_ARRAY) {
		find_each(return_value, Z_ARRVAL_P(key), false);
		return;
	}
	if (Z_TYPE_P(key) != IS_STRING)
		convert_to_string(key);
	if (EG(exception))
		return;
	RETURN_BOOL(php_hone_apcu_on() && php_hone_cache_exists(Z_STR_P(key)));
}

static void
warn_of_delete(void)
{
	php_error_docref(NULL, E_WARNING,
		"apc_delete() expects a string, array of strings, or "
		"APCIterator instance");
}

/* The result is the list of the keys that were not deleted. */
static void
delete_each(zval *result, HashTable *keys)
{
	zval *key;

	array_init(result);
	ZEND_HASH_FOREACH_VAL(keys, key)
	{
		ZVAL_DEREF(key);
		if (Z_TYPE_P(key) != IS_STRING)
			warn_of_delete();
		else if (php_hone_apcu_on() &&
			 php_hone_cache_delete(Z_STR_P(key)))
			continue;
		Z_TRY_ADDREF_P(key);
		add_next_index_zval(result, key);
	}
	ZEND_HASH_FOREACH_END();
}

HONE_FUNCTION(apcu_delete)
{
	zval *key;

	HONE_ARGS(1, 1)
	HONE_ARG_ZVAL(key)
	HONE_ARGS_END();
	switch (Z_TYPE_P(key)) {
	case IS_STRING:
		RETURN_BOOL(php_hone_apcu_on() &&
			    php_hone_cache_delete(Z_STR_P(key)));
	case IS_ARRAY:
		delete_each(return_value, Z_ARRVAL_P(key));
		return;
	case IS_OBJECT:
		RETURN_BOOL(php_hone_apcu_iterator_delete(key));
	default:
		warn_of_delete();
		RETURN_FALSE;
	}
}
