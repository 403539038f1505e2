/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ARGS_H
#define HONE_ARGS_H
/**
 * Arguments of a PHP function in C, with less code than Z_PARAM_*().
 *
 *	HONE_FUNCTION(twice)                    for  PHP_FUNCTION(twice)
 *	{
 *		zend_long number;
 *
 *		HONE_ARGS(1, 1)                 for  ZEND_PARSE_PARAMETERS_START
 *		HONE_ARG_LONG(number)           for  Z_PARAM_LONG
 *		HONE_ARGS_END();                for  ZEND_PARSE_PARAMETERS_END
 *		RETURN_LONG(number * 2);
 *	}
 *
 * What a caller in PHP sees is the same: results, errors, warnings and
 * deprecations, in weak and in strict mode. Only the way there differs. The
 * function checks the types of all arguments and, if they are right, takes
 * them. If one is not, it hands everything to hone_args_again(), which parses
 * as PHP does, puts what it converted in the arguments' places, and calls the
 * function again.
 *
 * One difference can be seen: a backtrace of the function while its body runs,
 * of an exception that the body throws for example, shows int, float and bool
 * arguments as they were converted, 12 where the caller gave "12". With PHP's
 * macros that is so of string and int|float only. Errors in the arguments show
 * them as they were given, except those of HONE_ARG_OBJECT_OF_CLASS() and what
 * follows it, if something in front of it was converted.
 *
 * Two things are asked of the author:
 *
 * - Nothing with an effect may stand before HONE_ARGS(): it may happen more
 *   than once.
 * - Between HONE_ARGS() and HONE_ARGS_END() stand only macros of this page, in
 *   the order of the parameters, without semicolons. There may be 10, a
 *   variadic tail among them; a wrong count does not compile. Variables have
 *   the types that PHP's macros want; another one does not compile in C++, and
 *   has a warning in C.
 *
 * Callables, paths, iterables, class names, unions other than int|float, and
 * dereferenced or separated arguments have no macro here. A function that takes
 * one keeps to PHP's macros; both kinds may stand in one file.
 *
 * GCC 9 or Clang 11 and later, C99 or C++11. Tested with PHP 8.2 and 8.4.
 * Each file that includes this gets a copy of hone_args_again(). An extension
 * of several files defines HONE_ARGS_SHARED before each inclusion, and in one
 * of them HONE_ARGS_DEFINE as well: that one has the copy for all.
 *
 * Since 0.1.
 */
#include <stdint.h>
#include <php.h>
#include "hone_args_again.h"

/**
 * The beginning of a function, or of a method, in which HONE_ARGS() may stand.
 *
 * :param name: as in PHP_FUNCTION() and PHP_METHOD().
 *
 * "static" may stand in front of it. A declaration without a body stays
 * PHP_FUNCTION(name); or PHP_METHOD(class_name, name);.
 *
 * The body is compiled into the handler that PHP calls: there is no second
 * function. HONE_HANDLER() is for a handler that is called otherwise; it takes
 * a name for the body as well.
 */
