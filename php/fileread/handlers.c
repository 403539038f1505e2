/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces the handlers of PHP's functions, restores them, and shows their
 * figures in phpinfo().
 */
#include "fileread.h"
#include "ext/standard/info.h"

typedef bool (*fast_path)(zend_execute_data *execute_data, zval *result);
typedef void (*after)(zend_execute_data *execute_data, const zval *result);

/*
 * PHP's handlers. They are written when the module starts, before a second
 * thread exists, and only read afterwards. NULL: the function is not wrapped.
 */
static zif_handler php_handlers[PHP_HONE_FUNCTIONS];

static zend_always_inline void
php_hone_after_any(zend_execute_data *execute_data, const zval *result)
{
}

static zend_always_inline void
serve(INTERNAL_FUNCTION_PARAMETERS, enum php_hone_function function,
	fast_path path, after after_php)
{
	if (!HONE_G(fileread).on)
		php_hone_fall_back(PHP_HONE_REASON_OFF);
	else if (path(execute_data, return_value))
		return;
	php_handlers[function](INTERNAL_FUNCTION_PARAM_PASSTHRU);
	after_php(execute_data, return_value);
}

#define PHP_HONE_FUNCTION(constant, name, after_php)                           \
	static ZEND_NAMED_FUNCTION(handle_##name)                              \
	{                                                                      \
		serve(INTERNAL_FUNCTION_PARAM_PASSTHRU, PHP_HONE_##constant,   \
			php_hone_##name, after_php);                           \
	}
#include "functions.def"
#undef PHP_HONE_FUNCTION

static const struct {
	const char *name;
	zif_handler handler;
} wrapped[PHP_HONE_FUNCTIONS] = {
#define PHP_HONE_FUNCTION(constant, name, after_php)                           \
	[PHP_HONE_##constant] = {#name, handle_##name},
#include "functions.def"
#undef PHP_HONE_FUNCTION
};

static const char *const reasons[PHP_HONE_REASONS] = {
#define PHP_HONE_REASON(constant, text) [PHP_HONE_REASON_##constant] = text,
#include "reasons.def"
#undef PHP_HONE_REASON
};

/* Searches each time, because PHP removes disabled functions from the table
 * before the module ends. */
static zend_internal_function *
find(size_t i)
{
	zend_function *function = zend_hash_str_find_ptr(
		CG(function_table), wrapped[i].name, strlen(wrapped[i].name));

	if (function == NULL || function->type != ZEND_INTERNAL_FUNCTION)
		return NULL;
	return &function->internal_function;
}

/*
 * A module that dl() loaded wraps no function: dl() unloads the module at the
 * end of the request, but code of the JIT would still call these handlers.
 */
void
php_hone_fileread_minit(int type)
{
	bool files_are_php;

	HONE_G(fileread).by_dl = type != MODULE_PERSISTENT;
	if (HONE_G(fileread).by_dl)
		return;
	files_are_php = php_hone_note_files();
	for (size_t i = 0; i < PHP_HONE_FUNCTIONS; i++) {
		zend_internal_function *function = find(i);

		if (function == NULL || !files_are_php ||
			!php_hone_is_php(wrapped[i].name, function->handler))
			continue;
		php_handlers[i] = function->handler;
		function->handler = wrapped[i].handler;
	}
}

void
php_hone_fileread_mshutdown(void)
{
	for (size_t i = 0; i < PHP_HONE_FUNCTIONS; i++) {
		zend_internal_function *function = find(i);

		/* An extension that wrapped this handler has restored it by
		 * now, or never will. */
		if (function != NULL && function->handler == wrapped[i].handler)
			function->handler = php_handlers[i];
		php_handlers[i] = NULL;
	}
}

/*
 * Extensions cannot read the variable that enables PHP's realpath cache. PHP
 * disables the cache if its size is 0, and permanently after a request that
 * began with open_basedir.
 */
void
php_hone_fileread_rinit(void)
{
	if (PG(open_basedir) != NULL && *PG(open_basedir) != '\0')
		HONE_G(fileread).no_realpath_cache = true;
	HONE_G(fileread).device = 0;
	HONE_G(fileread).realpath_cache =
		!HONE_G(fileread).no_realpath_cache &&
		zend_ini_long("realpath_cache_size",
			sizeof "realpath_cache_size" - 1, 0) != 0;
}

/* Shows the number of calls on the fast path, or the reason why the function is
 * not wrapped. */
static void
show_function(size_t i)
{
	char count[32];
	const char *shown = count;

	snprintf(count, sizeof count, "%" PRIu64, HONE_G(fileread).taken[i]);
	if (HONE_G(fileread).by_dl)
		shown = "not wrapped: loaded by dl()";
	else if (find(i) == NULL)
		shown = "not wrapped: disabled";
	else if (php_handlers[i] == NULL)
		shown = "not wrapped: another extension was first";
	php_info_print_table_row(2, wrapped[i].name, shown);
}

void
php_hone_fileread_minfo(void)
{
	char count[32];

	php_info_print_table_start();
	php_info_print_table_header(2, "File reads on the fast path", "Calls");
	for (size_t i = 0; i < PHP_HONE_FUNCTIONS; i++)
		show_function(i);
	php_info_print_table_end();

	php_info_print_table_start();
	php_info_print_table_header(2, "File reads left to PHP", "Calls");
	for (size_t i = 0; i < PHP_HONE_REASONS; i++) {
		snprintf(count, sizeof count, "%" PRIu64,
			HONE_G(fileread).fallen_back[i]);
		php_info_print_table_row(2, reasons[i], count);
	}
	php_info_print_table_end();
}
