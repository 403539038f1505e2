/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of APCu are a module of their own with its name, because
 * programs ask for extension_loaded('apcu'). PHP ends modules in reverse order,
 * so this module ends before hone, which has its memory.
 */
#include "apcu.h"
#include <ctype.h>
#include "php_ini.h"
#include "ext/standard/info.h"
#include "zend_interfaces.h"
#include "apcu_arginfo.h"

/* The version of the functions: phpversion('apcu'). */
#define VERSION "5.1.22"
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

/* INI apc.*: some have an effect, others are only read by programs. */
#define MIB (1 << 20)

#define ENTRY(name, value, when, handler, member)                              \
	STD_PHP_INI_ENTRY("apc." name, value, when, handler, cache.apc.member, \
		zend_hone_globals, hone_globals)
#define BOOLEAN(name, value, when, member)                                     \
	STD_PHP_INI_BOOLEAN("apc." name, value, when, OnUpdateBool,            \
		cache.apc.member, zend_hone_globals, hone_globals)

/* As in APCu, a number without a suffix is in MiB if it is less than 1 MiB. */
static PHP_INI_MH(on_shm_size)
{
	zend_long *size = &HONE_G(cache).apc.shm_size;

	if (php_hone_cache_on_number(entry, new_value, mh_arg1, mh_arg2,
		    mh_arg3, stage) == FAILURE)
		return FAILURE;
	/* An empty value is 0. */
	if (*size > 0 && *size < MIB &&
		isdigit((unsigned char)ZSTR_VAL(
			new_value)[ZSTR_LEN(new_value) - 1]))
		*size *= MIB;
	return SUCCESS;
}

/* clang-format off */
PHP_INI_BEGIN()
	BOOLEAN("enabled", "1", PHP_INI_SYSTEM, enabled)
	BOOLEAN("enable_cli", "0", PHP_INI_SYSTEM, enable_cli)
	BOOLEAN("use_request_time", "0", PHP_INI_ALL, use_request_time)
	PHP_HONE_NUMBER("apc.shm_size", "32M", PHP_INI_SYSTEM, on_shm_size,
		apc.shm_size, 0, ZEND_LONG_MAX, PHP_HONE_A_SIZE)
	PHP_HONE_NUMBER("apc.ttl", "0", PHP_INI_SYSTEM,
		php_hone_cache_on_number, apc.ttl, 0, ZEND_LONG_MAX,
		PHP_HONE_A_TIME)
	ENTRY("serializer", "php", PHP_INI_SYSTEM, OnUpdateStringUnempty,
		serializer)
	ENTRY("shm_segments", "1", PHP_INI_SYSTEM, OnUpdateString, unused)
	ENTRY("entries_hint", "4096", PHP_INI_SYSTEM, OnUpdateString, unused)
	ENTRY("gc_ttl", "3600", PHP_INI_SYSTEM, OnUpdateString, unused)
	ENTRY("smart", "0", PHP_INI_SYSTEM, OnUpdateString, unused)
	ENTRY("slam_defense", "0", PHP_INI_SYSTEM, OnUpdateString, unused)
	ENTRY("mmap_file_mask", NULL, PHP_INI_SYSTEM, OnUpdateString, unused)
	ENTRY("preload_path", NULL, PHP_INI_SYSTEM, OnUpdateString, unused)
	ENTRY("coredump_unmap", "0", PHP_INI_SYSTEM, OnUpdateString, unused)
PHP_INI_END()
/* clang-format on */

/* Sets the value that ini_get() returns. PHP would free the changes of
 * zend_alter_ini_entry() before the first request. */
static void
set(const char *name, const char *value)
{
	zend_ini_entry *entry =
		zend_hash_str_find_ptr(EG(ini_directives), name, strlen(name));

	if (entry == NULL)
		return;
	if (entry->value != NULL)
		zend_string_release_ex(entry->value, 1);
	entry->value = zend_string_init_interned(value, strlen(value), 1);
}

void
php_hone_apcu_disable(void)
{
	zend_string *name;

	if (!php_hone_apcu_offered() || !HONE_G(cache).apc.enabled)
		return;
	name = zend_string_init("apc.enabled", sizeof "apc.enabled" - 1, 0);
	zend_alter_ini_entry_chars(
		name, "0", 1, PHP_INI_SYSTEM, PHP_INI_STAGE_ACTIVATE);
	zend_string_release(name);
}

/* Programs for APCu read apc.*, so these settings reflect hone.*. */
static void
register_settings(int type, int module_number)
{
	const char *pools = HONE_G(cache).pools;

	REGISTER_INI_ENTRIES();
	if (HONE_G(cache).cli) {
		set("apc.enable_cli", "1");
		HONE_G(cache).apc.enable_cli = true;
	}
	if (HONE_G(cache).size == 0 && (pools == NULL || *pools == '\0')) {
		set("apc.enabled", "0");
		HONE_G(cache).apc.enabled = false;
	}
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
	register_settings(type, module_number);
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
	php_info_print_table_row(2, "Version", VERSION);
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
	VERSION,
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
