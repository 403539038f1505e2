/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hone_args_again(): a call whose arguments are not of the right types as they
 * stand. Written to be small: it is shared, but has to be paid for. No local
 * variable has its address taken, so that it needs no stack protector either.
 */

/* By kind: the types that need no conversion, and what PHP's errors ask for. */
static const struct hone_args_kind {
	uint16_t types;
	uint8_t expected; /* the form with _OR_NULL is the next */
} hone_args_kinds[] = {
	{0, 0}, {1 << IS_LONG | 1 << IS_DOUBLE, Z_EXPECTED_NUMBER}, {0xffff, 0},
	{1 << IS_FALSE | 1 << IS_TRUE, Z_EXPECTED_BOOL},
	{1 << IS_LONG, Z_EXPECTED_LONG}, {1 << IS_DOUBLE, Z_EXPECTED_DOUBLE},
	{1 << IS_STRING, Z_EXPECTED_STRING}, {1 << IS_ARRAY, Z_EXPECTED_ARRAY},
	{1 << IS_OBJECT, Z_EXPECTED_OBJECT},
	{1 << IS_RESOURCE, Z_EXPECTED_RESOURCE}, {0, 0}, /* HONE_KIND_CLASS */
};

/*
 * PHP's own conversion. Strings and numbers it puts in the argument's place,
 * all else in result; false if there is none.
 */
static zend_always_inline bool
hone_args_coerce(zval *arg, zend_value *result, unsigned kind, uint32_t number)
{
	switch (kind) {
	case HONE_KIND_NUMBER:
		return zend_parse_arg_number_slow(arg, &result->zv, number);
	case HONE_KIND_BOOL:
		return zend_parse_arg_bool_slow(arg, (bool *)result, number);
	case IS_LONG:
		return zend_parse_arg_long_slow(arg, &result->lval, number);
	case IS_DOUBLE:
		return zend_parse_arg_double_slow(arg, &result->dval, number);
	case IS_STRING:
		return zend_parse_arg_str_slow(arg, &result->str, number);
	}
	return false;
}

/*
 * Parse the arguments of execute_data from left to right, as PHP does, from
 * argument "number" on, whose kind is the lowest in kinds. False if PHP has
 * been told what is wrong.
 *
 * Values that PHP keeps out of the arguments' places are put there only when
 * all that follows is right as well, since errors show the arguments. Until
 * then they wait in the frame of one call of this function each. The place of
 * the return value takes them in: it is nobody's before the function returns.
 *
 * What class an object has to be of, only the function can tell: it leaves that
 * in return_value when it misses one. It has seen the argument if all in front
 * of it were right. If not, what was converted by then is put in place, and the
 * function is called to look.
 */
HONE_ARGS_SMALL static bool
hone_args_parse(zend_execute_data *execute_data, zval *return_value,
	uint64_t kinds, uint32_t number, bool converted)
{
	zval *arg = ZEND_CALL_ARG(execute_data, number);

	for (; kinds != 0; kinds >>= 5, number++, arg++) {
		const unsigned or_null = kinds >> 4 & 1, kind = kinds & 15;
		const struct hone_args_kind *want = &hone_args_kinds[kind];
		int error = ZPP_ERROR_WRONG_ARG;
		const bool *truth = (const bool *)&return_value->value;
		uint32_t type = kind;
		char *name = NULL;
		zend_value value = {0};

		if (UNEXPECTED(kind == HONE_KIND_REST)) {
			if (!(ZEND_CALL_INFO(execute_data) &
				    ZEND_CALL_HAS_EXTRA_NAMED_PARAMS))
				break;
			zend_unexpected_extra_named_error();
			return false;
		}
		if (number > EX_NUM_ARGS())
			break;
		if ((want->types | or_null << IS_NULL) >> Z_TYPE_P(arg) & 1)
			continue;
		if (kind == HONE_KIND_CLASS) {
			if (converted)
				break;
			if (Z_TYPE_INFO_P(return_value) !=
				_IS_ERROR + (number - 1) * 256)
				continue;
			Z_TYPE_INFO_P(return_value) = IS_NULL;
			error = ZPP_ERROR_WRONG_CLASS + or_null;
			name = ZSTR_VAL(
				((zend_class_entry *)Z_PTR_P(return_value))
					->name);
		} else if (hone_args_coerce(
				   arg, &return_value->value, kind, number)) {
			converted = true;
			if (kind == IS_STRING || kind == HONE_KIND_NUMBER)
				continue;
			/* A bool is one byte: reading eight would wait. */
			if (kind == HONE_KIND_BOOL)
				type = IS_FALSE + *truth;
			else
				value = return_value->value;
			if (kinds >> 5 != 0 &&
				!hone_args_parse(execute_data, return_value,
					kinds >> 5, number + 1, true))
				return false;
			if (Z_REFCOUNTED_P(arg))
				zval_ptr_dtor(arg);
			arg->value = value;
			Z_TYPE_INFO_P(arg) = type;
			break;
		}
		zend_wrong_parameter_error(error, number, name,
			(zend_expected_type)(want->expected + or_null), arg);
		return false;
	}
	return true;
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
	uint32_t least = HONE_SPEC_LEAST(spec), most = HONE_SPEC_MOST(spec);

	if (UNEXPECTED(n < least || n > most))
		zend_wrong_parameters_count_error(least, most);
	else if (hone_args_parse(execute_data, return_value,
			 HONE_SPEC_KINDS(spec), 1, false))
		self(execute_data, return_value);
}
