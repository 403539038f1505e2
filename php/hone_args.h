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
 * A caller in PHP gets the same results, errors, warnings and deprecations, in
 * weak and in strict mode. The function checks the types of all arguments. If
 * all are right, the function takes them. If not, it calls hone_args_again(),
 * which parses as PHP does, replaces the arguments that it converted, and calls
 * the function again.
 *
 * There is one visible difference. A backtrace of the function while its body
 * runs, such as that of an exception from the body, shows int, float and bool
 * arguments as they were converted: 12 if the caller passed "12". With PHP's
 * macros, only string and int|float arguments appear converted. Errors in the
 * arguments show the arguments as they were passed. The exception is an error
 * of HONE_ARG_OBJECT_OF_CLASS() or of a later argument, if an earlier argument
 * was converted.
 *
 * Two rules for the author:
 *
 * - A statement before HONE_ARGS() may run more than once: it must have no
 *   effect.
 * - Between HONE_ARGS() and HONE_ARGS_END() there are only macros of this page,
 *   in the order of the parameters, without semicolons: 10 at most, with a
 *   variadic tail. A wrong count does not compile. Variables have the types of
 *   PHP's macros; another type does not compile in C++, and is a warning in C.
 *
 * There is no macro for callables, paths, iterables, class names, unions other
 * than int|float, and dereferenced or separated arguments. A function with such
 * a parameter uses PHP's macros; one file may have both kinds of functions.
 *
 * GCC 9 or Clang 11 and later, C99 or C++11. Tested with PHP 8.2, 8.4, 8.5
 * and 8.6.0 RC3.
 * Each file that includes this header gets a copy of hone_args_again(). An
 * extension of several files may share one copy: it defines HONE_ARGS_SHARED
 * before each #include, and HONE_ARGS_DEFINE too in the file with the copy.
 *
 * Since 0.1.
 */
#include <stdint.h>
#include <php.h>
#include "hone_args_again.h"

/**
 * The beginning of a function or method with HONE_ARGS().
 *
 * :param name: as in PHP_FUNCTION() and PHP_METHOD().
 *
 * "static" may precede the macro. A declaration without a body remains
 * PHP_FUNCTION(name); or PHP_METHOD(class_name, name);.
 *
 * The body is compiled into the handler that PHP calls: there is no second
 * function. HONE_HANDLER() is for a handler with another name; it takes a name
 * for the body, too.
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
 * :param min_args: the number of arguments that a caller must pass, 0 to 10;
 *                  it may count arguments of a variadic tail if no parameter is
 *                  optional.
 * :param max_args: the number of parameters, 0 to 10; -1 if the last one is
 *                  variadic, with at most 9 before it.
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
 * A caller may omit the parameters that follow. Their variables need an initial
 * value, also those of a variadic tail.
 */
#define HONE_ARGS_OPTIONAL                                                     \
	for (HONE_ARGS_UNUSED char(*hone_optional)[2 + HONE_ARGS_I_];;)

/** int. The form with _OR_NULL accepts null, too, and sets is_null and a zero.
 */
#define HONE_ARG_LONG(dest)                                                    \
	HONE_ARG_(IS_LONG, HONE_ARGS_TYPE_ == IS_LONG,                         \
		HONE_ARGS_SET_(zend_long, dest, Z_LVAL_P(HONE_ARGS_P_)))
#define HONE_ARG_LONG_OR_NULL(dest, is_null)                                   \
	HONE_ARG_(IS_LONG | HONE_KIND_NULLABLE, HONE_ARGS_OR_NULL_(IS_LONG),   \
		(HONE_ARGS_SET_(bool, is_null, HONE_ARGS_TYPE_ == IS_NULL),    \
			HONE_ARGS_SET_(zend_long, dest,                        \
				(is_null) ? 0 : Z_LVAL_P(HONE_ARGS_P_))))

/** float. An int is converted, as everywhere in PHP. */
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

/** string, as a zend_string *; NULL for null. The caller owns the string. */
#define HONE_ARG_STR(dest)                                                     \
	HONE_ARG_(IS_STRING, HONE_ARGS_TYPE_ == IS_STRING,                     \
		HONE_ARGS_SET_(zend_string, dest, Z_STR_P(HONE_ARGS_P_)))
#define HONE_ARG_STR_OR_NULL(dest)                                             \
	HONE_ARG_(IS_STRING | HONE_KIND_NULLABLE,                              \
		HONE_ARGS_OR_NULL_(IS_STRING),                                 \
		HONE_ARGS_SET_(zend_string, dest,                              \
			HONE_ARGS_TYPE_ == IS_NULL ? NULL                      \
						   : Z_STR_P(HONE_ARGS_P_)))

/** string, as a pointer to its first byte and its length. */
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

/** int|float, as a zval * of one of these types; NULL for null. */
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
 * object of a class, or of one that extends or implements it, as a zval *.
 *
 * :param ce: a zend_class_entry *, without side effect: it is evaluated twice.
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
 * Any argument, as a zval *. An argument by reference is the reference. The
 * form with _OR_NULL sets NULL for null.
 */
#define HONE_ARG_ZVAL(dest)                                                    \
	HONE_ARG_(HONE_KIND_ZVAL, 1, HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_))
#define HONE_ARG_ZVAL_OR_NULL(dest)                                            \
	HONE_ARG_(HONE_KIND_ZVAL, 1,                                           \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_OR_NULL_))

/**
 * All further arguments, as an array of zvals, which may be empty. This is the
 * last macro of a list with max_args -1. The first form rejects named arguments
 * without a parameter; the second form sets a HashTable * of them, NULL if
 * there are none.
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

/** The end of the list. Returns from the function if arguments are wrong. */
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
