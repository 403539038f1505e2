/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether the functions of APCu are offered, and registers them. */
#include "apcu.h"
#include "zend_interfaces.h"
#include "apcu_arginfo.h"

static bool offered;

bool
php_hone_apcu_offered(void)
{
	return offered;
}

bool
php_hone_apcu_enabled(void)
{
	return offered && HONE_G(cache).apc.enabled &&
	       php_hone_cache_open() != NULL;
}

/*
 * All modules of php.ini are in the registry before the first of them starts:
 * the order of their lines does not matter.
 */
static bool
apcu_is_loaded(void)
{
	return zend_hash_str_exists(
		&module_registry, "apcu", sizeof "apcu" - 1);
}

/* Called by php_hone_apcu_settings(), when hone.* has been read. */
void
php_hone_apcu_offer(int type)
{
	offered = type != MODULE_TEMPORARY && HONE_G(cache).apcu_compat &&
		  !apcu_is_loaded();
}

void
php_hone_apcu_minit(int type, int module_number)
{
#define CONSTANT(name, value)                                                  \
	REGISTER_LONG_CONSTANT(name, value, CONST_PERSISTENT | CONST_CS)
	if (!offered)
		return;
	if (zend_register_functions(NULL, ext_functions, NULL, type) !=
		SUCCESS) {
		offered = false;
		return;
	}
	CONSTANT("APC_LIST_ACTIVE", PHP_HONE_LIST_ACTIVE);
	CONSTANT("APC_LIST_DELETED", PHP_HONE_LIST_DELETED);
	CONSTANT("APC_ITER_TYPE", PHP_HONE_ITER_TYPE);
	CONSTANT("APC_ITER_KEY", PHP_HONE_ITER_KEY);
	CONSTANT("APC_ITER_VALUE", PHP_HONE_ITER_VALUE);
	CONSTANT("APC_ITER_NUM_HITS", PHP_HONE_ITER_NUM_HITS);
	CONSTANT("APC_ITER_MTIME", PHP_HONE_ITER_MTIME);
	CONSTANT("APC_ITER_CTIME", PHP_HONE_ITER_CTIME);
	CONSTANT("APC_ITER_DTIME", PHP_HONE_ITER_DTIME);
	CONSTANT("APC_ITER_ATIME", PHP_HONE_ITER_ATIME);
	CONSTANT("APC_ITER_REFCOUNT", PHP_HONE_ITER_REFCOUNT);
	CONSTANT("APC_ITER_MEM_SIZE", PHP_HONE_ITER_MEM_SIZE);
	CONSTANT("APC_ITER_TTL", PHP_HONE_ITER_TTL);
	CONSTANT("APC_ITER_NONE", 0);
	CONSTANT("APC_ITER_ALL", PHP_HONE_ITER_ALL);
	php_hone_apcu_iterator_minit(
		register_class_APCUIterator(zend_ce_iterator));
#undef CONSTANT
}
