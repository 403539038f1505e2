/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of this folder parse their arguments by PHP's own macros.
 * style_hone.h and style_pair.h define the same names.
 */
#define F_FUNCTION(name) ZEND_FUNCTION(name)
#define F_METHOD(class_name, name) ZEND_METHOD(class_name, name)
#define F_ARGS(min, max) ZEND_PARSE_PARAMETERS_START(min, max)
#define F_OPTIONAL Z_PARAM_OPTIONAL
#define F_END() ZEND_PARSE_PARAMETERS_END()

#define F_LONG(dest) Z_PARAM_LONG(dest)
#define F_LONG_OR_NULL(dest, is_null) Z_PARAM_LONG_OR_NULL(dest, is_null)
#define F_DOUBLE(dest) Z_PARAM_DOUBLE(dest)
#define F_DOUBLE_OR_NULL(dest, is_null) Z_PARAM_DOUBLE_OR_NULL(dest, is_null)
#define F_BOOL(dest) Z_PARAM_BOOL(dest)
#define F_BOOL_OR_NULL(dest, is_null) Z_PARAM_BOOL_OR_NULL(dest, is_null)
#define F_STR(dest) Z_PARAM_STR(dest)
#define F_STR_OR_NULL(dest) Z_PARAM_STR_OR_NULL(dest)
#define F_STRING(dest, len) Z_PARAM_STRING(dest, len)
#define F_STRING_OR_NULL(dest, len) Z_PARAM_STRING_OR_NULL(dest, len)
#define F_ARRAY(dest) Z_PARAM_ARRAY(dest)
#define F_ARRAY_OR_NULL(dest) Z_PARAM_ARRAY_OR_NULL(dest)
#define F_ARRAY_HT(dest) Z_PARAM_ARRAY_HT(dest)
#define F_ARRAY_HT_OR_NULL(dest) Z_PARAM_ARRAY_HT_OR_NULL(dest)
#define F_NUMBER(dest) Z_PARAM_NUMBER(dest)
#define F_NUMBER_OR_NULL(dest) Z_PARAM_NUMBER_OR_NULL(dest)
#define F_OBJECT(dest) Z_PARAM_OBJECT(dest)
#define F_OBJECT_OR_NULL(dest) Z_PARAM_OBJECT_OR_NULL(dest)
#define F_CLASS(dest, ce) Z_PARAM_OBJECT_OF_CLASS(dest, ce)
#define F_CLASS_OR_NULL(dest, ce) Z_PARAM_OBJECT_OF_CLASS_OR_NULL(dest, ce)
#define F_RESOURCE(dest) Z_PARAM_RESOURCE(dest)
#define F_RESOURCE_OR_NULL(dest) Z_PARAM_RESOURCE_OR_NULL(dest)
#define F_ZVAL(dest) Z_PARAM_ZVAL(dest)
#define F_ZVAL_OR_NULL(dest) Z_PARAM_ZVAL_OR_NULL(dest)
#define F_VARIADIC(dest, count) Z_PARAM_VARIADIC('*', dest, count)
#define F_VARIADIC_WITH_NAMED(dest, count, named)                              \
	Z_PARAM_VARIADIC_WITH_NAMED(dest, count, named)
