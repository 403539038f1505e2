/* SPDX-License-Identifier: BSD-3-Clause */
/* INI apc.*: some have an effect, others are only read by programs. */
#include "apcu.h"
#include <ctype.h>

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

/* A script of this process reads that there is no cache. PHP restores the
 * setting after the request. */
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

static bool
has_a_cache(void)
{
	const char *pools = HONE_G(cache).pools;

	return HONE_G(cache).size != 0 || (pools != NULL && *pools != '\0');
}

/* Programs for APCu read apc.*, so these settings reflect hone.*. */
void
php_hone_apcu_settings(int type, int module_number)
{
	REGISTER_INI_ENTRIES();
	if (HONE_G(cache).cli) {
		set("apc.enable_cli", "1");
		HONE_G(cache).apc.enable_cli = true;
	}
	if (!has_a_cache()) {
		set("apc.enabled", "0");
		HONE_G(cache).apc.enabled = false;
	}
}
