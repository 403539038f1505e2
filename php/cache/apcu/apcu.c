/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of APCu are a module of their own with its name, because
 * programs ask for extension_loaded('apcu'). PHP ends modules in reverse order,
 * so this module ends before hone, which has its memory.
 */
#include "apcu.h"
#include "php_ini.h"
#include "ext/standard/info.h"
#include "zend_interfaces.h"
#include "apcu_arginfo.h"

#define LOADED "apcu is loaded: phpdismod apcu"

static bool offered;
/* APCu itself is loaded, although its functions are wanted from here. */
static bool is_in_the_way;

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

ZEND_COLD void
php_hone_apcu_tell(void)
{
	if (is_in_the_way && php_hone_early_is_server())
		php_hone_early_notice(
			"hone: " LOADED
			" (its functions do not use the cache of hone; "
			"hone.apcu_compat=0 if this is meant)");
}

const char *
php_hone_apcu_state(void)
{
	if (is_in_the_way)
		return "not offered, " LOADED;
	return php_hone_apcu_enabled() ? "offered" : "not offered";
}

static void
register_constants(int module_number)
{
#define CONSTANT(name, value)                                                  \
	REGISTER_LONG_CONSTANT(name, value, CONST_PERSISTENT | CONST_CS)
	CONSTANT("APC_LIST_ACTIVE", PHP_HONE_LIST_ACTIVE);
	CONSTANT("APC_LIST_DELETED", PHP_HONE_LIST_DELETED);
#define ITER(name, bit) CONSTANT("APC_ITER_" #name, PHP_HONE_ITER_##name);
	PHP_HONE_ITERS(ITER)
#undef ITER
	CONSTANT("APC_ITER_NONE", 0);
	CONSTANT("APC_ITER_ALL", PHP_HONE_ITER_ALL);
#undef CONSTANT
}

static PHP_MINIT_FUNCTION(apcu)
{
	php_hone_apcu_settings(type, module_number);
	register_constants(module_number);
	php_hone_apcu_iterator_minit(
		register_class_APCUIterator(zend_ce_iterator));
	return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(apcu)
{
	UNREGISTER_INI_ENTRIES();
	return SUCCESS;
}

static PHP_MINFO_FUNCTION(apcu)
{
	php_info_print_table_start();
	php_info_print_table_row(2, "APCu Support",
		php_hone_apcu_enabled() ? "Enabled" : "Disabled");
	php_info_print_table_row(2, "Version", PHP_HONE_APCU_VERSION);
	php_info_print_table_row(2, "Served by",
		"Hone " PHP_HONE_VERSION ", not by APCu itself");
	php_info_print_table_end();
	DISPLAY_INI_ENTRIES();
}

static const zend_module_entry template = {
	STANDARD_MODULE_HEADER,
	"apcu",
	ext_functions,
	PHP_MINIT(apcu),
	PHP_MSHUTDOWN(apcu),
	NULL,
	NULL,
	PHP_MINFO(apcu),
	PHP_HONE_APCU_VERSION,
	STANDARD_MODULE_PROPERTIES,
};

/* PHP writes to the entry: each start of PHP in this process needs a new one.
 */
static zend_module_entry apcu_module_entry;

/* As PHP does with a module of php.ini. Warns and returns false if a function
 * of that name exists. The module of a class is EG(current_module). */
static bool
register_module(void)
{
	zend_module_entry *module, *caller = EG(current_module);
	bool done;

	memcpy(&apcu_module_entry, &template, sizeof template);
	module = zend_register_internal_module(&apcu_module_entry);
	done = module != NULL && zend_startup_module_ex(module) == SUCCESS;
	EG(current_module) = caller;
	return done;
}

void
php_hone_apcu_minit(int type, int module_number)
{
	/* What dl() loaded ends with its request, a module of ours does not. */
	offered = type != MODULE_TEMPORARY && HONE_G(cache).apcu_compat;
	/* All modules of php.ini are in the registry before the first of them
	 * starts: the order of their lines does not matter. */
	is_in_the_way = offered && zend_hash_str_exists(
					   &module_registry, ZEND_STRL("apcu"));
	offered = offered && !is_in_the_way;
	if (!offered)
		return;
	if (HONE_G(cache).apcu_module)
		offered = register_module();
	else
		offered = zend_register_functions(
				  NULL, ext_functions, NULL, type) == SUCCESS &&
			  ZEND_MODULE_STARTUP_N(apcu)(type, module_number) ==
				  SUCCESS;
}
