/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hone_args_again(): a call with arguments of other types than required. The
 * code is small, because each extension has a copy. No function takes the
 * address of a local variable, so the code needs no stack protector.
 */

/*
 * For each kind: the types that need no conversion, and the type that PHP's
 * errors name. A form with _OR_NULL uses the next type.
 */
/* clang-format off */
#define HONE_KINDS_(or_null)                                                   \
	{0, 0}, {0, 0}, /* HONE_KIND_END, HONE_KIND_REST */                    \
	{1 << IS_LONG | 1 << IS_DOUBLE | or_null << IS_NULL,                   \
		Z_EXPECTED_NUMBER + or_null},                                  \
	{1 << IS_FALSE | 1 << IS_TRUE | or_null << IS_NULL,                    \
		Z_EXPECTED_BOOL + or_null},                                    \
	{1 << IS_LONG | or_null << IS_NULL, Z_EXPECTED_LONG + or_null},        \
	{1 << IS_LONG | 1 << IS_DOUBLE | or_null << IS_NULL,                   \
		Z_EXPECTED_DOUBLE + or_null},                                  \
	{1 << IS_STRING | or_null << IS_NULL, Z_EXPECTED_STRING + or_null},    \
	{1 << IS_ARRAY | or_null << IS_NULL, Z_EXPECTED_ARRAY + or_null},      \
	{1 << IS_OBJECT | or_null << IS_NULL, Z_EXPECTED_OBJECT + or_null},    \
	{1 << IS_RESOURCE | or_null << IS_NULL,                                \
		Z_EXPECTED_RESOURCE + or_null},                                \
	{or_null << IS_NULL, 0}, /* HONE_KIND_CLASS */                         \
	{0xffff, 0}, /* HONE_KIND_ZVAL */                                      \
	{0, 0}, {0, 0}, {0, 0}, {0, 0} /* not used */
/* clang-format on */
static const struct hone_args_kind {
	uint16_t types;
	uint8_t expected;
} hone_args_kinds[] = {HONE_KINDS_(0), HONE_KINDS_(1)};

/*
 * PHP's parsers, which write to the place of the value. Since PHP 8.6, three of
 * them return the value, or NULL, NAN or a status for a wrong argument.
 */
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
 * Parses the arguments of execute_data from left to right, as PHP does. If all
 * are right, calls self and returns true. Otherwise reports the error to PHP
 * and returns false. EG(exception) cannot replace the result: PHP 8.5 accepts a
 * NAN as a bool even if the handler of the warning throws. The lowest byte of
 * "rest" is the number of arguments that are parsed already; the kinds of the
 * others follow.
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
		const struct hone_args_kind *const want =
			&hone_args_kinds[kinds & 31];
		uint32_t type = kinds & 15;
		zend_value value;
		bool good = false;

		if (want->types >> Z_TYPE_P(arg) & 1)
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
				(zend_expected_type)want->expected, arg);
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

/* Parses all arguments. If they are right, calls the function again. */
#if !defined(HONE_ARGS_SHARED)
static HONE_ARGS_UNUSED
#endif
	zend_never_inline void ZEND_FASTCALL
	hone_args_again(zend_execute_data *execute_data, zval *return_value,
		zif_handler self, uint64_t spec)
{
	const uint32_t n = EX_NUM_ARGS();
	const uint32_t least = HONE_SPEC_LEAST(spec),
		       more = HONE_SPEC_MORE(spec);

	if (n < least || (n - least > more && more != HONE_ANY))
		zend_wrong_parameters_count_error(least, least + more);
	else
		hone_args_parse(
			execute_data, return_value, self, spec / 256 * 256);
}
