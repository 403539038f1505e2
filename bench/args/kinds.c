/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for the comparison only: every kind of parameter, beside others.
 * They return what they parsed. bodies.c has functions that throw, warn, call
 * back and change their arguments.
 */
#include <php.h>
#include <Zend/zend_exceptions.h>
#include <Zend/zend_interfaces.h>
#include "style.h"

static void
add_zval(zval *list, zval *value)
{
	if (value == NULL) {
		add_next_index_string(list, "(no zval)");
		return;
	}
	Z_TRY_ADDREF_P(value);
	add_next_index_zval(list, value);
}

static void
add_str(zval *list, zend_string *string)
{
	if (string == NULL)
		add_next_index_string(list, "(no string)");
	else
		add_next_index_str(list, zend_string_copy(string));
}

/* Adds whether rest is NULL, and the count in that case too. */
static void
add_rest(zval *list, zval *rest, uint32_t count)
{
	add_next_index_bool(list, rest == NULL);
	add_next_index_long(list, count);
	for (uint32_t i = 0; rest != NULL && i < count; i++)
		add_zval(list, rest + i);
}

F_FUNCTION(args_scalars)
{
	zend_long a;
	double b;
	bool c;
	zend_string *d;
	zval *e;

	F_ARGS(5, 5)
	F_LONG(a)
	F_DOUBLE(b)
	F_BOOL(c)
	F_STR(d)
	F_NUMBER(e)
	F_END();
	array_init(return_value);
	add_next_index_long(return_value, a);
	add_next_index_double(return_value, b);
	add_next_index_bool(return_value, c);
	add_str(return_value, d);
	add_zval(return_value, e);
}

F_FUNCTION(args_nullables)
{
	zend_long a;
	double b;
	bool c, no_a, no_b, no_c;
	zend_string *d;
	zval *e, *f;

	F_ARGS(6, 6)
	F_LONG_OR_NULL(a, no_a)
	F_DOUBLE_OR_NULL(b, no_b)
	F_BOOL_OR_NULL(c, no_c)
	F_STR_OR_NULL(d)
	F_NUMBER_OR_NULL(e)
	F_ZVAL_OR_NULL(f)
	F_END();
	array_init(return_value);
	add_next_index_long(return_value, a);
	add_next_index_bool(return_value, no_a);
	add_next_index_double(return_value, b);
	add_next_index_bool(return_value, no_b);
	add_next_index_bool(return_value, c);
	add_next_index_bool(return_value, no_c);
	add_str(return_value, d);
	add_zval(return_value, e);
	add_zval(return_value, f);
}

F_FUNCTION(args_optional)
{
	zend_long b = 7;
	double d = 1.5;
	bool e = 1, no_c = 1, c = 0;
	char *a, *f = "default";
	size_t a_len, f_len = 7;

	F_ARGS(1, 6)
	F_STRING(a, a_len)
	F_OPTIONAL
	F_LONG(b)
	F_BOOL_OR_NULL(c, no_c)
	F_DOUBLE(d)
	F_BOOL(e)
	F_STRING_OR_NULL(f, f_len)
	F_END();
	array_init(return_value);
	add_next_index_stringl(return_value, a, a_len);
	add_next_index_long(return_value, b);
	add_next_index_bool(return_value, c);
	add_next_index_bool(return_value, no_c);
	add_next_index_double(return_value, d);
	add_next_index_bool(return_value, e);
	add_next_index_stringl(return_value, f ? f : "(none)", f ? f_len : 6);
}

F_FUNCTION(args_arrays)
{
	zval *a, *b;
	HashTable *c, *d;

	F_ARGS(4, 4)
	F_ARRAY(a)
	F_ARRAY_OR_NULL(b)
	F_ARRAY_HT(c)
	F_ARRAY_HT_OR_NULL(d)
	F_END();
	array_init(return_value);
	add_zval(return_value, a);
	add_zval(return_value, b);
	add_next_index_long(return_value, zend_hash_num_elements(c));
	add_next_index_long(
		return_value, d ? (zend_long)zend_hash_num_elements(d) : -1);
}

F_FUNCTION(args_objects)
{
	zval *a, *b, *c, *d;

	F_ARGS(4, 4)
	F_OBJECT(a)
	F_OBJECT_OR_NULL(b)
	F_CLASS(c, zend_ce_countable)
	F_CLASS_OR_NULL(d, zend_ce_iterator)
	F_END();
	array_init(return_value);
	add_zval(return_value, a);
	add_zval(return_value, b);
	add_zval(return_value, c);
	add_zval(return_value, d);
}