#define HONE_FUNCTION(name) HONE_HANDLER(hone_body_##name, ZEND_FN(name))
#define HONE_METHOD(class_name, name)                                          \
	HONE_HANDLER(                                                          \
		hone_body_##class_name##_##name, ZEND_MN(class_name##_##name))
#define HONE_HANDLER(body, handler)                                            \
	void ZEND_FASTCALL handler(INTERNAL_FUNCTION_PARAMETERS);              \
	static zend_always_inline void body(INTERNAL_FUNCTION_PARAMETERS,      \
		const zif_handler HONE_FUNCTION_is_missing);                   \
	void ZEND_FASTCALL handler(INTERNAL_FUNCTION_PARAMETERS)               \
	{                                                                      \
		body(INTERNAL_FUNCTION_PARAM_PASSTHRU, handler);               \
	}                                                                      \
	static zend_always_inline void body(INTERNAL_FUNCTION_PARAMETERS,      \
		HONE_ARGS_UNUSED const zif_handler HONE_FUNCTION_is_missing)

/**
 * The beginning of the list of parameters.
 *
 * :param min_args: how many of them a caller has to give, 0 to 10; some of a
 *                  variadic tail too, if nothing is optional.
 * :param max_args: how many there are, 0 to 10; -1 if the last is variadic, and
 *                  then there are at most 9 in front of it.
 */
#define HONE_ARGS(min_args, max_args)                                          \
	{                                                                      \
		HONE_ARGS_QUIET_                                               \
		{                                                              \
			__label__ HONE_ARGS_END_is_missing, hone_taken;        \
			enum { hone_min = (min_args), hone_max = (max_args) }; \
			const uint32_t hone_n = EX_NUM_ARGS();                 \
			HONE_ARGS_UNUSED zval *const hone_args =               \
				ZEND_CALL_ARG(execute_data, 1);                \
			HONE_ARGS_UNUSED char(*hone_rest)[1];                  \
			HONE_ARGS_UNUSED char(*hone_low)[1], (*hone_high)[1];  \
			HONE_ARGS_UNUSED char(*hone_at)[1],                    \
				(*hone_optional)[1];                           \
			if (!HONE_ARGS_LIKELY(HONE_ARGS_COUNT_OK_))            \
				goto HONE_ARGS_END_is_missing;                 \
			else

/**
 * What follows may be left out by a caller; give its variables a value, those
 * of a variadic tail too.
 */
#define HONE_ARGS_OPTIONAL                                                     \
	for (HONE_ARGS_UNUSED char(*hone_optional)[2 + HONE_ARGS_I_];;)

/** int. The forms with _OR_NULL take null too, and set is_null and a zero. */
#define HONE_ARG_LONG(dest)                                                    \
	HONE_ARG_(IS_LONG, HONE_ARGS_TYPE_ == IS_LONG,                         \
		HONE_ARGS_SET_(zend_long, dest, Z_LVAL_P(HONE_ARGS_P_)))
#define HONE_ARG_LONG_OR_NULL(dest, is_null)                                   \
	HONE_ARG_(IS_LONG | HONE_KIND_NULLABLE, HONE_ARGS_OR_NULL_(IS_LONG),   \
		(HONE_ARGS_SET_(bool, is_null, HONE_ARGS_TYPE_ == IS_NULL),    \
			HONE_ARGS_SET_(zend_long, dest,                        \
				(is_null) ? 0 : Z_LVAL_P(HONE_ARGS_P_))))

/** float; an int is converted to one, as everywhere in PHP. */
#define HONE_ARG_DOUBLE(dest)                                                  \
	HONE_ARG_(IS_DOUBLE, HONE_ARGS_IS_DOUBLE_,                             \
		HONE_ARGS_SET_(double, dest, HONE_ARGS_DOUBLE_))
#define HONE_ARG_DOUBLE_OR_NULL(dest, is_null)                                 \
	HONE_ARG_(IS_DOUBLE | HONE_KIND_NULLABLE,                              \
		HONE_ARGS_IS_DOUBLE_ || HONE_ARGS_TYPE_ == IS_NULL,            \
		(HONE_ARGS_SET_(bool, is_null, HONE_ARGS_TYPE_ == IS_NULL),    \
			HONE_ARGS_SET_(double, dest,                           \
				(is_null) ? 0.0 : HONE_ARGS_DOUBLE_)))

/** bool. */
#define HONE_ARG_BOOL(dest)                                                    \
	HONE_ARG_(HONE_KIND_BOOL, HONE_ARGS_IS_BOOL_,                          \
		HONE_ARGS_SET_(bool, dest, HONE_ARGS_TYPE_ == IS_TRUE))
#define HONE_ARG_BOOL_OR_NULL(dest, is_null)                                   \
	HONE_ARG_(HONE_KIND_BOOL | HONE_KIND_NULLABLE,                         \
		HONE_ARGS_IS_BOOL_ || HONE_ARGS_TYPE_ == IS_NULL,              \
		(HONE_ARGS_SET_(bool, is_null, HONE_ARGS_TYPE_ == IS_NULL),    \
			HONE_ARGS_SET_(                                        \
				bool, dest, HONE_ARGS_TYPE_ == IS_TRUE)))

/** string, as a zend_string *; NULL for null. It belongs to the caller. */
#define HONE_ARG_STR(dest)                                                     \
	HONE_ARG_(IS_STRING, HONE_ARGS_TYPE_ == IS_STRING,                     \
		HONE_ARGS_SET_(zend_string, dest, Z_STR_P(HONE_ARGS_P_)))
#define HONE_ARG_STR_OR_NULL(dest)                                             \
	HONE_ARG_(IS_STRING | HONE_KIND_NULLABLE,                              \
		HONE_ARGS_OR_NULL_(IS_STRING),                                 \
		HONE_ARGS_SET_(zend_string, dest,                              \
			HONE_ARGS_TYPE_ == IS_NULL ? NULL                      \
						   : Z_STR_P(HONE_ARGS_P_)))

/** string, as its first byte and its length. */
#define HONE_ARG_STRING(dest, len)                                             \
	HONE_ARG_(IS_STRING, HONE_ARGS_TYPE_ == IS_STRING,                     \
		(HONE_ARGS_SET_(char, dest, Z_STRVAL_P(HONE_ARGS_P_)),         \
			HONE_ARGS_SET_(                                        \
				size_t, len, Z_STRLEN_P(HONE_ARGS_P_))))
#define HONE_ARG_STRING_OR_NULL(dest, len)                                     \
	HONE_ARG_(IS_STRING | HONE_KIND_NULLABLE,                              \
		HONE_ARGS_OR_NULL_(IS_STRING),                                 \
		(HONE_ARGS_WANTS_(char, dest), HONE_ARGS_WANTS_(size_t, len),  \
			HONE_ARGS_TYPE_ == IS_NULL                             \
				? ((dest) = NULL, (len) = 0)                   \
				: ((dest) = Z_STRVAL_P(HONE_ARGS_P_),          \
					  (len) = Z_STRLEN_P(HONE_ARGS_P_))))

/** array, as a zval *, or as a HashTable *; NULL for null. */
#define HONE_ARG_ARRAY(dest) HONE_ARG_ZVAL_OF_(IS_ARRAY, dest)
#define HONE_ARG_ARRAY_OR_NULL(dest) HONE_ARG_ZVAL_OR_NULL_OF_(IS_ARRAY, dest)
#define HONE_ARG_ARRAY_HT(dest)                                                \
	HONE_ARG_(IS_ARRAY, HONE_ARGS_TYPE_ == IS_ARRAY,                       \
		HONE_ARGS_SET_(HashTable, dest, Z_ARRVAL_P(HONE_ARGS_P_)))
#define HONE_ARG_ARRAY_HT_OR_NULL(dest)                                        \
	HONE_ARG_(IS_ARRAY | HONE_KIND_NULLABLE, HONE_ARGS_OR_NULL_(IS_ARRAY), \
		HONE_ARGS_SET_(HashTable, dest,                                \
			HONE_ARGS_TYPE_ == IS_NULL                             \
				? NULL                                         \
				: Z_ARRVAL_P(HONE_ARGS_P_)))

/** int|float, as a zval * that is one of these; NULL for null. */
#define HONE_ARG_NUMBER(dest)                                                  \
	HONE_ARG_(HONE_KIND_NUMBER, HONE_ARGS_IS_NUMBER_,                      \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_))
#define HONE_ARG_NUMBER_OR_NULL(dest)                                          \
	HONE_ARG_(HONE_KIND_NUMBER | HONE_KIND_NULLABLE,                       \
		HONE_ARGS_IS_NUMBER_ || HONE_ARGS_TYPE_ == IS_NULL,            \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_OR_NULL_))

/** object of any class, as a zval *; NULL for null. */
#define HONE_ARG_OBJECT(dest) HONE_ARG_ZVAL_OF_(IS_OBJECT, dest)
#define HONE_ARG_OBJECT_OR_NULL(dest) HONE_ARG_ZVAL_OR_NULL_OF_(IS_OBJECT, dest)

/**
 * object of a class or of one that extends or implements it, as a zval *.
 *
 * :param ce: a zend_class_entry *, without side effect: it is named twice.
 */
#define HONE_ARG_OBJECT_OF_CLASS(dest, ce)                                     \
	HONE_ARG_CLASS_(HONE_KIND_CLASS, HONE_ARGS_IS_A_(ce),                  \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_), ce,                  \
		zend_wrong_parameter_class_error)
