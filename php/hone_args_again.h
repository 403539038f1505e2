/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ARGS_AGAIN_H
#define HONE_ARGS_AGAIN_H
/*
 * The implementation of hone_args.h. Nothing here is for authors.
 *
 * HONE_ARGS_END() needs the list of parameters as a constant, so types collect
 * the list. Each macro of the list is a "for" without braces. It declares the
 * pointers to arrays below once more, with longer arrays, and the rest of the
 * list is inside its loop. HONE_ARGS_END() is inside all loops, and reads the
 * lengths by sizeof. A goto leaves the loops: they compile to nothing.
 *
 *	hone_at		1 + the number of parameters so far
 *	hone_low	1 + kinds of parameters 1 to 5, 5 bits each
 *	hone_high	1 + kinds of parameters 6 to 10
 *	hone_rest	1, or 2 after a variadic tail
 *	hone_optional	1, or 2 + the number of parameters before
 *			HONE_ARGS_OPTIONAL
 *
 * The kinds need two arrays: no type may be longer than PTRDIFF_MAX, which has
 * 31 bits on some machines.
 */

#define HONE_ARGS_UNUSED __attribute__((unused))
#ifdef __clang__
#define HONE_ARGS_SMALL __attribute__((cold, minsize))
#else
#define HONE_ARGS_SMALL __attribute__((cold))
#endif

/* A list shadows its own variables, and declares local labels, which ISO C does
 * not have. */
#define HONE_ARGS_QUIET_                                                       \
	_Pragma("GCC diagnostic push")                                         \
		_Pragma("GCC diagnostic ignored \"-Wshadow\"")                 \
			_Pragma("GCC diagnostic ignored \"-Wpedantic\"")
#define HONE_ARGS_LOUD_ _Pragma("GCC diagnostic pop")

/* The kind of a parameter is the IS_* of its type, if there is one. REST is a
 * variadic tail that rejects named arguments. */
#define HONE_KIND_END 0
#define HONE_KIND_REST 1
#define HONE_KIND_NUMBER 2
#define HONE_KIND_BOOL 3
#define HONE_KIND_CLASS 10
#define HONE_KIND_ZVAL 11
#define HONE_KIND_NULLABLE 16

/* A list of parameters in 64 bits: the least number of arguments, 4 bits; the
 * number of further arguments, 4 bits, HONE_ANY without a limit; and the kinds,
 * 5 bits each. */
#define HONE_ANY 15
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
/* PHP accepts an int for a float in strict mode, too. */
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

