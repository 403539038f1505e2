/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hone_args_again(): a call whose arguments are not of the right types as they
 * stand. Written to be small: it is shared, but has to be paid for. No local
 * variable has its address taken, so that it needs no stack protector either.
 */

/*
 * By kind: the types that need no conversion, and what PHP's errors ask for,
 * where the form with _OR_NULL is the next.
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
	{0, 0}, {0, 0}, {0, 0}, {0, 0} /* there are none */
/* clang-format on */
static const struct hone_args_kind {
	uint16_t types;
	uint8_t expected;
} hone_args_kinds[] = {HONE_KINDS_(0), HONE_KINDS_(1)};

/*
 * Parse the arguments of execute_data from left to right, as PHP does, and call
 * self if they are right then. PHP has been told what is wrong if not. In the
 * lowest byte of "rest" is how many of them are parsed already, above it are
 * the kinds of those that are not.
 *
 * Strings and int|float PHP puts in the argument's place itself, at once; then
 * self may look again. All else is put there only when all that follows is
 * right as well, since errors show the arguments. Until then a value waits in
 * the frame of a call of this function, which calls itself without a self for
 * what follows. PHP's parsers write to the place of the return value: it is
 * nobody's before self returns.
 *
 * What class an object has to be of, only self can tell, and says so when it
 * misses one. If it came past that argument, the object is right. If it did
 * not, since something in front was wrong, what is behind has to wait until it
 * did.
 */
HONE_ARGS_SMALL static void
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
				return;
			continue;
		case HONE_KIND_NUMBER:
		case IS_STRING:
			good = type == IS_STRING
				       ? zend_parse_arg_str_slow(
						 arg, &result->str, number)
				       : zend_parse_arg_number_slow(
						 arg, &result->zv, number);
			if (!good)
				break;
			if (self == NULL)
				continue;
			goto ready;
		case HONE_KIND_BOOL:
			good = zend_parse_arg_bool_slow(
				arg, (bool *)result, number);
			break;
		case IS_LONG:
			good = zend_parse_arg_long_slow(
				arg, &result->lval, number);
			break;
		case IS_DOUBLE:
			good = zend_parse_arg_double_slow(
				arg, &result->dval, number);
			break;
		}
		if (!good) {
			zend_wrong_parameter_type_error(number,
				(zend_expected_type)want->expected, arg);
			return;
		}
		value = *result;
		if (type == HONE_KIND_BOOL)
			type = IS_FALSE + *truth;
		if (kinds >> 5 != 0) {
			hone_args_parse(execute_data, return_value, NULL,
				kinds / 32 * 256 + number);
			if (EG(exception))
				return;
		}
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
		return;
	}
ready:
	if (self != NULL)
		self(execute_data, return_value);
}

/* Parse all arguments and, if they are right then, call the function again. */
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
