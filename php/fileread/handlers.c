/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wraps the handlers of PHP's functions. The fast path must not bypass an
 * extension that was loaded earlier to observe or forbid reads. An extension
 * that is loaded later wraps the handlers of this one.
 */
#include <dlfcn.h>
#include "fileread.h"
#include "ext/standard/info.h"

/* One set for the process, written before a second thread exists. */
const php_stream_wrapper_ops *php_hone_wrapper_ops;
php_stream_ops php_hone_stream_ops;

/* Whether two addresses lie in the same program or shared library. */
static bool
same_object(const void *code, const void *other)
{
	Dl_info one, two;

	return dladdr(code, &one) != 0 && dladdr(other, &two) != 0 &&
	       one.dli_fbase == two.dli_fbase;
}

/* `pointers` is a struct of pointers only, such as the structs of operations.
 * Some pointers are NULL. */
static bool
are_in_php(const void *pointers, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(void *)) {
		const void *one;

		memcpy(&one, (const char *)pointers + at, sizeof one);
		if (one != NULL && !same_object(one, php_error_docref))
			return false;
	}
	return true;
}

/* Records PHP's operations of plain files. Returns false if an extension that
 * was loaded earlier has replaced them. */
static bool
note_files(void)
{
	php_hone_wrapper_ops = php_plain_files_wrapper.wops;
	php_hone_stream_ops = php_stream_stdio_ops;
	return same_object(php_hone_wrapper_ops, php_error_docref) &&
	       are_in_php(php_hone_wrapper_ops, sizeof *php_hone_wrapper_ops) &&
	       are_in_php(&php_stream_stdio_ops, sizeof php_stream_stdio_ops);
}

static const zend_module_entry *
module_named(const char *name)
{
	return zend_hash_str_find_ptr(&module_registry, name, strlen(name));
}

/* PHP's own handler, from the list of the module that declares it. */
static zif_handler
declared(const char *name)
{
	const zend_function_entry *entry = module_named("standard")->functions;

	while (entry->fname != NULL && strcmp(entry->fname, name) != 0)
		entry++;
	return entry->handler;
}

/* Whether phar calls this handler for paths outside of archives: phar keeps the
 * original handlers in its globals. Their layout is private, but no other value
 * there equals the address of a handler. */
static bool
phar_keeps(const zend_module_entry *phar, zif_handler handler)
{
#ifdef ZTS
	const char *globals = TSRMG_BULK(*phar->globals_id_ptr, const char *);
#else
	const char *globals = phar->globals_ptr;
#endif
	for (size_t at = 0; at + sizeof handler <= phar->globals_size;
		at += sizeof handler)
		if (memcmp(globals + at, &handler, sizeof handler) == 0)
			return true;
	return false;
}

/* Whether a handler calls only PHP's own code. In some builds, phar's handler
 * wraps PHP's own. */
static bool
is_php(const char *name, zif_handler handler)
{
	const zend_module_entry *phar = module_named("phar");
	zif_handler php = declared(name);

	return php != NULL &&
	       (handler == php || (phar != NULL &&
					  same_object(handler,
						  phar->module_startup_func) &&
					  phar_keeps(phar, php)));
}

typedef bool (*fast_path)(zend_execute_data *execute_data, zval *result);

/* PHP's handlers, written before a second thread exists. NULL: the function is
 * not wrapped. */
static zif_handler php_handlers[PHP_HONE_FUNCTIONS];

static zend_always_inline void
serve(INTERNAL_FUNCTION_PARAMETERS, enum php_hone_function function,
	fast_path path)
{
	if (!HONE_G(fileread).on)
		php_hone_fall_back(PHP_HONE_REASON_OFF);
	else if (path(execute_data, return_value))
		return;
	php_handlers[function](INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (function == PHP_HONE_COPY)
		php_hone_after_copy(execute_data, return_value);
}

#define PHP_HONE_FUNCTION(constant, name)                                      \
	static ZEND_NAMED_FUNCTION(handle_##name)                              \
	{                                                                      \
		serve(INTERNAL_FUNCTION_PARAM_PASSTHRU, PHP_HONE_##constant,   \
			php_hone_##name);                                      \
	}
#include "functions.def"
#undef PHP_HONE_FUNCTION

static const struct {
	const char *name;
	zif_handler handler;
} wrapped[PHP_HONE_FUNCTIONS] = {
#define PHP_HONE_FUNCTION(constant, name)                                      \
	[PHP_HONE_##constant] = {#name, handle_##name},
#include "functions.def"
#undef PHP_HONE_FUNCTION
};

static const char *const reasons[PHP_HONE_REASONS] = {
#define PHP_HONE_REASON(constant, text) [PHP_HONE_REASON_##constant] = text,
#include "reasons.def"
#undef PHP_HONE_REASON
};

/* PHP removes disabled functions from the table before the module ends. */
static zend_internal_function *
find(size_t i)
{
	zend_function *function = zend_hash_str_find_ptr(
		CG(function_table), wrapped[i].name, strlen(wrapped[i].name));

	if (function == NULL || function->type != ZEND_INTERNAL_FUNCTION)
		return NULL;
	return &function->internal_function;
}

/* dl() unloads a module at the end of the request, but code of the JIT would
 * still call its handlers. */
void
php_hone_fileread_minit(int type)
{
	bool files_are_php;

	HONE_G(fileread).by_dl = type != MODULE_PERSISTENT;
	if (HONE_G(fileread).by_dl)
		return;
	files_are_php = note_files();
	for (size_t i = 0; i < PHP_HONE_FUNCTIONS; i++) {
		zend_internal_function *function = find(i);

		if (function == NULL || !files_are_php ||
			!is_php(wrapped[i].name, function->handler))
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

/* PHP disables its realpath cache if its size is 0, and permanently after a
 * request that began with open_basedir. */
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
