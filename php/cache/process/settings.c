/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings: docs/php-cache-reference.md. Those of APCu are in
 * apcu/apcu.c. */
#include "../cache.h"

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

/* PHP itself would accept any other word as "off", and any other number as
 * "on". mh_arg1 is the offset of a bool in struct php_hone_cache, mh_arg3 the
 * default as a word. */
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

/* The words of a setting; the first one is the default. */
struct choice {
	const char *what; /* as in struct php_hone_number */
	const char *const words[5];
};

/* mh_arg1 is the offset of a uint8_t in struct php_hone_cache, which becomes
 * the number of the word; mh_arg2 is a choice. */
static PHP_INI_MH(on_choice)
{
	const struct choice *choice = mh_arg2;

	(void)mh_arg3;
	for (unsigned i = 0; choice->words[i] != NULL; i++) {
		if (zend_string_equals_cstr(new_value, choice->words[i],
			    strlen(choice->words[i]))) {
			*((uint8_t *)&HONE_G(cache) + (size_t)mh_arg1) =
				(uint8_t)i;
			return SUCCESS;
		}
	}
	return refuse(entry, new_value, choice->what, choice->words[0], stage);
}

static PHP_INI_MH(on_cold)
{
	int result =
		on_choice(entry, new_value, mh_arg1, mh_arg2, mh_arg3, stage);

	HONE_G(cache).member.packs = !HONE_G(cache).cold_off;
	return result;
}

#define ENTRY(name, value, when, handler, member)                              \
	STD_PHP_INI_ENTRY("hone.cache_" name, value, when, handler,            \
		cache.member, zend_hone_globals, hone_globals)
#define NUMBER(name, value, when, member, what)                                \
	PHP_HONE_NUMBER("hone.cache_" name, value, when,                       \
		php_hone_cache_on_number, member, 0, ZEND_LONG_MAX, what)
#define CHOICE(name, when, handler, member, what, word, ...)                   \
	PHP_INI_ENTRY2("hone.cache_" name, word, when, handler,                \
		(void *)offsetof(struct php_hone_cache, member),               \
		(void *)&((const struct choice){what, {word, __VA_ARGS__}}))
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
	PHP_HONE_NUMBER("hone.cache_slots", "1024", PHP_INI_SYSTEM,
		php_hone_cache_on_number, slots, 1, INT32_MAX,
		"a number from 1 to 2147483647")
	CHOICE("serializer", PHP_INI_SYSTEM, on_choice, igbinary,
		"php or igbinary", "php", "igbinary")
	CHOICE("objects", PHP_INI_ALL, on_choice, serialize_objects,
		"auto or serialize", "auto", "serialize")
	/* An ini file has "off" as an empty string. */
	CHOICE("cold", PHP_INI_ALL, on_cold, cold_off, "auto or off", "auto",
		"off", "")
	CHOICE("read", PHP_INI_ALL, on_choice, read,
		"auto, shared, block or copy", "auto", "shared", "block",
		"copy")
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
