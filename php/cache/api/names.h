/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_CACHE_NAMES_H
#define PHP_HONE_CACHE_NAMES_H
/* The keys of results that have an array for each key of the cache, interned
 * once. entries.c has them. */
#include "../../php_hone.h"

#define PHP_HONE_NAMES(X)                                                      \
	X(access_time)                                                         \
	X(created)                                                             \
	X(creation_time)                                                       \
	X(deletion_time)                                                       \
	X(expires)                                                             \
	X(hits)                                                                \
	X(info)                                                                \
	X(key)                                                                 \
	X(mem_size)                                                            \
	X(mtime)                                                               \
	X(num_hits)                                                            \
	X(ref_count)                                                           \
	X(refs)                                                                \
	X(size)                                                                \
	X(tags)                                                                \
	X(ttl)                                                                 \
	X(type)                                                                \
	X(user)                                                                \
	X(value)

enum php_hone_name {
#define NAME(name) PHP_HONE_NAME_##name,
	PHP_HONE_NAMES(NAME)
#undef NAME
		PHP_HONE_NAME_COUNT,
};

/* Set once, before a second thread exists. */
extern zend_string *php_hone_names[PHP_HONE_NAME_COUNT];

/* Adds an element. Each name is added once. */
static zend_always_inline void
php_hone_named_add(zval *array, enum php_hone_name name, zval *value)
{
	zend_hash_add_new(Z_ARRVAL_P(array), php_hone_names[name], value);
}

static zend_always_inline void
php_hone_named_add_long(zval *array, enum php_hone_name name, zend_long number)
{
	zval value;

	ZVAL_LONG(&value, number);
	php_hone_named_add(array, name, &value);
}

#endif