/* The compiler reports a variable of another type than PHP's macros take: a
 * pointer to the type does not fit the parameter below. The functions do not
 * exist: their calls are operands of sizeof. */
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
/* Pasted here: in the next macro, bool could already be expanded to _Bool. */
#define HONE_ARGS_WANTS_(type, dest)                                           \
	HONE_ARGS_CHECK_(hone_args_wants_##type, dest)
#define HONE_ARGS_SET_(type, dest, value)                                      \
	(HONE_ARGS_CHECK_(hone_args_wants_##type, dest), (dest) = (value))

/* With EXPECTED(), GCC would not move the load of a value past the later
 * checks: four ints would take 18 instructions, not 17 (./dev bench args). */
#define HONE_ARGS_LIKELY(good)                                                 \
	__builtin_expect_with_probability(!!(good), 1, 0.7)

/* Whether this argument was passed; a constant if it is not optional. */
#define HONE_ARGS_GIVEN_ (sizeof(*hone_optional) == 1 || hone_n > HONE_ARGS_I_)

#define HONE_ARG_(kind, good, take)                                            \
	if (HONE_ARGS_GIVEN_ && !HONE_ARGS_LIKELY(good))                       \
		goto HONE_ARGS_END_is_missing;                                 \
	else                                                                   \
		HONE_ARG_TAKE_(kind, take)

/* The earlier arguments are right, so this is the error to report. */
#define HONE_ARG_CLASS_(kind, good, take, ce, fail)                            \
	if (HONE_ARGS_GIVEN_ && !HONE_ARGS_LIKELY(good)) {                     \
		fail(HONE_ARGS_I_ + 1, ZSTR_VAL((ce)->name), HONE_ARGS_P_);    \
		return;                                                        \
	} else                                                                 \
		HONE_ARG_TAKE_(kind, take)

#define HONE_ARG_TAKE_(kind, take)                                             \
	if (HONE_ARGS_GIVEN_ && ((void)(take), 0)) {                           \
	} else                                                                 \
		HONE_ARG_NEXT_(kind, (*hone_at_)[sizeof(*hone_at) + 1],        \
			(*hone_at)[sizeof(*hone_at_)])

/* `longer` declares one more array, and `again` the same by its own name. */
#define HONE_ARG_NEXT_(kind, longer, again)                                    \
	for (HONE_ARGS_UNUSED char(                                            \
		     *hone_low_)[sizeof(*hone_low) + HONE_KIND_AT_(kind, 0)],  \
		(*hone_high_)[sizeof(*hone_high) + HONE_KIND_AT_(kind, 5)],    \
		longer,                                                        \
		(*HONE_ARG_VARIADIC_is_not_last)[HONE_ARGS_BEFORE_REST_];      \
		;)                                                             \
		for (HONE_ARGS_UNUSED char(*hone_low)[sizeof(*hone_low_)],     \
			(*hone_high)[sizeof(*hone_high_)], again;              \
			;)

/* The length of an array, which is invalid after a variadic tail: the kind of a
 * parameter there would be added to that of the tail. */
#define HONE_ARGS_BEFORE_REST_ (sizeof(*hone_rest) == 1 ? 1 : -1)

/* The kind in its place among five, of which parameter "from" is the first. */
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

/* Nothing is set if an earlier argument was not passed. */
#define HONE_ARGS_REST_REACHED_                                                \
	(sizeof(*hone_optional) == 1 ||                                        \
		sizeof(*hone_optional) - 2 == HONE_ARGS_I_ ||                  \
		(int)hone_n >= (int)HONE_ARGS_I_)
#define HONE_ARG_REST_(kind, good, take)                                       \
	if (HONE_ARGS_REST_REACHED_ && !HONE_ARGS_LIKELY(good))                \
		goto HONE_ARGS_END_is_missing;                                 \
	else if (HONE_ARGS_REST_REACHED_ && ((void)(take), 0)) {               \
	} else                                                                 \
		HONE_ARG_NEXT_(kind, (*hone_rest_)[2],                         \
			(*hone_rest)[sizeof(*hone_rest_)])
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
		"HONE_ARGS: max_args is not the number of parameters");        \
	HONE_ARGS_ASSERT_((hone_max == -1) == (sizeof(*hone_rest) == 2),       \
		"HONE_ARGS: max_args is -1 if, and only if, the last is "      \
		"variadic");                                                   \
	HONE_ARGS_ASSERT_(                                                     \
		hone_min == (int)(sizeof(*hone_optional) == 1                  \
					    ? HONE_ARGS_I_                     \
					    : sizeof(*hone_optional) - 2) ||   \
			(hone_max < 0 && sizeof(*hone_optional) == 1 &&        \
				hone_min > (int)HONE_ARGS_I_),                 \
		"HONE_ARGS: HONE_ARGS_OPTIONAL is not after min_args")

#if defined(HONE_ARGS_SHARED)
BEGIN_EXTERN_C()
__attribute__((visibility("hidden"))) void ZEND_FASTCALL hone_args_again(
	zend_execute_data *execute_data, zval *return_value, zif_handler self,
	uint64_t spec);
END_EXTERN_C()
#endif
#if !defined(HONE_ARGS_SHARED) || defined(HONE_ARGS_DEFINE)
/*
 * For each kind: the types that need no conversion, and the type that PHP's
 * errors name. A form with _OR_NULL uses the next type. The code below is
 * small, because each extension has a copy. No function takes the address of a
 * local variable, so the code needs no stack protector.
 */
static const struct hone_args_kind {
	uint16_t types;
	uint8_t expected;
} hone_args_kinds[] = {
	{0, 0}, /* HONE_KIND_END */
	{0, 0}, /* HONE_KIND_REST */
	{1 << IS_LONG | 1 << IS_DOUBLE, Z_EXPECTED_NUMBER},
	{1 << IS_FALSE | 1 << IS_TRUE, Z_EXPECTED_BOOL},
	{1 << IS_LONG, Z_EXPECTED_LONG},
	{1 << IS_LONG | 1 << IS_DOUBLE, Z_EXPECTED_DOUBLE},
	{1 << IS_STRING, Z_EXPECTED_STRING}, {1 << IS_ARRAY, Z_EXPECTED_ARRAY},
	{1 << IS_OBJECT, Z_EXPECTED_OBJECT},
	{1 << IS_RESOURCE, Z_EXPECTED_RESOURCE}, {0, 0}, /* HONE_KIND_CLASS */
	{0xffff, 0},                                     /* HONE_KIND_ZVAL */
};

/* PHP's parsers write to the place of the value. Since PHP 8.6, three of them
 * return the value, or NULL, NAN or a status for a wrong argument. */
#if PHP_VERSION_ID >= 80600
static zend_always_inline bool
hone_args_str(zval *arg, zend_value *result, uint32_t number)
{
	result->str = zend_parse_arg_str_slow(arg, number);
	return result->str != NULL;
}

static zend_always_inline bool
hone_args_bool(zval *arg, zend_value *result, uint32_t number)
{
	const zpp_parse_bool_status status =
		zend_parse_arg_bool_slow(arg, number);
	*(bool *)result = status == ZPP_PARSE_BOOL_STATUS_TRUE;
	return status != ZPP_PARSE_BOOL_STATUS_ERROR;
}

static zend_always_inline bool
hone_args_double(zval *arg, zend_value *result, uint32_t number)
{
	result->dval = zend_parse_arg_double_slow(arg, number);
	return !zend_isnan(result->dval);
}
#else
#define hone_args_str(arg, result, number)                                     \
	zend_parse_arg_str_slow(arg, &(result)->str, number)
#define hone_args_bool(arg, result, number)                                    \
	zend_parse_arg_bool_slow(arg, (bool *)(result), number)
#define hone_args_double(arg, result, number)                                  \
	zend_parse_arg_double_slow(arg, &(result)->dval, number)
#endif

/*
 * Parses the arguments from left to right, as PHP does. If all are right, calls
 * self and returns true. Otherwise reports the error to PHP and returns false.
 * EG(exception) cannot replace the result: PHP 8.5 accepts a NAN as a bool even
 * if the handler of the warning throws. The lowest byte of "rest" is the number
 * of arguments that are parsed already; the kinds of the others follow.
 *
 * PHP's parsers replace an argument of type string or int|float at once, and
 * self checks its arguments again. Any other value replaces its argument after
 * all later arguments were found right, because errors show the arguments.
 * Until then, the value is in the frame of this function, which calls itself
 * without self for the later arguments. PHP's parsers write to the place of the
 * return value, which is free until self returns.
 *
 * Only self has the class of an object, and self reports a wrong class. If the
 * first wrong argument comes after the object, self has checked the class. If
 * it comes before the object, the arguments after the object wait until self
 * has checked the class.
 */
HONE_ARGS_SMALL static bool
hone_args_parse(zend_execute_data *execute_data, zval *return_value,
	zif_handler self, uint64_t rest)
{
	zend_value *const result = &return_value->value;
	const bool *const truth = (const bool *)result;
	uint32_t number = rest % 256 + 1;
	uint64_t kinds = rest / 256;
	zval *arg = ZEND_CALL_ARG(execute_data, number);

	for (; number <= EX_NUM_ARGS(); kinds >>= 5, number++, arg++) {
		const uint32_t or_null = (kinds & HONE_KIND_NULLABLE) != 0;
		uint32_t type = kinds & 15;
		const struct hone_args_kind want = hone_args_kinds[type];
		zend_value value;
		bool good = false;

		if ((want.types | or_null << IS_NULL) >> Z_TYPE_P(arg) & 1)
			continue;
		switch (type) {
		case HONE_KIND_END:
		case HONE_KIND_REST:
			goto parsed;
		case HONE_KIND_CLASS:
			if (self == NULL)
				return true;
			continue;
		case HONE_KIND_NUMBER:
		case IS_STRING:
			good = type == IS_STRING
				       ? hone_args_str(arg, result, number)
				       : zend_parse_arg_number_slow(
						 arg, &result->zv, number);
			if (!good)
				break;
			if (self == NULL)
				continue;
			goto ready;
		case HONE_KIND_BOOL:
			good = hone_args_bool(arg, result, number);
			break;
		case IS_LONG:
			good = zend_parse_arg_long_slow(
				arg, &result->lval, number);
			break;
		case IS_DOUBLE:
			good = hone_args_double(arg, result, number);
			break;
		}
		if (!good) {
			zend_wrong_parameter_type_error(number,
				(zend_expected_type)(want.expected + or_null),
				arg);
			return false;
		}
		value = *result;
		if (type == HONE_KIND_BOOL)
			type = IS_FALSE + *truth;
		if (kinds >> 5 != 0 &&
			!hone_args_parse(execute_data, return_value, NULL,
				kinds / 32 * 256 + number))
			return false;
		if (Z_REFCOUNTED_P(arg))
			zval_ptr_dtor(arg);
		arg->value = value;
		Z_TYPE_INFO_P(arg) = type;
		goto ready;
	}
parsed:
	if (kinds == HONE_KIND_REST &&
		(ZEND_CALL_INFO(execute_data) &
			ZEND_CALL_HAS_EXTRA_NAMED_PARAMS)) {
		zend_unexpected_extra_named_error();
		return false;
	}
ready:
	if (self != NULL)
		self(execute_data, return_value);
	return true;
}

#if !defined(HONE_ARGS_SHARED)
static HONE_ARGS_UNUSED
#endif
	zend_never_inline void ZEND_FASTCALL
	hone_args_again(zend_execute_data *execute_data, zval *return_value,
		zif_handler self, uint64_t spec)
{
	const uint32_t n = EX_NUM_ARGS();
	const uint32_t least = spec % 16, more = spec / 16 % 16;

	if (n < least || (n - least > more && more != HONE_ANY))
		zend_wrong_parameters_count_error(least, least + more);
	else
		hone_args_parse(
			execute_data, return_value, self, spec / 256 * 256);
}
#endif

#endif
