/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings: docs/php-cache-reference.md. Those of APCu are in
 * apcu/settings.c. */
#include "../cache.h"

const char *const php_hone_read_names[] = {
	[PHP_HONE_READ_AUTO] = "auto",
	[PHP_HONE_READ_SHARED] = "shared",
	[PHP_HONE_READ_BLOCK] = "block",
	[PHP_HONE_READ_COPY] = "copy",
};

/* At the start, PHP uses the default if a handler fails. */
static int
refuse(const zend_ini_entry *entry, const zend_string *value, const char *what,
	const char *otherwise, int stage)
{
	bool starts = stage == ZEND_INI_STAGE_STARTUP;

	if (!starts && entry->value != NULL)
		otherwise = ZSTR_VAL(entry->value);
	zend_error(E_WARNING,
		starts ? "%s: \"%s\" is not %s; the default %s is used"
		       : "%s: \"%s\" is not %s; the setting stays %s",
		ZSTR_VAL(entry->name), ZSTR_VAL(value), what, otherwise);
	return FAILURE;
}

PHP_INI_MH(php_hone_cache_on_number)
{
	const struct php_hone_number *number = mh_arg2;
	zend_string *problem = NULL;
	zend_long value = zend_ini_parse_quantity(new_value, &problem);

	(void)mh_arg3;
	if (problem != NULL)
		zend_string_release(problem);
	if (problem != NULL || value < number->least || value > number->most)
		return refuse(entry, new_value, number->what, number->otherwise,
			stage);
	*(zend_long *)((char *)&HONE_G(cache) + (size_t)mh_arg1) = value;
	return SUCCESS;
}

/*
 * PHP itself would accept any other word as "off", and any other number as
 * "on". mh_arg1 is the offset of a bool in struct php_hone_cache, mh_arg3 the
 * default as a word.
 */
static PHP_INI_MH(on_switch)
{
	static const char *const words[] = {
		"1", "on", "yes", "true", "", "0", "off", "no", "false"};

	(void)mh_arg2;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		if (zend_binary_strcasecmp(ZSTR_VAL(new_value),
			    ZSTR_LEN(new_value), words[i],
			    strlen(words[i])) == 0) {
			*(bool *)((char *)&HONE_G(cache) + (size_t)mh_arg1) =
				zend_ini_parse_bool(new_value);
			return SUCCESS;
		}
	}
	return refuse(entry, new_value, "on or off", mh_arg3, stage);
}

static PHP_INI_MH(on_read)
{
	(void)mh_arg1, (void)mh_arg2, (void)mh_arg3;
	for (unsigned i = 0; i <= PHP_HONE_READ_COPY; i++) {
		if (zend_string_equals_cstr(new_value, php_hone_read_names[i],
			    strlen(php_hone_read_names[i]))) {
			HONE_G(cache).read = (enum php_hone_read)i;
			return SUCCESS;
		}
	}
	return refuse(entry, new_value, "auto, shared, block or copy",
		php_hone_read_names[PHP_HONE_READ_AUTO], stage);
}

static PHP_INI_MH(on_serializer)
{
	if (!zend_string_equals_literal(new_value, "php") &&
		!zend_string_equals_literal(new_value, "igbinary"))
		return refuse(
			entry, new_value, "php or igbinary", "php", stage);
	return OnUpdateString(
		entry, new_value, mh_arg1, mh_arg2, mh_arg3, stage);
}

static PHP_INI_MH(on_objects)
{
	(void)mh_arg1, (void)mh_arg2, (void)mh_arg3;
	if (!zend_string_equals_literal(new_value, "auto") &&
		!zend_string_equals_literal(new_value, "serialize"))
		return refuse(
			entry, new_value, "auto or serialize", "auto", stage);
	HONE_G(cache).serialize_objects =
		zend_string_equals_literal(new_value, "serialize");
	return SUCCESS;
}

/* An ini file has "off" as an empty string. */
static PHP_INI_MH(on_cold)
{
	bool off = ZSTR_LEN(new_value) == 0 ||
		   zend_string_equals_literal(new_value, "off");

	(void)mh_arg1, (void)mh_arg2, (void)mh_arg3;
	if (!off && !zend_string_equals_literal(new_value, "auto"))
		return refuse(entry, new_value, "auto or off", "auto", stage);
	HONE_G(cache).cold_off = off;
	HONE_G(cache).member.packs = !off;
	return SUCCESS;
}

#define ENTRY(name, value, when, handler, member)                              \
	STD_PHP_INI_ENTRY("hone.cache_" name, value, when, handler,            \
		cache.member, zend_hone_globals, hone_globals)
#define NUMBER(name, value, when, member, what)                                \
	PHP_HONE_NUMBER("hone.cache_" name, value, when,                       \
		php_hone_cache_on_number, member, 0, ZEND_LONG_MAX, what)
/* value: the default of ini_get(); word: the default in a warning. */
#define SWITCH(name, value, word, member)                                      \
	PHP_INI_ENTRY3_EX("hone." name, value, PHP_INI_SYSTEM, on_switch,      \
		(void *)offsetof(struct php_hone_cache, member), NULL,         \
		(void *)(word), zend_ini_boolean_displayer_cb)

/* The macros of PHP for tables end without a semicolon. */
/* clang-format off */
PHP_INI_BEGIN()
	NUMBER("size", "32M", PHP_INI_SYSTEM, size, PHP_HONE_A_SIZE)
	ENTRY("pools", "", PHP_INI_SYSTEM, OnUpdateString, pools)
	ENTRY("pool", "", PHP_INI_SYSTEM, OnUpdateString, pool)
	ENTRY("snapshot", "", PHP_INI_SYSTEM, OnUpdateString, snapshot)
	SWITCH("cache_cli", "0", "off", cli)
	SWITCH("apcu_compat", "1", "on", apcu_compat)
	SWITCH("apcu_module", "1", "on", apcu_module)
	SWITCH("cache_protect", "0", "off", protect)
	SWITCH("cache_huge_pages", "0", "off", huge_pages)
	SWITCH("cache_populate", "0", "off", populate)
	PHP_HONE_NUMBER("hone.cache_slots", "1024", PHP_INI_SYSTEM,
		php_hone_cache_on_number, slots, 1, INT32_MAX,
		"a number from 1 to 2147483647")
	ENTRY("serializer", "php", PHP_INI_SYSTEM, on_serializer, serializer)
	PHP_INI_ENTRY("hone.cache_objects", "auto", PHP_INI_ALL, on_objects)
	PHP_INI_ENTRY("hone.cache_cold", "auto", PHP_INI_ALL, on_cold)
	PHP_INI_ENTRY("hone.cache_read", "auto", PHP_INI_ALL, on_read)
	NUMBER("shared_seconds", "60", PHP_INI_ALL, shared_seconds,
		PHP_HONE_A_TIME)
	NUMBER("block_bytes", "16M", PHP_INI_ALL, block_bytes,
		PHP_HONE_A_SIZE)
PHP_INI_END()
/* clang-format on */

bool
php_hone_cache_is_set(const char *name)
{
	return cfg_get_entry(name, strlen(name)) != NULL;
}

void
php_hone_cache_settings(int type, int module_number)
{
	REGISTER_INI_ENTRIES();
}
