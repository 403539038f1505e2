/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ARGS_AGAIN_H
#define HONE_ARGS_AGAIN_H
/*
 * What is behind the macros of hone_args.h; nothing here is for authors.
 *
 * The list of parameters has to be a constant in HONE_ARGS_END(), where control
 * comes from every check, so no variable can collect it on the way. Types can:
 * each macro of the list is a "for" without braces that declares pointers to
 * arrays anew, longer by what the macro has to say, and what follows is inside
 * it. HONE_ARGS_END() is inside all of them and reads the sum by sizeof. The
 * loops are left by goto: they never turn, and compile to nothing.
 *
 *	hone_at		1 + how many parameters there were so far
 *	hone_low	1 + kinds of parameters 1 to 5, 5 bits each
 *	hone_high	1 + kinds of parameters 6 to 10
 *	hone_rest	1, or 2 behind a variadic tail
 *	hone_optional	1, or 2 + parameters in front of HONE_ARGS_OPTIONAL
 *
 * Two arrays for the kinds since no type may be longer than PTRDIFF_MAX, which
 * has 31 bits on some machines.
 */

#define HONE_ARGS_UNUSED __attribute__((unused))
#ifdef __clang__
#define HONE_ARGS_SMALL __attribute__((cold, minsize))
#else
#define HONE_ARGS_SMALL __attribute__((cold))
#endif

/*
 * A list shadows its own variables, and has labels of its own, which ISO C has
 * not. Nobody who compiles with -Wshadow or -Wpedantic is told.
 */
#define HONE_ARGS_QUIET_                                                       \
	_Pragma("GCC diagnostic push")                                         \
		_Pragma("GCC diagnostic ignored \"-Wshadow\"")                 \
			_Pragma("GCC diagnostic ignored \"-Wpedantic\"")
#define HONE_ARGS_LOUD_ _Pragma("GCC diagnostic pop")

/*
 * A kind is the IS_* of its type where there is one. The tail of a list without
 * names is a kind of its own; behind all is HONE_KIND_END.
 */
#define HONE_KIND_END 0
#define HONE_KIND_REST 1
#define HONE_KIND_NUMBER 2
#define HONE_KIND_BOOL 3
#define HONE_KIND_CLASS 10
#define HONE_KIND_ZVAL 11
#define HONE_KIND_NULLABLE 16

/*
 * A list of parameters: the least number of arguments and how many more there
 * may be, 4 bits each, the latter HONE_ANY if there is no limit; then their
 * kinds, 5 bits each.
 */
#define HONE_ANY 15
#define HONE_SPEC_LEAST(spec) (uint32_t)((spec)&15)
#define HONE_SPEC_MORE(spec) (uint32_t)((spec) / 16 % 16)
#define HONE_SPEC_KINDS(spec) ((spec) >> 8)

#define HONE_SPEC_                                                             \
	((uint64_t)(sizeof(*hone_low) - 1) << 8 |                              \
		(uint64_t)(sizeof(*hone_high) - 1) << 33 |                     \
		(unsigned)(hone_max < 0 ? HONE_ANY : hone_max - hone_min)      \
			<< 4 |                                                 \
		(unsigned)hone_min)

#define HONE_ARGS_I_ (sizeof(*hone_at) - 1)
#define HONE_ARGS_P_ (hone_args + HONE_ARGS_I_)
#define HONE_ARGS_TYPE_ Z_TYPE_P(HONE_ARGS_P_)
#define HONE_ARGS_P_OR_NULL_ (HONE_ARGS_TYPE_ == IS_NULL ? NULL : HONE_ARGS_P_)
#define HONE_ARGS_OR_NULL_(type)                                               \
	(HONE_ARGS_TYPE_ == (type) || HONE_ARGS_TYPE_ == IS_NULL)
#define HONE_ARGS_IS_BOOL_                                                     \
	(HONE_ARGS_TYPE_ == IS_TRUE || HONE_ARGS_TYPE_ == IS_FALSE)
#define HONE_ARGS_IS_NUMBER_                                                   \
	(HONE_ARGS_TYPE_ == IS_LONG || HONE_ARGS_TYPE_ == IS_DOUBLE)
/* PHP takes an int for a float in strict mode too. */
#define HONE_ARGS_IS_DOUBLE_                                                   \
	(HONE_ARGS_LIKELY(HONE_ARGS_TYPE_ == IS_DOUBLE) ||                     \
		HONE_ARGS_TYPE_ == IS_LONG)
