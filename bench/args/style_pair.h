/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions parse their arguments by the design of the proposal "Improve
 * internal function argument parsing performance by reducing code bloat"
 * (php/php-src, pull request 18436, 2025), written anew from its description.
 * The macros are PHP's, but a slow parser returns the value and its success,
 * and stores nothing through a pointer. The ABI decides whether two words are
 * returned in two registers or through memory.
 *
 * The parsers would be part of PHP; here they are declared only. Macros that
 * the proposal did not change are PHP's own. This file has only the kinds that
 * samples.c needs.
 */
#include "style_stock.h"

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
