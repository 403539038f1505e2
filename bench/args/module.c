/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module "args_sample": declares the functions of this folder to PHP. It is
 * built once with PHP's macros and once with hone_args.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <php.h>
#include "style.h"

/* PHP's table macros end without a semicolon, and nest. */
/* clang-format off */
#define RETURNS(name, required, type) \
	ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(info_##name, 0, required, type, 0)
#define P(name, type, or_null) ZEND_ARG_TYPE_INFO(0, name, type, or_null)
#define P_DEFAULT(name, type, or_null, value) \
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, name, type, or_null, value)
#define P_NUMBER(name, more) \
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_LONG | MAY_BE_DOUBLE | (more), NULL)
#define END ZEND_END_ARG_INFO()

RETURNS(int, 1, IS_LONG) P(number, IS_LONG, 0) END
RETURNS(int4, 4, IS_LONG)
	P(a, IS_LONG, 0) P(b, IS_LONG, 0) P(c, IS_LONG, 0) P(d, IS_LONG, 0) END
RETURNS(float2, 2, IS_DOUBLE) P(x, IS_DOUBLE, 0) P(y, IS_DOUBLE, 0) END
RETURNS(bool, 1, _IS_BOOL) P(on, _IS_BOOL, 0) END
RETURNS(string, 1, IS_LONG) P(string, IS_STRING, 0) END
RETURNS(substr, 2, IS_LONG)
	P(string, IS_STRING, 0) P(offset, IS_LONG, 0)
	P_DEFAULT(length, IS_LONG, 1, "null") END
RETURNS(explode, 2, IS_LONG)
	P(separator, IS_STRING, 0) P(string, IS_STRING, 0)
	P_DEFAULT(limit, IS_LONG, 0, "PHP_INT_MAX") END
RETURNS(in_array, 2, IS_LONG)
	P(needle, IS_MIXED, 0) P(haystack, IS_ARRAY, 0)
	P_DEFAULT(strict, _IS_BOOL, 0, "false") END
RETURNS(round, 1, IS_LONG)
	P_NUMBER(number, 0) P_DEFAULT(precision, IS_LONG, 0, "0") END
RETURNS(object, 1, IS_LONG)
	ZEND_ARG_OBJ_INFO(0, object, Countable, 0)
	P_DEFAULT(name, IS_STRING, 1, "null") END
RETURNS(variadic, 1, IS_LONG)
	P(format, IS_STRING, 0) ZEND_ARG_VARIADIC_TYPE_INFO(0, values, IS_MIXED, 0) END

RETURNS(scalars, 5, IS_ARRAY)
	P(a, IS_LONG, 0) P(b, IS_DOUBLE, 0) P(c, _IS_BOOL, 0) P(d, IS_STRING, 0)
	P_NUMBER(e, 0) END
RETURNS(nullables, 6, IS_ARRAY)
	P(a, IS_LONG, 1) P(b, IS_DOUBLE, 1) P(c, _IS_BOOL, 1) P(d, IS_STRING, 1)
	P_NUMBER(e, MAY_BE_NULL) P(f, IS_MIXED, 0) END
RETURNS(optional, 1, IS_ARRAY)
	P(a, IS_STRING, 0) P_DEFAULT(b, IS_LONG, 0, "7")
	P_DEFAULT(c, _IS_BOOL, 1, "null") P_DEFAULT(d, IS_DOUBLE, 0, "1.5")
	P_DEFAULT(e, _IS_BOOL, 0, "true") P_DEFAULT(f, IS_STRING, 1, "\"default\"") END
RETURNS(arrays, 4, IS_ARRAY)
	P(a, IS_ARRAY, 0) P(b, IS_ARRAY, 1) P(c, IS_ARRAY, 0) P(d, IS_ARRAY, 1) END
RETURNS(objects, 4, IS_ARRAY)
	P(a, IS_OBJECT, 0) P(b, IS_OBJECT, 1)
	ZEND_ARG_OBJ_INFO(0, c, Countable, 0) ZEND_ARG_OBJ_INFO(0, d, Iterator, 1) END
RETURNS(class_between, 3, IS_ARRAY)
	P(a, IS_STRING, 0) P(b, IS_LONG, 0) ZEND_ARG_OBJ_INFO(0, c, Countable, 0)
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, d, Exception, 1, "null")
	P_DEFAULT(e, IS_STRING, 0, "\"\"") P_NUMBER(f, 0) END
/* A resource has no type in a declaration. */
RETURNS(others, 4, IS_ARRAY)
	ZEND_ARG_INFO(0, a) ZEND_ARG_INFO(0, b) P(c, IS_MIXED, 0) P(d, IS_MIXED, 0) END
RETURNS(reference, 2, IS_ARRAY)
	ZEND_ARG_INFO(1, a) P(b, IS_LONG, 0) P_DEFAULT(c, IS_STRING, 1, "null") END
RETURNS(reference_scalar, 2, IS_ARRAY) ZEND_ARG_INFO(1, a) ZEND_ARG_INFO(2, b) END
RETURNS(rest, 1, IS_ARRAY)
	P(a, IS_LONG, 0) P_DEFAULT(b, IS_LONG, 0, "3")
	ZEND_ARG_VARIADIC_TYPE_INFO(0, rest, IS_MIXED, 0) END
RETURNS(rest_named, 1, IS_ARRAY)
	P(a, IS_STRING, 0) ZEND_ARG_VARIADIC_TYPE_INFO(0, rest, IS_MIXED, 0) END
