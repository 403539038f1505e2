/* SPDX-License-Identifier: BSD-3-Clause */
/* The module: its hooks for start and end. */
#include "fileread/fileread.h"
/* The copy of hone_args_again() that all files share. */
#define HONE_ARGS_DEFINE
#include "cache/cache.h"
#include "ext/standard/info.h"
#include "zend_interfaces.h"
#include "hone_arginfo.h"

ZEND_DECLARE_MODULE_GLOBALS(hone)

#ifdef COMPILE_DL_HONE
#ifdef ZTS
ZEND_TSRMLS_CACHE_DEFINE()
#endif
ZEND_GET_MODULE(hone)
#endif

/* clang-format off */
PHP_INI_BEGIN()
	STD_PHP_INI_ENTRY("hone.cpu_limit", "", PHP_INI_SYSTEM, OnUpdateString,
		cpu_limit, zend_hone_globals, hone_globals)
	STD_PHP_INI_BOOLEAN("hone.file_reads", "1", PHP_INI_ALL, OnUpdateBool,
		fileread.on, zend_hone_globals, hone_globals)
	STD_PHP_INI_BOOLEAN("hone.file_reads_huge_pages", "1", PHP_INI_ALL,
		OnUpdateBool, fileread.huge_pages, zend_hone_globals,
		hone_globals)
PHP_INI_END()
/* clang-format on */

/*
 * hone.cpu_limit is a list such as "sse2,avx2"; "generic" stands for no feature
 * (PHP's INI parser makes an empty string of "none"). The limit holds for the
 * process, as hone_cpu_limit() does, hence PHP_INI_SYSTEM.
 */
static void
limit_cpu(const char *list)
{
	static const char separators[] = ", \t";
	uint64_t allowed = 0, feature;
	char *names, *name, *rest;

	if (list == NULL || list[0] == '\0')
		return;
	names = pestrdup(list, true);
	for (name = strtok_r(names, separators, &rest); name != NULL;
		name = strtok_r(NULL, separators, &rest)) {
		feature = hone_cpu_feature_by_name(name, strlen(name));
		if (feature == 0 && strcmp(name, "generic") != 0)
			zend_error(E_WARNING,
				"hone.cpu_limit: \"%s\" is not a CPU feature "
				"of libhone; the name is ignored",
				name);
		allowed |= feature;
	}
	pefree(names, true);
	hone_cpu_limit(allowed);
}

static PHP_GINIT_FUNCTION(hone)
{
#if defined(ZTS) && defined(COMPILE_DL_HONE)
	ZEND_TSRMLS_CACHE_UPDATE();
#endif
	memset(hone_globals, 0, sizeof *hone_globals);
}

static PHP_GSHUTDOWN_FUNCTION(hone)
{
	php_hone_cache_gshutdown(&hone_globals->cache);
}

static PHP_MINIT_FUNCTION(hone)
{
	REGISTER_INI_ENTRIES();
	limit_cpu(HONE_G(cpu_limit));
	php_hone_fileread_minit(type);
	register_class_Hone_Cache();
	php_hone_cache_minit(type, module_number,
		register_class_Hone_CacheEntries(zend_ce_iterator));
	return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(hone)
{
	php_hone_cache_mshutdown();
	php_hone_fileread_mshutdown();
	UNREGISTER_INI_ENTRIES();
	return SUCCESS;
}

static PHP_RINIT_FUNCTION(hone)
{
#if defined(ZTS) && defined(COMPILE_DL_HONE)
	ZEND_TSRMLS_CACHE_UPDATE();
#endif
	php_hone_fileread_rinit();
	php_hone_cache_rinit();
	return SUCCESS;
}

static ZEND_MODULE_POST_ZEND_DEACTIVATE_D(hone)
{
	php_hone_cache_post_deactivate();
	return SUCCESS;
}

static PHP_MINFO_FUNCTION(hone)
{
	const char *part;

	php_info_print_table_start();
	php_info_print_table_row(2, "Hone", "enabled");
	php_info_print_table_row(2, "Version", PHP_HONE_VERSION);
	php_info_print_table_row(2, "libhone", hone_version());
	php_info_print_table_row(
		2, "libhone, headers compiled with", HONE_VERSION_STRING);
	php_info_print_table_end();

	php_info_print_table_start();
	php_info_print_table_header(2, "Part of libhone", "CPU variant");
	for (size_t i = 0; (part = hone_cpu_part(i)) != NULL; i++)
		php_info_print_table_row(2, part, hone_cpu_variant(part));
	php_info_print_table_end();

	php_hone_fileread_minfo();
	php_hone_cache_minfo();
	DISPLAY_INI_ENTRIES();
}

zend_module_entry hone_module_entry = {
	STANDARD_MODULE_HEADER,
	"hone",
	NULL,
	PHP_MINIT(hone),
	PHP_MSHUTDOWN(hone),
	PHP_RINIT(hone),
	NULL,
	PHP_MINFO(hone),
	PHP_HONE_VERSION,
	PHP_MODULE_GLOBALS(hone),
	PHP_GINIT(hone),
	PHP_GSHUTDOWN(hone),
	ZEND_MODULE_POST_ZEND_DEACTIVATE_N(hone),
	STANDARD_MODULE_PROPERTIES_EX,
};
