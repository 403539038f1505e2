/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts values with objects to strings by PHP's serialize() or by
 * igbinary. */
#include "../cache.h"
#include "ext/standard/basic_functions.h"
#include "ext/standard/php_var.h"
#include "zend_smart_str.h"
#include <dlfcn.h>

typedef int (*igbinary_serialize_fn)(uint8_t **bytes, size_t *len, zval *value);
typedef int (*igbinary_unserialize_fn)(
	const uint8_t *bytes, size_t len, zval *value);

/* PHP does not install the header of igbinary. */
static void *
igbinary(const char *function)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(
		&module_registry, "igbinary", sizeof "igbinary" - 1);
	void *handle = module != NULL && module->handle != NULL ? module->handle
								: RTLD_DEFAULT;

	return module != NULL ? dlsym(handle, function) : NULL;
}

static bool
wants_igbinary(void)
{
	const char *apc = HONE_G(cache).apc.serializer;

	if (php_hone_apcu_offered() && apc != NULL &&
		php_hone_cache_is_set("apc.serializer") &&
		!php_hone_cache_is_set("hone.cache_serializer"))
		return strcmp(apc, "igbinary") == 0;
	return HONE_G(cache).igbinary;
}

static zend_string *
by_igbinary(zval *value, igbinary_serialize_fn serialize)
{
	uint8_t *bytes = NULL;
	zend_string *result = NULL;
	size_t len = 0;

	if (serialize(&bytes, &len, value) == 0 && !EG(exception))
		result = zend_string_init((char *)bytes, len, 0);
	if (bytes != NULL)
		efree(bytes);
	return result;
}

static zend_string *
by_php(zval *value)
{
	php_serialize_data_t data;
	smart_str text = {0};

	/* As in APCu: a serialize() in code of the user gets its own table of
	 * values. */
	BG(serialize_lock)++;
	PHP_VAR_SERIALIZE_INIT(data);
	php_var_serialize(&text, value, &data);
	PHP_VAR_SERIALIZE_DESTROY(data);
	BG(serialize_lock)--;
	if (EG(exception)) {
		smart_str_free(&text);
		return NULL;
	}
	smart_str_0(&text);
	return text.s;
}

zend_string *
php_hone_value_serialize(zval *value, uint8_t *flags)
{
	if (wants_igbinary()) {
		igbinary_serialize_fn serialize =
			(igbinary_serialize_fn)igbinary("igbinary_serialize");
		if (serialize != NULL) {
			*flags = PHP_HONE_IGBINARY;
			return by_igbinary(value, serialize);
		}
	}
	*flags = PHP_HONE_SERIALIZED;
	return by_php(value);
}

static bool
from_igbinary(zval *value, const zend_string *bytes)
{
	igbinary_unserialize_fn unserialize =
		(igbinary_unserialize_fn)igbinary("igbinary_unserialize");

	return unserialize != NULL &&
	       unserialize((const uint8_t *)ZSTR_VAL(bytes), ZSTR_LEN(bytes),
		       value) == 0;
}

/* The level of unserialize()'s message about invalid bytes. */
#if PHP_VERSION_ID >= 80300
#define LEVEL E_WARNING
#else
#define LEVEL E_NOTICE
#endif

/* Bytes of the C stack that a level of unserialize() takes: 240 in PHP 8.2. */
#define LEVEL_STACK 320

static bool
from_php(zval *value, const zend_string *bytes)
{
	const unsigned char *begin = (const unsigned char *)ZSTR_VAL(bytes);
	const unsigned char *at = begin;
	php_unserialize_data_t data;
	zend_long most, levels;
	bool limited;
	int good;

	BG(serialize_lock)++;
	PHP_VAR_UNSERIALIZE_INIT(data);
	/* 0: no limit. */
	most = php_var_unserialize_get_max_depth(data);
	levels = (zend_long)(php_hone_stack_left() / LEVEL_STACK);
	limited = php_hone_stack_limit() != 0 && (most == 0 || most > levels);
	if (UNEXPECTED(limited))
		php_var_unserialize_set_max_depth(data, MAX(levels, 1));
	good = php_var_unserialize(value, &at, begin + ZSTR_LEN(bytes), &data);
	/* Before the destruction of `data`, as in unserialize(). So an object
	 * of invalid bytes is destroyed after its own __unserialize() or
	 * __wakeup(), before that of the next object. */
	if (!good) {
		if (!EG(exception))
			php_error_docref(NULL, LEVEL,
				"Error at offset " ZEND_LONG_FMT
				" of %zu bytes%s",
				(zend_long)(at - begin), ZSTR_LEN(bytes),
				limited ? "; the maximum depth is that of the "
					  "stack of this thread or fiber"
					: "");
		zval_ptr_dtor(value);
		ZVAL_NULL(value);
	}
	/* This may call __wakeup() and __unserialize(). */
	PHP_VAR_UNSERIALIZE_DESTROY(data);
	BG(serialize_lock)--;
	return good;
}

bool
php_hone_value_unserialize(zval *value, const zend_string *bytes, uint8_t flags)
{
	bool good;

	ZVAL_NULL(value);
	good = flags & PHP_HONE_IGBINARY ? from_igbinary(value, bytes)
					 : from_php(value, bytes);
	if (!good || EG(exception)) {
		zval_ptr_dtor(value);
		ZVAL_NULL(value);
		return false;
	}
	if (Z_ISREF_P(value))
		zend_unwrap_reference(value);
	return true;
}

bool
php_hone_value_restore(zval *value, const zval *root, uint8_t flags)
{
	if (flags & PHP_HONE_OBJECTS)
		return php_hone_objects_make(Z_ARR_P(root), value);
	return php_hone_value_unserialize(value, Z_STR_P(root), flags);
}
