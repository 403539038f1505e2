/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for the comparison whose bodies show their frame: they throw, warn,
 * call back, and change their arguments in place.
 */
#include <php.h>
#include <Zend/zend_exceptions.h>
#include "style.h"

F_FUNCTION(args_throws)
{
	zend_long a;
	zend_string *b;
	double c = 0;
	bool d = 0;

	F_ARGS(2, 4)
	F_LONG(a)
	F_STR(b)
	F_OPTIONAL
	F_DOUBLE(c)
	F_BOOL(d)
	F_END();
	zend_throw_exception_ex(NULL, (int)a & 0xff, "%s %g %d %u", ZSTR_VAL(b),
		c, d, ZEND_NUM_ARGS());
}

F_FUNCTION(args_warns)
{
	zend_long a;
	zval *b;

	F_ARGS(2, 2)
	F_LONG(a)
	F_NUMBER(b)
	F_END();
	zend_argument_value_error(2, "is of type %s", zend_zval_type_name(b));
	if (a == 12)
		return;
	zend_clear_exception();
	php_error_docref(NULL, E_WARNING, "a is " ZEND_LONG_FMT, a);
	RETURN_LONG(a);
}

F_FUNCTION(args_calls)
{
	zval *callback, *more = NULL;
	zend_string *a;
	zend_long b = 0;
	zval params[2];

	F_ARGS(2, 4)
	F_OBJECT(callback)
	F_STR(a)
	F_OPTIONAL
	F_LONG(b)
	F_ZVAL(more)
	F_END();
	ZVAL_STR_COPY(&params[0], a);
	ZVAL_LONG(&params[1], b);
	call_user_function(
		NULL, NULL, callback, return_value, more ? 2 : 1, params);
	zval_ptr_dtor(&params[0]);
}

/* Changes its slots in place, as some functions of PHP do. */
F_FUNCTION(args_changes)
{
	zval *a, *b;
	zend_long c;

	F_ARGS(3, 3)
	F_ZVAL(a)
	F_ARRAY(b)
	F_LONG(c)
	F_END();
	if (!try_convert_to_string(a))
		return;
	SEPARATE_ARRAY(b);
	add_next_index_long(b, c);
	array_init(return_value);
	Z_ADDREF_P(b);
	add_next_index_zval(return_value, b);
	add_next_index_str(return_value, zend_string_copy(Z_STR_P(a)));
}

F_METHOD(ArgsSample, method)
{
	zend_long a;
	zend_string *b = NULL;

	F_ARGS(1, 2)
	F_LONG(a)
	F_OPTIONAL
	F_STR_OR_NULL(b)
	F_END();
	array_init(return_value);
	add_next_index_long(return_value, a);
	add_next_index_long(return_value, b ? (zend_long)ZSTR_LEN(b) : -1);
	Z_ADDREF_P(ZEND_THIS);
	add_next_index_zval(return_value, ZEND_THIS);
}

F_METHOD(ArgsSample, still)
{
	bool a;

	F_ARGS(1, 1)
	F_BOOL(a)
	F_END();
	array_init(return_value);
	add_next_index_bool(return_value, a);
	add_next_index_str(return_value,
		zend_string_copy(zend_get_called_scope(execute_data)->name));
}