#define HONE_ARGS_DOUBLE_                                                      \
	(EXPECTED(HONE_ARGS_TYPE_ == IS_DOUBLE)                                \
			? Z_DVAL_P(HONE_ARGS_P_)                               \
			: (double)Z_LVAL_P(HONE_ARGS_P_))
#define HONE_ARGS_IS_A_(ce)                                                    \
	(HONE_ARGS_TYPE_ == IS_OBJECT &&                                       \
		instanceof_function(Z_OBJCE_P(HONE_ARGS_P_), (ce)))
#define HONE_ARGS_COUNT_OK_                                                    \
	((hone_max < 0 && hone_min == 0) ||                                    \
		((int)hone_n >= hone_min &&                                    \
			(hone_max < 0 || (int)hone_n <= hone_max)))

/*
 * A variable of another type than PHP's macros want is told by the compiler as
 * with these, by the type of a pointer to it. There are no such functions: they
 * stand below sizeof alone, and nothing is left of them. Not by the address of
 * the variable: that would cost it its register where nothing is optimized.
 */
BEGIN_EXTERN_C()
char hone_args_wants_zend_long(zend_long *);
char hone_args_wants_double(double *);
char hone_args_wants_bool(bool *);
char hone_args_wants_zend_string(zend_string **);
char hone_args_wants_char(char **);
char hone_args_wants_size_t(size_t *);
char hone_args_wants_zval(zval **);
char hone_args_wants_HashTable(HashTable **);
END_EXTERN_C()
#define HONE_ARGS_CHECK_(wants, dest) (void)sizeof(wants((__typeof__(dest) *)0))
/* Pasted here and not further on, where bool is a macro's _Bool. */
#define HONE_ARGS_WANTS_(type, dest)                                           \
	HONE_ARGS_CHECK_(hone_args_wants_##type, dest)
#define HONE_ARGS_SET_(type, dest, value)                                      \
	(HONE_ARGS_CHECK_(hone_args_wants_##type, dest), (dest) = (value))

/*
 * GCC moves the loading of a value behind the later checks, where it can be
 * an operand of what uses it, only if it takes these to be 3/4 as likely: with
 * EXPECTED(), four ints cost 18 instructions and not 17 (./dev bench args).
 */
#define HONE_ARGS_LIKELY(good)                                                 \
	__builtin_expect_with_probability(!!(good), 1, 0.7)

/* Whether this argument was given; known when compiled if it has to be. */
#define HONE_ARGS_GIVEN_ (sizeof(*hone_optional) == 1 || hone_n > HONE_ARGS_I_)

#define HONE_ARG_(kind, good, take)                                            \
	if (HONE_ARGS_GIVEN_ && !HONE_ARGS_LIKELY(good))                       \
		goto HONE_ARGS_END_is_missing;                                 \
	else                                                                   \
		HONE_ARG_TAKE_(kind, take)

/* Those in front of it have been right, so this is the error to tell. */
#define HONE_ARG_CLASS_(kind, good, take, ce, tell)                            \
	if (HONE_ARGS_GIVEN_ && !HONE_ARGS_LIKELY(good)) {                     \
		tell(HONE_ARGS_I_ + 1, ZSTR_VAL((ce)->name), HONE_ARGS_P_);    \
		return;                                                        \
	} else                                                                 \
		HONE_ARG_TAKE_(kind, take)

#define HONE_ARG_TAKE_(kind, take)                                             \
	if (HONE_ARGS_GIVEN_ && ((void)(take), 0)) {                           \
	} else                                                                 \
		for (HONE_ARGS_UNUSED char(                                    \
			     *hone_low_)[sizeof(*hone_low) +                   \
					 HONE_KIND_AT_(kind, 0)],              \
			(*hone_high_)[sizeof(*hone_high) +                     \
				      HONE_KIND_AT_(kind, 5)],                 \
			(*hone_at_)[sizeof(*hone_at) + 1],                     \
			(*HONE_ARG_VARIADIC_is_not_last)                       \
				[HONE_ARGS_BEFORE_REST_];                      \
			;)                                                     \
			for (HONE_ARGS_UNUSED char(                            \
				     *hone_low)[sizeof(*hone_low_)],           \
				(*hone_high)[sizeof(*hone_high_)],             \
				(*hone_at)[sizeof(*hone_at_)];                 \
				;)

/* The length of an array for the compiler to refuse behind a variadic tail,
 * where a parameter's kind would be added to that of the tail. */
#define HONE_ARGS_BEFORE_REST_ (sizeof(*hone_rest) == 1 ? 1 : -1)

/* The kind in its place among five, of which the first is parameter "from". */
#define HONE_KIND_AT_(kind, from)                                              \
	((int)HONE_ARGS_I_ >= (from) &&                                        \
				(int)HONE_ARGS_I_ < (from) + 5 + (from) / 5    \
			? (size_t)(kind) << 5 * ((HONE_ARGS_I_ - (from)) % 5)  \
			: 0)

#define HONE_ARG_ZVAL_OF_(type, dest)                                          \
	HONE_ARG_(type, HONE_ARGS_TYPE_ == (type),                             \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_))
#define HONE_ARG_ZVAL_OR_NULL_OF_(type, dest)                                  \
	HONE_ARG_((type) | HONE_KIND_NULLABLE, HONE_ARGS_OR_NULL_(type),       \
		HONE_ARGS_SET_(zval, dest, HONE_ARGS_P_OR_NULL_))

/* As with PHP's macros, nothing is set if an argument before it was not given.
 */
#define HONE_ARGS_REST_REACHED_                                                \
	(sizeof(*hone_optional) == 1 ||                                        \
		sizeof(*hone_optional) - 2 == HONE_ARGS_I_ ||                  \
		(int)hone_n >= (int)HONE_ARGS_I_)
#define HONE_ARG_REST_(kind, good, take)                                       \
	if (HONE_ARGS_REST_REACHED_ && !HONE_ARGS_LIKELY(good))                \
		goto HONE_ARGS_END_is_missing;                                 \
	else if (HONE_ARGS_REST_REACHED_ && ((void)(take), 0)) {               \
	} else                                                                 \
		for (HONE_ARGS_UNUSED char(                                    \
			     *hone_low_)[sizeof(*hone_low) +                   \
					 HONE_KIND_AT_(kind, 0)],              \
			(*hone_high_)[sizeof(*hone_high) +                     \
				      HONE_KIND_AT_(kind, 5)],                 \
			(*HONE_ARG_VARIADIC_is_not_last)                       \
				[HONE_ARGS_BEFORE_REST_];                      \
			;)                                                     \
			for (HONE_ARGS_UNUSED char(                            \
				     *hone_low)[sizeof(*hone_low_)],           \
				(*hone_high)[sizeof(*hone_high_)],             \
				(*hone_rest)[2];                               \
				;)
#define HONE_ARGS_TAKE_REST_(dest, count)                                      \
	((dest) = hone_n > HONE_ARGS_I_ ? HONE_ARGS_P_ : NULL,                 \
		(count) = hone_n - (uint32_t)HONE_ARGS_I_)

#ifdef __cplusplus
#define HONE_ARGS_ASSERT_ static_assert
#else
#define HONE_ARGS_ASSERT_ _Static_assert
#endif
#define HONE_ARGS_CHECK_LIST_()                                                \
	HONE_ARGS_ASSERT_(hone_min >= 0 && hone_min <= 10 &&                   \
				  HONE_ARGS_I_ + (hone_max < 0) <= 10,         \
		"HONE_ARGS: at most 10 parameters");                           \
	HONE_ARGS_ASSERT_(hone_max == -1 || hone_max == (int)HONE_ARGS_I_,     \
		"HONE_ARGS: max_args is not how many are listed");             \
	HONE_ARGS_ASSERT_((hone_max == -1) == (sizeof(*hone_rest) == 2),       \
		"HONE_ARGS: max_args is -1 if, and only if, the last is "      \
		"variadic");                                                   \
	HONE_ARGS_ASSERT_(                                                     \
		hone_min == (int)(sizeof(*hone_optional) == 1                  \
					    ? HONE_ARGS_I_                     \
					    : sizeof(*hone_optional) - 2) ||   \
			(hone_max < 0 && sizeof(*hone_optional) == 1 &&        \
				hone_min > (int)HONE_ARGS_I_),                 \
		"HONE_ARGS: HONE_ARGS_OPTIONAL is not behind min_args")

#if defined(HONE_ARGS_SHARED)
BEGIN_EXTERN_C()
__attribute__((visibility("hidden"))) void ZEND_FASTCALL hone_args_again(
	zend_execute_data *execute_data, zval *return_value, zif_handler self,
	uint64_t spec);
END_EXTERN_C()
#endif
#if !defined(HONE_ARGS_SHARED) || defined(HONE_ARGS_DEFINE)
#include "hone_args_parse.h"
#endif

#endif
