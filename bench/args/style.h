/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the functions of this folder parse their arguments: by hone_args.h if
 * STYLE_hone is defined, by the design of a proposal if STYLE_pair is, and
 * otherwise by PHP's own macros.
 */
#ifdef STYLE_hone
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
#else
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
#endif

#ifdef STYLE_pair

struct pair_long {
	zend_long value;
	bool done;
};
struct pair_double {
	double value;
	bool done;
};

/* -1 for an error */
int ZEND_FASTCALL pair_bool_slow(const zval *arg, uint32_t number);
struct pair_long ZEND_FASTCALL pair_long_slow(const zval *arg, uint32_t number);
struct pair_double ZEND_FASTCALL pair_double_slow(
	const zval *arg, uint32_t number);
/* NULL for an error */
zend_string *ZEND_FASTCALL pair_str_slow(zval *arg, uint32_t number);

#define PAIR_WRONG(type)                                                       \
	{                                                                      \
		_expected_type = type;                                         \
		_error_code = ZPP_ERROR_WRONG_ARG;                             \
		break;                                                         \
	}

#undef F_LONG
#define F_LONG(dest)                                                           \
	Z_PARAM_PROLOGUE(0, 0)                                                 \
	if (EXPECTED(Z_TYPE_P(_arg) == IS_LONG)) {                             \
		dest = Z_LVAL_P(_arg);                                         \
	} else {                                                               \
		struct pair_long pair = pair_long_slow(_arg, _i);              \
		if (UNEXPECTED(!pair.done))                                    \
			PAIR_WRONG(Z_EXPECTED_LONG)                            \
		dest = pair.value;                                             \
	}
#undef F_LONG_OR_NULL
#define F_LONG_OR_NULL(dest, is_null)                                          \
	Z_PARAM_PROLOGUE(0, 0)                                                 \
	is_null = 0;                                                           \
	if (EXPECTED(Z_TYPE_P(_arg) == IS_LONG)) {                             \
		dest = Z_LVAL_P(_arg);                                         \
	} else if (Z_TYPE_P(_arg) == IS_NULL) {                                \
		is_null = 1;                                                   \
		dest = 0;                                                      \
	} else {                                                               \
		struct pair_long pair = pair_long_slow(_arg, _i);              \
		if (UNEXPECTED(!pair.done))                                    \
			PAIR_WRONG(Z_EXPECTED_LONG_OR_NULL)                    \
		dest = pair.value;                                             \
	}
#undef F_DOUBLE
#define F_DOUBLE(dest)                                                         \
	Z_PARAM_PROLOGUE(0, 0)                                                 \
	if (EXPECTED(Z_TYPE_P(_arg) == IS_DOUBLE)) {                           \
		dest = Z_DVAL_P(_arg);                                         \
	} else {                                                               \
		struct pair_double pair = pair_double_slow(_arg, _i);          \
		if (UNEXPECTED(!pair.done))                                    \
			PAIR_WRONG(Z_EXPECTED_DOUBLE)                          \
		dest = pair.value;                                             \
	}
#undef F_BOOL
#define F_BOOL(dest)                                                           \
	Z_PARAM_PROLOGUE(0, 0)                                                 \
	if (EXPECTED(Z_TYPE_P(_arg) == IS_TRUE)) {                             \
		dest = 1;                                                      \
	} else if (EXPECTED(Z_TYPE_P(_arg) == IS_FALSE)) {                     \
		dest = 0;                                                      \
	} else {                                                               \
		int truth = pair_bool_slow(_arg, _i);                          \
		if (UNEXPECTED(truth < 0))                                     \
			PAIR_WRONG(Z_EXPECTED_BOOL)                            \
		dest = truth;                                                  \
	}
#undef F_STR
#define F_STR(dest)                                                            \
	Z_PARAM_PROLOGUE(0, 0)                                                 \
	if (EXPECTED(Z_TYPE_P(_arg) == IS_STRING)) {                           \
		dest = Z_STR_P(_arg);                                          \
	} else {                                                               \
		dest = pair_str_slow(_arg, _i);                                \
		if (UNEXPECTED(dest == NULL))                                  \
			PAIR_WRONG(Z_EXPECTED_STRING)                          \
	}
#undef F_STR_OR_NULL
#define F_STR_OR_NULL(dest)                                                    \
	Z_PARAM_PROLOGUE(0, 0)                                                 \
	if (EXPECTED(Z_TYPE_P(_arg) == IS_STRING)) {                           \
		dest = Z_STR_P(_arg);                                          \
	} else if (Z_TYPE_P(_arg) == IS_NULL) {                                \
		dest = NULL;                                                   \
	} else {                                                               \
		dest = pair_str_slow(_arg, _i);                                \
		if (UNEXPECTED(dest == NULL))                                  \
			PAIR_WRONG(Z_EXPECTED_STRING_OR_NULL)                  \
	}
#endif

/* The functions of samples.c, kinds.c and bodies.c. */
ZEND_FUNCTION(args_int);
ZEND_FUNCTION(args_int4);
ZEND_FUNCTION(args_float2);
ZEND_FUNCTION(args_bool);
ZEND_FUNCTION(args_string);
ZEND_FUNCTION(args_substr);
ZEND_FUNCTION(args_explode);
ZEND_FUNCTION(args_in_array);
ZEND_FUNCTION(args_round);
ZEND_FUNCTION(args_object);
ZEND_FUNCTION(args_variadic);
ZEND_FUNCTION(args_scalars);
ZEND_FUNCTION(args_nullables);
ZEND_FUNCTION(args_optional);
ZEND_FUNCTION(args_arrays);
ZEND_FUNCTION(args_objects);
ZEND_FUNCTION(args_class_between);
ZEND_FUNCTION(args_others);
ZEND_FUNCTION(args_reference);
ZEND_FUNCTION(args_reference_scalar);
ZEND_FUNCTION(args_rest);
ZEND_FUNCTION(args_rest_named);
ZEND_FUNCTION(args_rest_alone);
ZEND_FUNCTION(args_rest_optional);
ZEND_FUNCTION(args_rest_least);
ZEND_FUNCTION(args_ten);
ZEND_FUNCTION(args_throws);
ZEND_FUNCTION(args_warns);
ZEND_FUNCTION(args_calls);
ZEND_FUNCTION(args_changes);
ZEND_METHOD(ArgsSample, method);
ZEND_METHOD(ArgsSample, still);