RETURNS(rest_alone, 0, IS_ARRAY)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, rest, IS_MIXED, 0) END
RETURNS(rest_optional, 1, IS_ARRAY)
	P(a, IS_LONG, 0) ZEND_ARG_VARIADIC_TYPE_INFO(0, rest, IS_MIXED, 0) END
RETURNS(rest_least, 3, IS_ARRAY)
	P(a, IS_STRING, 0) P(b, IS_MIXED, 0) P(c, IS_MIXED, 0)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, rest, IS_MIXED, 0) END
RETURNS(ten, 10, IS_ARRAY)
	P(a, IS_LONG, 0) P(b, IS_LONG, 0) P(c, IS_LONG, 0) P(d, IS_LONG, 0)
	P(e, IS_LONG, 0) P(f, IS_LONG, 0) P(g, IS_LONG, 0) P(h, IS_LONG, 0)
	P(i, IS_LONG, 0) P(j, IS_STRING, 0) END
RETURNS(throws, 2, IS_MIXED)
	P(a, IS_LONG, 0) P(b, IS_STRING, 0) P_DEFAULT(c, IS_DOUBLE, 0, "0")
	P_DEFAULT(d, _IS_BOOL, 0, "false") END
RETURNS(warns, 2, IS_MIXED) P(a, IS_LONG, 0) P_NUMBER(b, 0) END
RETURNS(calls, 2, IS_MIXED)
	P(callback, IS_OBJECT, 0) P(a, IS_STRING, 0) P_DEFAULT(b, IS_LONG, 0, "0")
	P_DEFAULT(more, IS_MIXED, 0, "null") END
RETURNS(changes, 3, IS_MIXED)
	P(a, IS_MIXED, 0) P(b, IS_ARRAY, 0) P(c, IS_LONG, 0) END
RETURNS(method, 1, IS_ARRAY) P(a, IS_LONG, 0) P_DEFAULT(b, IS_STRING, 1, "null") END
RETURNS(still, 1, IS_ARRAY) P(a, _IS_BOOL, 0) END
RETURNS(watch, 0, IS_VOID) END
RETURNS(left, 0, IS_LONG) END

static ZEND_FUNCTION(args_watch);
static ZEND_FUNCTION(args_left);

#define ROW(name) ZEND_FE(args_##name, info_##name)
static const zend_function_entry functions[] = {
	ROW(int) ROW(int4) ROW(float2) ROW(bool) ROW(string) ROW(substr)
	ROW(explode) ROW(in_array) ROW(round) ROW(object) ROW(variadic)
	ROW(scalars) ROW(nullables) ROW(optional) ROW(arrays) ROW(objects)
	ROW(class_between) ROW(others) ROW(reference) ROW(reference_scalar)
	ROW(rest) ROW(rest_named) ROW(rest_alone) ROW(ten) ROW(throws)
	ROW(warns) ROW(calls) ROW(changes) ROW(rest_optional) ROW(rest_least)
	ROW(watch) ROW(left)
	ZEND_FE_END
};
static const zend_function_entry methods[] = {
	ZEND_ME(ArgsSample, method, info_method, ZEND_ACC_PUBLIC)
	ZEND_ME(ArgsSample, still, info_still, ZEND_ACC_PUBLIC | ZEND_ACC_STATIC)
	ZEND_FE_END
};
/* clang-format on */

static zend_class_entry *class_entry;

/* Flags and type of the last return value; -1 if there was no call. */
static zend_long left = -1;

/*
 * Replaces the handlers of the functions. PHP ignores the return value of a
 * function that throws, so a bug there would not be found otherwise.
 */
static void ZEND_FASTCALL
watch(INTERNAL_FUNCTION_PARAMETERS)
{
	const zend_function *called = EX(func);
	const zend_function_entry *entry =
		called->common.scope ? methods : functions;

	while (strcmp(entry->fname, ZSTR_VAL(called->common.function_name)))
		entry++;
	entry->handler(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	left = Z_TYPE_INFO_P(return_value);
}

static void
watch_all(HashTable *table, const zend_function_entry *entry)
{
	for (; entry->fname != NULL; entry++) {
		zend_internal_function *function = zend_hash_str_find_ptr(
			table, entry->fname, strlen(entry->fname));

		if (entry->handler != zif_args_watch &&
			entry->handler != zif_args_left)
			function->handler = watch;
	}
}

/* After this call, args_left() returns `left`. Timed runs do not call it. */
static ZEND_FUNCTION(args_watch)
{
	ZEND_PARSE_PARAMETERS_NONE();
	watch_all(CG(function_table), functions);
	watch_all(&class_entry->function_table, methods);
}

static ZEND_FUNCTION(args_left)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETVAL_LONG(left);
	left = -1;
}

static PHP_MINIT_FUNCTION(args_sample)
{
	zend_class_entry ce;

	INIT_CLASS_ENTRY(ce, "ArgsSample", methods);
	class_entry = zend_register_internal_class(&ce);
	return SUCCESS;
}

zend_module_entry args_sample_module_entry = {
	STANDARD_MODULE_HEADER,
	"args_sample",
	functions,
	PHP_MINIT(args_sample),
	NULL,
	NULL,
	NULL,
	NULL,
	"0",
	STANDARD_MODULE_PROPERTIES,
};

#ifdef ZTS
ZEND_TSRMLS_CACHE_DEFINE()
#endif
ZEND_GET_MODULE(args_sample)
