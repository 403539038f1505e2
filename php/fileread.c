/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handlers of PHP's functions are exchanged for ours and put back; what
 * phpinfo() tells of it.
 */
#include "fileread_others.h"
#include "ext/standard/info.h"

typedef bool (*short_way)(zend_execute_data *execute_data, zval *result);

/*
 * PHP's handlers, found when the module starts, before there is a second
 * thread, and only read from then on; NULL: the function was left alone.
 */
static zif_handler php_handlers[HONE_FILEREAD_FUNCTIONS];

static zend_always_inline void
serve(INTERNAL_FUNCTION_PARAMETERS, enum hone_fileread_function function,
	short_way way)
{
	if (!HONE_G(fileread).on)
		hone_fileread_pass(HONE_PASS_OFF);
	else if (way(execute_data, return_value))
		return;
	php_handlers[function](INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (function == HONE_COPY)
		hone_copy_passed(execute_data, return_value);
}

#define WRAPPED(function, name)                                                \
	static ZEND_NAMED_FUNCTION(wrapped_##name)                             \
	{                                                                      \
		serve(INTERNAL_FUNCTION_PARAM_PASSTHRU, function,              \
			hone_##name);                                          \
	}
WRAPPED(HONE_FILE_GET_CONTENTS, file_get_contents)
WRAPPED(HONE_READFILE, readfile)
WRAPPED(HONE_FILE, file)
WRAPPED(HONE_COPY, copy)
WRAPPED(HONE_FREAD, fread)
WRAPPED(HONE_STREAM_GET_CONTENTS, stream_get_contents)
WRAPPED(HONE_FPASSTHRU, fpassthru)

static const struct {
	const char *name;
	zif_handler handler;
} wrapped[HONE_FILEREAD_FUNCTIONS] = {
	[HONE_FILE_GET_CONTENTS] = {"file_get_contents",
		wrapped_file_get_contents},
	[HONE_READFILE] = {"readfile", wrapped_readfile},
	[HONE_FILE] = {"file", wrapped_file},
	[HONE_COPY] = {"copy", wrapped_copy},
	[HONE_FREAD] = {"fread", wrapped_fread},
	[HONE_STREAM_GET_CONTENTS] = {"stream_get_contents",
		wrapped_stream_get_contents},
	[HONE_FPASSTHRU] = {"fpassthru", wrapped_fpassthru},
};

static const char *const reasons[HONE_PASS_REASONS] = {
	[HONE_PASS_OFF] = "switched off",
	[HONE_PASS_ARGUMENTS] = "other arguments",
	[HONE_PASS_PATH] = "other than a local path",
	[HONE_PASS_BASEDIR] = "open_basedir",
	[HONE_PASS_WRAPPER] = "another file wrapper",
	[HONE_PASS_PHAR] = "relative path in a phar",
	[HONE_PASS_STREAM] = "other than a plain stream",
	[HONE_PASS_SHORT] = "too little to gain",
	[HONE_PASS_OUTPUT] = "output of long files, or to callbacks",
	[HONE_PASS_UNKNOWN] = "not in the realpath cache",
	[HONE_PASS_OPEN] = "could not be opened",
	[HONE_PASS_KIND] = "no regular file",
	[HONE_PASS_CHANGED] = "another size than it told",
	[HONE_PASS_LARGE] = "too large for one read",
	[HONE_PASS_COPY] = "not copied at once",
	[HONE_PASS_MEMORY] = "near memory_limit",
};

/* Disabled functions are not in the table, nor are they in it any more at the
 * end: each is looked up again. */
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
 * Loaded by dl() it does nothing: code compiled by the JIT would still call
 * our handlers when the module is gone at the end of the request.
 */
void
hone_fileread_minit(int type)
{
	bool files_are_php;

	_Static_assert(HONE_FILEREAD_FUNCTIONS <= HONE_FILEREAD_COUNTS &&
			       HONE_PASS_REASONS <= HONE_FILEREAD_COUNTS,
		"there are more counts than HONE_FILEREAD_COUNTS");
	HONE_G(fileread).by_dl = type != MODULE_PERSISTENT;
	if (HONE_G(fileread).by_dl)
		return;
	files_are_php = hone_fileread_know_files();
	for (size_t i = 0; i < HONE_FILEREAD_FUNCTIONS; i++) {
		zend_internal_function *function = find(i);

		if (function == NULL || !files_are_php ||
			!hone_fileread_is_php(
				wrapped[i].name, function->handler))
			continue;
		php_handlers[i] = function->handler;
		function->handler = wrapped[i].handler;
	}
}

void
hone_fileread_mshutdown(void)
{
	for (size_t i = 0; i < HONE_FILEREAD_FUNCTIONS; i++) {
		zend_internal_function *function = find(i);

		/* Whoever wrapped ours has put it back by now, or never. */
		if (function != NULL && function->handler == wrapped[i].handler)
			function->handler = php_handlers[i];
		php_handlers[i] = NULL;
	}
}

/*
 * Whether PHP asks its realpath cache is in a variable of its own that
 * extensions cannot reach. It is off with a size of 0, and for good once a
 * request begins with open_basedir set.
 */
void
hone_fileread_rinit(void)
{
	if (PG(open_basedir) != NULL && *PG(open_basedir) != '\0')
		HONE_G(fileread).no_realpath_cache = true;
	HONE_G(fileread).device = 0;
	HONE_G(fileread).realpath_cache = !HONE_G(fileread).no_realpath_cache &&
					  INI_INT("realpath_cache_size") != 0;
}

/* Calls that took the short way; or why none can. */
static void
tell_of(size_t i)
{
	char count[32];
	const char *told = count;

	snprintf(count, sizeof count, "%" PRIu64, HONE_G(fileread).taken[i]);
	if (HONE_G(fileread).by_dl)
		told = "left alone: loaded by dl()";
	else if (find(i) == NULL)
		told = "left alone: disabled";
	else if (php_handlers[i] == NULL)
		told = "left alone: another extension's";
	php_info_print_table_row(2, wrapped[i].name, told);
}

void
hone_fileread_minfo(void)
{
	char count[32];

	php_info_print_table_start();
	php_info_print_table_header(2, "File reads, the short way", "Calls");
	for (size_t i = 0; i < HONE_FILEREAD_FUNCTIONS; i++)
		tell_of(i);
	php_info_print_table_end();

	php_info_print_table_start();
	php_info_print_table_header(
		2, "File reads passed on to PHP, because", "Calls");
	for (size_t i = 0; i < HONE_PASS_REASONS; i++) {
		snprintf(count, sizeof count, "%" PRIu64,
			HONE_G(fileread).passed[i]);
		php_info_print_table_row(2, reasons[i], count);
	}
	php_info_print_table_end();
}