/* Classes before and after parameters that are coerced. */
F_FUNCTION(args_class_between)
{
	zend_string *a, *e = NULL;
	zend_long b;
	zval *c, *d = NULL, *f = NULL;

	F_ARGS(3, 6)
	F_STR(a)
	F_LONG(b)
	F_CLASS(c, zend_ce_countable)
	F_OPTIONAL
	F_CLASS_OR_NULL(d, zend_ce_exception)
	F_STR(e)
	F_NUMBER(f)
	F_END();
	array_init(return_value);
	add_str(return_value, a);
	add_next_index_long(return_value, b);
	add_zval(return_value, c);
	add_zval(return_value, d);
	add_str(return_value, e);
	add_zval(return_value, f);
}

F_FUNCTION(args_others)
{
	zval *a, *b, *c, *d;

	F_ARGS(4, 4)
	F_RESOURCE(a)
	F_RESOURCE_OR_NULL(b)
	F_ZVAL(c)
	F_ZVAL_OR_NULL(d)
	F_END();
	array_init(return_value);
	add_zval(return_value, a);
	add_zval(return_value, b);
	add_zval(return_value, c);
	add_zval(return_value, d);
}

/* By reference: PHP's macros do not dereference it either. */
F_FUNCTION(args_reference)
{
	zval *a;
	zend_long b;
	zend_string *c = NULL;

	F_ARGS(2, 3)
	F_ZVAL(a)
	F_LONG(b)
	F_OPTIONAL
	F_STR_OR_NULL(c)
	F_END();
	ZEND_TRY_ASSIGN_REF_LONG(a, b + 1);
	array_init(return_value);
	add_next_index_long(return_value, b);
	add_str(return_value, c);
}

/* Parameters that are declared as references. */
F_FUNCTION(args_reference_scalar)
{
	zend_long a;
	zval *b;

	F_ARGS(2, 2)
	F_LONG(a)
	F_NUMBER(b)
	F_END();
	array_init(return_value);
	add_next_index_long(return_value, a);
	add_zval(return_value, b);
}

F_FUNCTION(args_rest)
{
	zend_long a, b = 3;
	zval *rest = NULL;
	uint32_t count = 99;

	F_ARGS(1, -1)
	F_LONG(a)
	F_OPTIONAL
	F_LONG(b)
	F_VARIADIC(rest, count)
	F_END();
	array_init(return_value);
	add_next_index_long(return_value, a);
	add_next_index_long(return_value, b);
	add_rest(return_value, rest, count);
}

F_FUNCTION(args_rest_named)
{
	zend_string *a;
	zval *rest;
	uint32_t count;
	HashTable *named;
	zval copy;

	F_ARGS(1, -1)
	F_STR(a)
	F_VARIADIC_WITH_NAMED(rest, count, named)
	F_END();
	array_init(return_value);
	add_str(return_value, a);
	add_rest(return_value, rest, count);
	if (named != NULL) {
		ZVAL_ARR(&copy, zend_array_dup(named));
		add_next_index_zval(return_value, &copy);
	}
}

F_FUNCTION(args_rest_alone)
{
	zval *rest;
	uint32_t count;

	F_ARGS(0, -1)
	F_VARIADIC(rest, count)
	F_END();
	array_init(return_value);
	add_rest(return_value, rest, count);
}

/* No optional parameter is before the rest, so the rest is always set. */
F_FUNCTION(args_rest_optional)
{
	zend_long a;
	zval *rest = return_value;
	uint32_t count = 99;

	F_ARGS(1, -1)
	F_LONG(a)
	F_OPTIONAL
	F_VARIADIC(rest, count)
	F_END();
	array_init(return_value);
	add_next_index_long(return_value, a);
	add_rest(return_value, rest, count);
}

/* As max(): the rest has a least number of arguments. */
F_FUNCTION(args_rest_least)
{
	zend_string *a;
	zval *rest;
	uint32_t count;

	F_ARGS(3, -1)
	F_STR(a)
	F_VARIADIC(rest, count)
	F_END();
	array_init(return_value);
	add_str(return_value, a);
	add_rest(return_value, rest, count);
}

F_FUNCTION(args_ten)
{
	zend_long a, b, c, d, e, f, g, h, i;
	zend_string *j;

	F_ARGS(10, 10)
	F_LONG(a)
	F_LONG(b)
	F_LONG(c)
	F_LONG(d)
	F_LONG(e)
	F_LONG(f)
	F_LONG(g)
	F_LONG(h)
	F_LONG(i)
	F_STR(j)
	F_END();
	array_init(return_value);
	add_next_index_long(return_value, a);
	add_next_index_long(return_value, b + c + d + e);
	add_next_index_long(return_value, f);
	add_next_index_long(return_value, g + h);
	add_next_index_long(return_value, i);
	add_str(return_value, j);
}
