/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An extension that watches PHP's file functions, and prints each call to
 * stderr. WATCH is what it replaces: "functions" their handlers, "opener" the
 * function that opens plain files, "reads" and "closes" an operation of their
 * streams. With "nothing" it only checks that the handlers that it found are
 * restored at the end.
 */
#include <php.h>

static const char *const names[] = {
#define PHP_HONE_FUNCTION(constant, name) #name,
#include "functions.def"
#undef PHP_HONE_FUNCTION
};
#define FUNCTIONS ((int)(sizeof names / sizeof names[0]))

static zif_handler found[sizeof names / sizeof names[0]];
static const php_stream_wrapper_ops *found_wrapper;
static php_stream_wrapper_ops wrapper;
static php_stream_ops found_stream;

static zend_internal_function *
function_named(const char *name)
{
	zend_function *function =
		zend_hash_str_find_ptr(CG(function_table), name, strlen(name));

	return &function->internal_function;
}

static ZEND_NAMED_FUNCTION(called)
{
	const char *name = ZSTR_VAL(EX(func)->common.function_name);

	fprintf(stderr, "called: %s\n", name);
	for (int i = 0; i < FUNCTIONS; i++)
		if (strcmp(name, names[i]) == 0)
			found[i](INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static php_stream *
opener(php_stream_wrapper *by, const char *path, const char *mode, int options,
	zend_string **opened, php_stream_context *context STREAMS_DC)
{
	fprintf(stderr, "opened: %s\n", path);
	return found_wrapper->stream_opener(
		by, path, mode, options, opened, context STREAMS_REL_CC);
}

static ssize_t
reads(php_stream *stream, char *to, size_t n)
{
	fprintf(stderr, "read: %zu\n", n);
	return found_stream.read(stream, to, n);
}

static int
closes(php_stream *stream, int handle)
{
	fprintf(stderr, "closed\n");
	return found_stream.close(stream, handle);
}

static bool
watches(const char *what)
{
	const char *where = getenv("WATCH");

	return where != NULL && strcmp(where, what) == 0;
}

static PHP_MINIT_FUNCTION(watcher)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		found[i] = function_named(names[i])->handler;
		if (watches("functions"))
			function_named(names[i])->handler = called;
	}
	found_wrapper = php_plain_files_wrapper.wops;
	found_stream = php_stream_stdio_ops;
	if (watches("opener")) {
		wrapper = *found_wrapper;
		wrapper.stream_opener = opener;
		php_plain_files_wrapper.wops = &wrapper;
	}
	if (watches("reads"))
		php_stream_stdio_ops.read = reads;
	if (watches("closes"))
		php_stream_stdio_ops.close = closes;
	return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(watcher)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		zend_internal_function *function = function_named(names[i]);

		if (watches("functions"))
			function->handler = found[i];
		else if (function->handler != found[i])
			fprintf(stderr, "not restored: %s\n", names[i]);
	}
	return SUCCESS;
}

/* clang-format off */
ZEND_BEGIN_ARG_INFO_EX(one_stream, 0, 0, 1)
	ZEND_ARG_INFO(0, stream)
ZEND_END_ARG_INFO()
/* clang-format on */

/* Makes a FILE of a stream, as curl does, and reads a byte from the FILE. */
static PHP_FUNCTION(watcher_read_as_file)
{
	zval *arg;
	php_stream *stream;
	FILE *file;

	if (zend_parse_parameters(ZEND_NUM_ARGS(), "r", &arg) == FAILURE)
		RETURN_THROWS();
	php_stream_from_zval(stream, arg);
	if (php_stream_cast(stream, PHP_STREAM_AS_STDIO, (void **)&file,
		    REPORT_ERRORS) == FAILURE)
		RETURN_FALSE;
	RETURN_LONG(getc(file));
}

static const zend_function_entry functions[] = {
	PHP_FE(watcher_read_as_file, one_stream) PHP_FE_END};

static zend_module_entry watcher_module_entry = {STANDARD_MODULE_HEADER,
	"watcher", functions, PHP_MINIT(watcher), PHP_MSHUTDOWN(watcher), NULL,
	NULL, NULL, "0", STANDARD_MODULE_PROPERTIES};

ZEND_DLEXPORT zend_module_entry *
get_module(void)
{
	return &watcher_module_entry;
}