#define HONE_ARG_OBJECT_OF_CLASS_OR_NULL(dest, ce)                             \
	HONE_ARG_CLASS_(HONE_KIND_CLASS | HONE_KIND_NULLABLE,                  \
		HONE_ARGS_IS_A_(ce) || HONE_ARGS_TYPE_ == IS_NULL,             \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_OR_NULL_), ce,          \
		zend_wrong_parameter_class_or_null_error)

/** resource, as a zval *; NULL for null. */
#define HONE_ARG_RESOURCE(dest) HONE_ARG_ZVAL_OF_(IS_RESOURCE, dest)
#define HONE_ARG_RESOURCE_OR_NULL(dest)                                        \
	HONE_ARG_ZVAL_OR_NULL_OF_(IS_RESOURCE, dest)

/**
 * Anything, as a zval *; also what is passed by reference, as the reference.
 * The form with _OR_NULL sets NULL for null.
 */
#define HONE_ARG_ZVAL(dest)                                                    \
	HONE_ARG_(HONE_KIND_ZVAL, 1, HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_))
#define HONE_ARG_ZVAL_OR_NULL(dest)                                            \
	HONE_ARG_(HONE_KIND_ZVAL, 1,                                           \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_OR_NULL_))

/**
 * All that is left, as an array of zvals, which may be none; the last in the
 * list, with max_args -1. The first form refuses names that belong to no
 * parameter, the second gives them as a HashTable *, NULL if there are none.
 */
