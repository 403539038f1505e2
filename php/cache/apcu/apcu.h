/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_APCU_H
#define PHP_HONE_APCU_H
/*
 * The functions of APCu on the shared cache, for programs that are written for
 * APCu. They exist if APCu is not loaded. Results, warnings and errors are
 * those of APCu 5.1.22: docs/php-cache-reference.md has the differences.
 *
 *	apcu.c      the module apcu: functions, class, constants
 *	settings.c  INI apc.*
 *	store.c, fetch.c, figures.c  the functions
 *	iterator.c  APCUIterator
 */
#include "../cache.h"

/* The version of the functions: phpversion('apcu'). */
#define PHP_HONE_APCU_VERSION "5.1.22"

#define PHP_HONE_ITER_TYPE (1 << 0)
#define PHP_HONE_ITER_KEY (1 << 1)
#define PHP_HONE_ITER_VALUE (1 << 2)
#define PHP_HONE_ITER_NUM_HITS (1 << 3)
#define PHP_HONE_ITER_MTIME (1 << 4)
#define PHP_HONE_ITER_CTIME (1 << 5)
#define PHP_HONE_ITER_DTIME (1 << 6)
#define PHP_HONE_ITER_ATIME (1 << 7)
#define PHP_HONE_ITER_REFCOUNT (1 << 8)
#define PHP_HONE_ITER_MEM_SIZE (1 << 9)
#define PHP_HONE_ITER_TTL (1 << 10)
#define PHP_HONE_ITER_ALL Z_L(0xffffffff)

#define PHP_HONE_LIST_ACTIVE 1
#define PHP_HONE_LIST_DELETED 2

/*
 * Whether the functions have an effect. Without a cache, the functions of
 * cache.h return false.
 */
static zend_always_inline bool
php_hone_apcu_on(void)
{
	return EXPECTED(HONE_G(cache).apc.enabled);
}

/* settings.c */
void php_hone_apcu_settings(int type, int module_number);

/* iterator.c */
void php_hone_apcu_iterator_minit(zend_class_entry *class);
/* Deletes all keys of an APCUIterator. Returns false if the object has another
 * class. Throws if the object has not been constructed. */
bool php_hone_apcu_iterator_delete(zval *object);

#endif
