/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_APCU_H
#define PHP_HONE_APCU_H
/*
 * The functions of APCu on the shared cache, for programs that are written for
 * APCu. They exist if APCu is not loaded. Results, warnings and errors are
 * those of APCu 5.1.22: docs/php-cache-reference.md has the differences.
 *
 *	apcu.c      the module apcu: functions, class, constants, INI apc.*
 *	store.c, fetch.c, figures.c  the functions
 *	iterator.c  APCUIterator
 */
#include "../cache.h"

/* APC_ITER_*: bits of the format of an iterator. */
#define PHP_HONE_ITERS(X)                                                      \
	X(TYPE, 0)                                                             \
	X(KEY, 1)                                                              \
	X(VALUE, 2)                                                            \
	X(NUM_HITS, 3)                                                         \
	X(MTIME, 4)                                                            \
	X(CTIME, 5)                                                            \
	X(DTIME, 6)                                                            \
	X(ATIME, 7)                                                            \
	X(REFCOUNT, 8)                                                         \
	X(MEM_SIZE, 9)                                                         \
	X(TTL, 10)
enum php_hone_iter {
#define ITER(name, bit) PHP_HONE_ITER_##name = 1 << (bit),
	PHP_HONE_ITERS(ITER)
#undef ITER
};
#define PHP_HONE_ITER_ALL Z_L(0xffffffff)

#define PHP_HONE_LIST_ACTIVE 1
#define PHP_HONE_LIST_DELETED 2

/* Without a cache, the functions of cache.h return false. */
static zend_always_inline bool
php_hone_apcu_on(void)
{
	return EXPECTED(HONE_G(cache).apc.enabled);
}

void php_hone_apcu_iterator_minit(zend_class_entry *class);
/* Deletes all keys of an APCUIterator. Returns false if the object has another
 * class. Throws if the object has not been constructed. */
bool php_hone_apcu_iterator_delete(zval *object);

#endif