#define HONE_ARG_VARIADIC(dest, count)                                         \
	HONE_ARG_REST_(HONE_KIND_REST,                                         \
		!(ZEND_CALL_INFO(execute_data) &                               \
			ZEND_CALL_HAS_EXTRA_NAMED_PARAMS),                     \
		HONE_ARGS_TAKE_REST_(dest, count))
#define HONE_ARG_VARIADIC_WITH_NAMED(dest, count, named)                         \
	HONE_ARG_REST_(0, 1,                                                     \
		(HONE_ARGS_TAKE_REST_(dest, count),                              \
			(named) =                                                \
				ZEND_CALL_INFO(execute_data) &                   \
						ZEND_CALL_HAS_EXTRA_NAMED_PARAMS \
					? execute_data->extra_named_params       \
					: NULL))

/** The end of the list; returns from the function if arguments are wrong. */
#define HONE_ARGS_END()                                                        \
	{                                                                      \
		HONE_ARGS_CHECK_LIST_();                                       \
		goto hone_taken;                                               \
	HONE_ARGS_END_is_missing:                                              \
		hone_args_again(execute_data, return_value,                    \
			HONE_FUNCTION_is_missing, HONE_SPEC_);                 \
		return;                                                        \
	}                                                                      \
	hone_taken:;                                                           \
	}                                                                      \
	HONE_ARGS_LOUD_                                                        \
	}

#endif
