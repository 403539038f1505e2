/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eleven functions with the parameters of well-known functions. Their bodies do
 * almost nothing, so a measurement is of the parsing.
 */
#include <php.h>
#include <Zend/zend_interfaces.h>
#include "style.h"

/* abs() of an int, chr() */
F_FUNCTION(args_int)
{
	zend_long number;

	F_ARGS(1, 1)
	F_LONG(number)
	F_END();
	RETURN_LONG(number * 2);
}

/* mktime(), checkdate() and the like */
F_FUNCTION(args_int4)
{
	zend_long a, b, c, d;

	F_ARGS(4, 4)
	F_LONG(a)
	F_LONG(b)
	F_LONG(c)
	F_LONG(d)
	F_END();
	RETURN_LONG(a + b + c + d);
}

/* hypot() */
F_FUNCTION(args_float2)
{
	double x, y;

	F_ARGS(2, 2)
	F_DOUBLE(x)
	F_DOUBLE(y)
	F_END();
	RETURN_DOUBLE(x + y);
}

/* ignore_user_abort(), without its default */
F_FUNCTION(args_bool)
{
	bool on;

	F_ARGS(1, 1)
	F_BOOL(on)
	F_END();
	RETURN_BOOL(!on);
}

/* strlen() */
F_FUNCTION(args_string)
{
	zend_string *string;

	F_ARGS(1, 1)
	F_STR(string)
	F_END();
	RETURN_LONG(ZSTR_LEN(string));
}

/* substr() */
F_FUNCTION(args_substr)
{
	zend_string *string;
	zend_long offset, length = 0;
	bool to_end = 1;

	F_ARGS(2, 3)
	F_STR(string)
	F_LONG(offset)
	F_OPTIONAL
	F_LONG_OR_NULL(length, to_end)
	F_END();
	RETURN_LONG((to_end ? (zend_long)ZSTR_LEN(string) : length) - offset);
}

/* explode() */
F_FUNCTION(args_explode)
{
	zend_string *separator, *string;
	zend_long limit = ZEND_LONG_MAX;

	F_ARGS(2, 3)
	F_STR(separator)
	F_STR(string)
	F_OPTIONAL
	F_LONG(limit)
	F_END();
	RETURN_LONG(ZSTR_LEN(separator) * ZSTR_LEN(string) - limit);
}

/* in_array() */
F_FUNCTION(args_in_array)
{
	zval *needle, *haystack;
	bool strict = 0;

	F_ARGS(2, 3)
	F_ZVAL(needle)
	F_ARRAY(haystack)
	F_OPTIONAL
	F_BOOL(strict)
	F_END();
	RETURN_LONG(zend_hash_num_elements(Z_ARRVAL_P(haystack)) +
		    Z_TYPE_P(needle) + strict);
}

/* round() */
F_FUNCTION(args_round)
{
	zval *number;
	zend_long precision = 0;

	F_ARGS(1, 2)
	F_NUMBER(number)
	F_OPTIONAL
	F_LONG(precision)
	F_END();
	RETVAL_LONG(precision);
	if (Z_TYPE_P(number) == IS_LONG)
		Z_LVAL_P(return_value) += Z_LVAL_P(number);
}

/* date_format(): an object first, then a parameter with a default */
F_FUNCTION(args_object)
{
	zval *object;
	zend_string *name = NULL;

	F_ARGS(1, 2)
	F_CLASS(object, zend_ce_countable)
	F_OPTIONAL
	F_STR_OR_NULL(name)
	F_END();
	RETURN_LONG(Z_OBJ_P(object)->ce->type + (name ? ZSTR_LEN(name) : 0));
}

/* sprintf() */
F_FUNCTION(args_variadic)
{
	zend_string *format;
	zval *values;
	uint32_t count;

	F_ARGS(1, -1)
	F_STR(format)
	F_VARIADIC(values, count)
	F_END();
	RETURN_LONG(ZSTR_LEN(format) + (count ? Z_TYPE_P(values) : 0) + count);
}
