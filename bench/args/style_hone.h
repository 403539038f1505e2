/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of this folder parse their arguments by hone_args.h.
 * style_stock.h has the same names for PHP's own macros.
 */
#include "hone_args.h"

#define F_FUNCTION(name) HONE_FUNCTION(name)
#define F_METHOD(class_name, name) HONE_METHOD(class_name, name)
#define F_ARGS(min, max) HONE_ARGS(min, max)
#define F_OPTIONAL HONE_ARGS_OPTIONAL
#define F_END() HONE_ARGS_END()

#define F_LONG(dest) HONE_ARG_LONG(dest)
#define F_LONG_OR_NULL(dest, is_null) HONE_ARG_LONG_OR_NULL(dest, is_null)
#define F_DOUBLE(dest) HONE_ARG_DOUBLE(dest)
#define F_DOUBLE_OR_NULL(dest, is_null) HONE_ARG_DOUBLE_OR_NULL(dest, is_null)
#define F_BOOL(dest) HONE_ARG_BOOL(dest)
#define F_BOOL_OR_NULL(dest, is_null) HONE_ARG_BOOL_OR_NULL(dest, is_null)
#define F_STR(dest) HONE_ARG_STR(dest)
#define F_STR_OR_NULL(dest) HONE_ARG_STR_OR_NULL(dest)
#define F_STRING(dest, len) HONE_ARG_STRING(dest, len)
#define F_STRING_OR_NULL(dest, len) HONE_ARG_STRING_OR_NULL(dest, len)
#define F_ARRAY(dest) HONE_ARG_ARRAY(dest)
#define F_ARRAY_OR_NULL(dest) HONE_ARG_ARRAY_OR_NULL(dest)
#define F_ARRAY_HT(dest) HONE_ARG_ARRAY_HT(dest)
#define F_ARRAY_HT_OR_NULL(dest) HONE_ARG_ARRAY_HT_OR_NULL(dest)
#define F_NUMBER(dest) HONE_ARG_NUMBER(dest)
#define F_NUMBER_OR_NULL(dest) HONE_ARG_NUMBER_OR_NULL(dest)
#define F_OBJECT(dest) HONE_ARG_OBJECT(dest)
#define F_OBJECT_OR_NULL(dest) HONE_ARG_OBJECT_OR_NULL(dest)
#define F_CLASS(dest, ce) HONE_ARG_OBJECT_OF_CLASS(dest, ce)
#define F_CLASS_OR_NULL(dest, ce) HONE_ARG_OBJECT_OF_CLASS_OR_NULL(dest, ce)
#define F_RESOURCE(dest) HONE_ARG_RESOURCE(dest)
#define F_RESOURCE_OR_NULL(dest) HONE_ARG_RESOURCE_OR_NULL(dest)
#define F_ZVAL(dest) HONE_ARG_ZVAL(dest)
#define F_ZVAL_OR_NULL(dest) HONE_ARG_ZVAL_OR_NULL(dest)
#define F_VARIADIC(dest, count) HONE_ARG_VARIADIC(dest, count)
#define F_VARIADIC_WITH_NAMED(dest, count, named)                              \
	HONE_ARG_VARIADIC_WITH_NAMED(dest, count, named)
